"""Inner products in double precision, in any place and order: no digit is lost, none differs."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.kernel_cases import objective, sample
from sklearn.datasets import make_blobs
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import pairwise_kernels

from partita import KernelKMeans
from partita._common.content_keys import content_keys
from partita.source.kernel_function import KernelFunction

pytestmark = pytest.mark.sanitize
OFFSETS = [0.0, 1e3, 1e4, 1e6]
DEFINITE = ["linear", "rbf", "laplacian", "polynomial", "cosine", "chi2", "additive_chi2"]
PARAMETERS = {
    "rbf": {"gamma": 0.3},
    "laplacian": {"gamma": 0.2},
    "polynomial": {"gamma": 0.5, "degree": 4, "coef0": 1.5},
    "sigmoid": {"gamma": 0.1, "coef0": -0.4},
    "chi2": {"gamma": 0.7},
}


def groups(offset, dtype, seed=0, n=120):
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 2
    X = rng.normal(size=(n, 3)) + group[:, None] * [-6.0, 0.0, 6.0] + offset
    return np.abs(X).astype(dtype), group, rng.random(n) + 0.1


def closeness(kernel, a, b):
    return kernel.closeness(kernel.prepare(kernel.place(a)), kernel.prepare(kernel.place(b)))


# --- the kernels ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*DEFINITE, "sigmoid"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_named_kernels_are_those_of_scikit_learn(name, storage):
    if "chi2" in name and storage is sp.csr_array:
        pytest.skip("scikit-learn has no sparse chi2")
    a, b = (np.abs(sample(n, 4, seed=n)[0]) for n in (130, 70))
    a[3] = b[5] = 0.0
    params = PARAMETERS.get(name, {})
    kernel = KernelFunction(name, params)
    expected = pairwise_kernels(a, b, metric=name, **params)
    for dtype in (np.float64, np.float32):
        rows = storage(a.astype(dtype)), storage(b.astype(dtype))
        inner = kernel.between(*map(kernel.place, rows))
        tolerance = 1e-12 if dtype == np.float64 else 1e-5
        np.testing.assert_allclose(inner, expected, rtol=tolerance, atol=tolerance * 1e-2)
        close = closeness(kernel, *rows)
        own = [0.5 * np.diag(pairwise_kernels(x, metric=name, **params)) for x in (a, b)]
        centred = expected - own[0][:, None] - own[1]
        size = float(np.abs(expected).max())
        np.testing.assert_allclose(close, centred, rtol=tolerance, atol=100 * tolerance * size)


@pytest.mark.parametrize("name", [*DEFINITE, "sigmoid"])
def test_a_pair_has_the_same_bits_in_any_company(name):
    X = np.abs(np.round(sample(200, 3, seed=1)[0], 1))
    kernel = KernelFunction(name, PARAMETERS.get(name, {}))
    whole = closeness(kernel, X, X)
    np.testing.assert_array_equal(whole, whole.T)
    assert (whole.diagonal() == 0).all()
    rows, columns = [7, 190, 3], [150, 2, 77, 7]
    np.testing.assert_array_equal(closeness(kernel, X[rows], X[columns]), whole[rows][:, columns])


@pytest.mark.parametrize("degree", [1, 2, 3, 5, 8])
def test_a_polynomial_far_from_the_origin_loses_nothing(degree):
    X = np.round(np.random.default_rng(0).normal(size=(20, 2)) * 64) / 64 + 2.0**20
    kernel = KernelFunction("polynomial", {"gamma": 0.5, "degree": degree, "coef0": 1.0})
    found = closeness(kernel, X, X)
    whole = [[int(value * 64) for value in row] for row in X]

    def power(a, b):  # 8192·(½a·b + 1), exactly
        return (sum(p * q for p, q in zip(a, b, strict=True)) + 8192) ** degree

    for i, j in itertools.product(range(20), repeat=2):
        a, b = whole[i], whole[j]
        true = (2 * power(a, b) - power(a, a) - power(b, b)) / (2 * 8192**degree)
        assert found[i, j] == pytest.approx(true, rel=1e-9)


def test_values_that_a_kernel_does_not_take():
    X = sample(20)[0]
    for kernel in ("chi2", "additive_chi2"):
        with pytest.raises(ValueError, match=r"`X` must be without negative values .*got values"):
            KernelKMeans(2, kernel=kernel).fit(X)
        with pytest.raises(ValueError, match=r"`X` must be dense with .*got a sparse matrix"):
            KernelKMeans(2, kernel=kernel).fit(sp.csr_array(np.abs(X)))
        model = KernelKMeans(2, kernel=kernel, random_state=0).fit(np.abs(X))
        with pytest.raises(ValueError, match=r"`X` must be without negative values"):
            model.predict(X)
    with pytest.raises(ValueError, match=r"`kernel` must be a callable that returns a number"):
        KernelKMeans(2, kernel=lambda a, b: "near").fit(X)
    with pytest.raises(ValueError, match="positive semidefinite"):
        KernelKMeans(2, kernel="additive_chi2", approximation="nystrom").fit(np.abs(X))


# --- digits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", OFFSETS[1:])
@pytest.mark.parametrize("kernel", DEFINITE)
def test_an_offset_hides_no_groups(kernel, offset, dtype):
    X, group, weight = groups(offset, dtype)
    model = KernelKMeans(2, kernel=kernel, init=np.array([0, 1])).fit(X, sample_weight=weight)
    assert adjusted_rand_score(group, model.labels_) == 1.0
    assert model.n_iter_ < 10
    low, high = model.objective_interval_
    assert low == high == pytest.approx(model.inertia_, rel=1e-12)
    if kernel == "cosine":
        rows = X.astype(np.longdouble)
        rows = rows / np.sqrt((rows * rows).sum(axis=1))[:, None]
        rows = (rows - rows[0]).astype(np.float64)
        assert model.inertia_ == pytest.approx(objective(rows @ rows.T, group, weight), rel=1e-8)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", DEFINITE)
def test_no_step_raises_the_objective_by_a_bit(kernel, dtype, storage):
    if "chi2" in kernel and storage is sp.csr_array:
        pytest.skip("chi2 needs dense rows")
    for seed, offset in itertools.product(range(3), OFFSETS):
        rng = np.random.default_rng(seed)
        X, _, weight = groups(offset, dtype, seed, 60)
        start, k = rng.integers(0, 7, 60), 7
        weight = [None, weight, weight**9][seed]
        model = KernelKMeans(k, kernel=kernel, init=start, gamma=float(rng.choice([1e-5, 0.1])))
        model.fit(storage(X), sample_weight=weight)
        steps = [value for p in model.trace_ for value in (p.cost, p.cost_after)]
        steps.append(model.inertia_)
        assert all(b <= a for a, b in itertools.pairwise(steps)), (seed, offset, steps)


def test_a_wide_kernel_has_digits():
    """exp(−γs) is nearly 1 for all pairs: what it lacks to 1 decides."""
    X = sample(100)[0]
    wide = KernelKMeans(3, gamma=1e-13, init=X[:3]).fit(X)
    plain = KernelKMeans(3, kernel="linear", init=X[:3]).fit(X)
    np.testing.assert_array_equal(wide.labels_, plain.labels_)
    assert wide.inertia_ == pytest.approx(2e-13 * plain.inertia_, rel=1e-9)


# --- places ---------------------------------------------------------------------------------------


def distance_kernel(a, b):
    return -float(np.abs(a - b).sum())


def held_and_remade(kernel):
    X, start, _ = sample(40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            KernelKMeans(4, kernel=kernel, init=start, approximation="exact", memory_limit=room)
            .fit(X)
            for room in (1e9, 0)
        )  # fmt: skip


@pytest.mark.parametrize("kernel", [distance_kernel, RBF(2.0)], ids=["distance", "RBF"])
def test_a_callable_gives_the_same_bits_held_and_remade(kernel):
    held, remade = held_and_remade(kernel)
    np.testing.assert_array_equal(held.labels_, remade.labels_)
    assert held.inertia_ == remade.inertia_


def test_a_callable_that_uses_blas_gives_the_same_clusters_held_and_remade():
    """OpenBLAS rounds an inner product by the place of its row in the block on some processors."""
    held, remade = held_and_remade(DotProduct())
    np.testing.assert_array_equal(held.labels_, remade.labels_)
    assert held.inertia_ == pytest.approx(remade.inertia_, rel=1e-12)


def test_a_pair_is_given_to_a_callable_in_one_order():
    X, start, _ = sample(30)
    place = {tuple(row): i for i, row in enumerate(X.tolist())}
    pairs = []

    def kernel(a, b):
        pairs.append((place[tuple(a.tolist())], place[tuple(b.tolist())]))
        return float(a @ b)

    for room in (1e9, 0):
        pairs.clear()
        KernelKMeans(4, kernel=kernel, init=start, approximation="exact", memory_limit=room).fit(X)
        tests = 2 * 8 * 8  # of symmetry, after the diagonal
        assert all(a <= b for a, b in pairs[30 + tests :])
        if room:
            assert len(pairs) == 30 + tests + 30 * 31 // 2  # each once


def test_memory_is_that_of_doubles():
    X = sample(300)[0].astype(np.float32)
    start = sample(300)[1]
    need = 8 * 300 * 300
    for room, path in ((need, "gram"), (need - 1, "gram rows made again")):
        model = KernelKMeans(4, init=start, approximation="exact", memory_limit=room).fit(X)
        assert model.trace_[0].path == path


def test_lattices_have_the_same_labels_in_any_order_and_as_new_rows():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 4, (150, 2)) * 0.1
        order = rng.permutation(150)
        for kernel in ("linear", "rbf", "laplacian", "polynomial"):
            a = KernelKMeans(5, kernel=kernel, init=X[:5]).fit(X)
            b = KernelKMeans(5, kernel=kernel, init=X[:5], n_threads=2).fit(X[order])
            np.testing.assert_array_equal(a.labels_[order], b.labels_)
            assert a.inertia_ == b.inertia_
            np.testing.assert_array_equal(a.predict(X), a.labels_)
            np.testing.assert_array_equal(a.predict(X[::7]), a.labels_[::7])
            assert a.score(X) == -a.inertia_
            assert a._dimension == b._dimension


def test_new_rows_far_beyond_the_grid():
    X, start, _ = sample(80)
    model = KernelKMeans(4, kernel="linear", init=start).fit(X)
    far = np.array([X[0], [1e9, 0.0, 0.0], [-1e7, 1e7, 0.0], [1e100, 0.0, 0.0]])
    found = model.predict(far)
    assert found[0] == model.labels_[0]
    means = [X[model.labels_ == j].mean(axis=0) for j in range(4)]
    assert found[1] == int(np.argmax([mean[0] for mean in means]))
    assert found[2] == int(np.argmax([mean[1] - mean[0] for mean in means]))
    np.testing.assert_array_equal(model.predict(far[1:]), found[1:])


# --- the shift of the diagonal --------------------------------------------------------------------


@pytest.mark.parametrize("shift", [np.inf, 1e30])
def test_shifts_that_leave_no_digits(shift):
    X, start, _ = sample()
    for kernel, rows in (("sigmoid", X), ("precomputed", X @ X.T), ("rbf", X)):
        with pytest.raises(ValueError, match=r"`diagonal_shift` must be .*, got (inf|1e\+30)"):
            KernelKMeans(4, kernel=kernel, init=start, diagonal_shift=shift).fit(rows)


@pytest.mark.parametrize("shift", [1e-3, 1.0, 600.0])
def test_the_interval_does_not_depend_on_the_digits_of_the_shift(shift):
    X, start, weight = sample()
    model = KernelKMeans(4, gamma=0.3, init=start, diagonal_shift=shift).fit(X, None, weight)
    K = pairwise_kernels(X, metric="rbf", gamma=0.3)
    true = objective(K, model.labels_, weight)
    assert model.objective_interval_[0] == pytest.approx(true, rel=1e-12)
    assert model.inertia_ == pytest.approx(true + shift * (len(X) - 4), rel=1e-12)


# --- keys -----------------------------------------------------------------------------------------


def test_keys_tell_rows_apart():
    X = np.array(list(itertools.product([-1.0, 0.0, 0.5, 1.0, 2.0], repeat=4)))
    for rows in (X, X.astype(np.float32), sp.csr_array(X)):
        keys = content_keys(rows)
        assert len(np.unique(keys)) == len(X)
        np.testing.assert_array_equal(content_keys(rows[::-1]), keys[::-1])
    assert content_keys(np.array([[0.0]])) == content_keys(np.array([[-0.0]]))


def test_the_dimension_does_not_depend_on_order_or_repeats():
    X, _ = make_blobs(900, 3, centers=5, random_state=0)
    times = np.random.default_rng(0).integers(1, 4, len(X))
    keywords = {"init": X[:5], "gamma": 0.1}
    a = KernelKMeans(5, **keywords).fit(X, sample_weight=times)
    b = KernelKMeans(5, **keywords).fit(np.repeat(X, times, axis=0)[::-1])
    assert a._dimension == b._dimension


@pytest.mark.filterwarnings("ignore")  # that a run stopped early
@pytest.mark.parametrize("kernel", DEFINITE)
def test_the_interval_of_the_objective_contains_the_inertia(kernel):
    for seed, offset in itertools.product(range(2), (0.0, 1e6)):
        rng = np.random.default_rng(seed)
        X = np.abs(rng.normal(size=(60, 3))) + offset
        weight = rng.random(60) + 0.1 if seed % 2 else None
        for more in ({}, {"max_iter": 1}, {"approximation": "nystrom", "n_components": 20}):
            if "approximation" in more and kernel == "additive_chi2":
                continue  # definite on differences only
            model = KernelKMeans(4, kernel=kernel, random_state=seed, **more)
            low, high = model.fit(X, sample_weight=weight).objective_interval_
            assert low <= model.inertia_ <= high
            if not more:
                assert low == high

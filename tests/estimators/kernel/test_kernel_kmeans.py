"""`KernelKMeans` by a Gram matrix: the formula, and what must follow from it."""

from __future__ import annotations

import itertools
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.kernel_cases import KERNELS, gram_of, objective, sample
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import linear_kernel, pairwise_kernels, rbf_kernel

from partita import EmptyClusterError, IndefiniteKernelWarning, KernelKMeans, KMeans
from partita._common.threads import Workers
from partita.engine.kernel.step import KernelStep
from partita.halting import MaxIter
from partita.init.kernel_starts import at_rows, plusplus_rows
from partita.init.plusplus import plusplus
from partita.source.dense import DenseSource
from partita.source.gram_matrix import DenseGram
from partita.source.kernel_function import KernelFunction
from partita.weights import Weights

pytestmark = pytest.mark.sanitize


def reference(K, start, k, weight=None, steps=1):
    """Kernel K-means straight from the formula: labels and costs after so many updates.

    None where a cluster becomes empty, of which the formula knows nothing.
    """
    n, labels = len(K), start
    w = np.ones(n) if weight is None else weight
    costs = []
    for _ in range(steps + 1):
        Z = (labels[:, None] == np.arange(k)) * w[:, None]  # (n, k)
        W = Z.sum(axis=0)
        if not W.all():
            return None
        R = K @ Z
        q = (Z * R).sum(axis=0) / W**2
        distance = np.diag(K)[:, None] - 2 * R / W + q
        new = distance.argmin(axis=1)
        costs.append(float((w * distance[np.arange(n), new]).sum()))
        labels = new
    return labels, costs


# --- the formula ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("steps", [1, 2, 3, 5, 300])
def test_it_equals_the_formula(kernel, weighted, steps):
    X, start, weight = sample()
    weight = weight if weighted else None
    labels, costs = reference(gram_of(kernel, X), start, 4, weight, steps)
    model = KernelKMeans(4, kernel=kernel, init=start, max_iter=steps, **KERNELS[kernel])
    model.fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.labels_, labels)
    assert model.inertia_ == pytest.approx(costs[-1], rel=1e-10)
    ours = [p.cost for p in model.trace_]
    np.testing.assert_allclose(ours, costs[: len(ours)], rtol=1e-10)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(5, 60),
    k=st.integers(1, 4),
    kernel=st.sampled_from(sorted(KERNELS)),
)
def test_it_equals_the_formula_on_any_data(seed, n, k, kernel):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(n, 3)), rng.random(n) + 0.01
    start = rng.permutation(np.arange(n) % k)
    K = gram_of(kernel, X)
    expected = reference(K, start, k, weight, 1)
    assume(expected is not None)
    labels, costs = expected
    model = KernelKMeans(k, kernel="precomputed", init=start, max_iter=1)
    model.fit(K, sample_weight=weight)
    np.testing.assert_array_equal(model.labels_, labels)
    assert model.inertia_ == pytest.approx(costs[-1], rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_linear_kernel_is_k_means(weighted):
    X, _, weight = sample(500, 4, 6, seed=3)
    weight = weight if weighted else None
    ours = KernelKMeans(6, kernel="linear", init=X[:6]).fit(X, sample_weight=weight)
    plain = KMeans(6, init=X[:6], tol=0).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(ours.labels_, plain.labels_)
    assert ours.inertia_ == pytest.approx(plain.inertia_, rel=1e-10)
    assert ours.n_iter_ == plain.n_iter_
    for name in ("cost", "cost_after", "moved_points"):
        a, b = [[getattr(p, name) for p in model.trace_] for model in (ours, plain)]
        np.testing.assert_allclose(a, b, rtol=1e-10)
    shifts = [[p.shift for p in model.trace_] for model in (ours, plain)]
    np.testing.assert_allclose(*shifts, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.transform(X), plain.transform(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.stats_.sse, plain.stats_.sse, rtol=1e-9)
    assert ours.stopped_by_ == "no point changed its cluster"
    assert ours.trace_[-1].shift == 0.0  # not what is left of it after cancelling


@given(seed=st.integers(0, 10**6), kernel=st.sampled_from(sorted(KERNELS)))
def test_the_objective_never_rises(seed, kernel):
    X, start, weight = sample(80, 2, 5, seed=seed % 1000)
    model = KernelKMeans(5, kernel=kernel, init=start, **KERNELS[kernel])
    trace = model.fit(X, sample_weight=weight).trace_
    steps = [value for p in trace for value in (p.cost, p.cost_after)]
    assert all(b <= a * (1 + 1e-12) for a, b in itertools.pairwise(steps))
    assert model.inertia_ <= steps[-1] * (1 + 1e-12)


def test_sums_that_follow_the_changes_are_those_added_afresh():
    X, _, weight = sample(700, 3, 6)
    K = rbf_kernel(X, gamma=0.2)
    with Workers(2) as workers:
        gram = DenseGram(K, X, None, Weights.of(weight, 700), workers)
        step = KernelStep(gram, 6)
        centers = at_rows(gram, np.arange(6))
        for _ in range(8):
            step.assign(centers)
            centers = step.update(*step.stats_about(centers), centers).centers
        followed = step._sums.copy()
        step.fresh()
        np.testing.assert_array_equal(followed, step._sums)
        # and they are the sums: K·Z
        Z = (step.labels == np.arange(6)[:, None]) * weight
        inner = gram.values(step._sums)
        expected = Z @ (K - gram.shift - (gram.shift - gram.level)[:, None])
        np.testing.assert_allclose(inner, expected, rtol=1e-11, atol=1e-11)


# --- weights, threads, where the matrix lives -----------------------------------------------------


@pytest.mark.parametrize("start", ["labels", "points", "rows"])
def test_weights_are_repeats(start):
    X, labels, _ = sample(90, 2, 3, seed=5)
    times = np.random.default_rng(1).integers(1, 5, len(X))
    init = {"labels": labels, "points": X[:3], "rows": np.arange(3)}[start]
    many = np.repeat(np.arange(len(X)), times)
    firsts = np.concatenate([[0], times.cumsum()[:-1]])
    init_many = {"labels": labels[many], "points": X[:3], "rows": firsts[:3]}[start]
    a = KernelKMeans(3, gamma=0.1, init=init).fit(X, sample_weight=times)
    b = KernelKMeans(3, gamma=0.1, init=init_many).fit(X[many])
    np.testing.assert_array_equal(a.labels_[many], b.labels_)
    assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-12)
    np.testing.assert_allclose([p.cost for p in a.trace_], [p.cost for p in b.trace_], rtol=1e-12)


def test_rows_of_weight_zero_count_for_nothing_but_get_a_label():
    X, start, _ = sample(100, 2, 3, seed=2)
    far = np.concatenate([X, 1e3 + X[:7]])
    weight = np.concatenate([np.ones(100), np.zeros(7)])
    init = np.concatenate([start, np.zeros(7, int)])
    a = KernelKMeans(3, kernel="linear", init=start).fit(X)
    b = KernelKMeans(3, kernel="linear", init=init).fit(far, sample_weight=weight)
    np.testing.assert_array_equal(a.labels_, b.labels_[:100])
    assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-10)
    np.testing.assert_array_equal(b.labels_, b.predict(far))
    np.testing.assert_array_equal(b.labels_[100:], a.predict(far[100:]))


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"approximation": "exact", "memory_limit": 0},
        {"approximation": "nystrom"},
        {"kernel": "laplacian", "init": "spectral"},
    ],
    ids=str,
)
def test_the_same_bits_for_any_number_of_threads(keywords):
    X, _, weight = sample(2300, 3, 5, seed=4)
    found = [
        KernelKMeans(5, random_state=3, max_iter=6, n_threads=threads, **keywords).fit(
            X, sample_weight=weight
        )
        for threads in (1, 2, 3)
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].labels_, other.labels_)
        assert found[0].inertia_ == other.inertia_
        assert [p.cost for p in found[0].trace_] == [p.cost for p in other.trace_]
        np.testing.assert_array_equal(found[0].transform(X), other.transform(X))


def test_rows_made_again_give_what_the_matrix_gives():
    X, start, weight = sample(300, 3, 4)
    for kernel in ("rbf", "sigmoid"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndefiniteKernelWarning)
            whole, again = [
                KernelKMeans(
                    4, kernel=kernel, gamma=0.05, init=start, approximation="exact",
                    memory_limit=room, max_iter=20,
                ).fit(X, sample_weight=weight)
                for room in (1e9, 0)
            ]  # fmt: skip
        np.testing.assert_array_equal(whole.labels_, again.labels_)
        assert whole.inertia_ == pytest.approx(again.inertia_, rel=1e-10)
        assert "fit" in whole.paths_[0]
        assert "do not fit" in again.paths_[0]


@pytest.mark.parametrize("room", [1e9, 0])
def test_only_rows_that_are_read_again_are_added_up_once_more(monkeypatch, room):
    """Their bits may depend on the company in which they are computed, so sums may drift."""
    X, start, _ = sample(100)
    seen = []
    fresh = KernelStep.fresh
    monkeypatch.setattr(KernelStep, "fresh", lambda step: seen.append(fresh(step)))
    KernelKMeans(4, init=start, approximation="exact", memory_limit=room).fit(X)
    assert len(seen) == (room == 0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_matrix_that_is_given_is_the_same(kernel):
    X, start, weight = sample()
    K = gram_of(kernel, X)
    ours = KernelKMeans(4, kernel=kernel, init=start, **KERNELS[kernel]).fit(X, None, weight)
    for matrix in (K, np.asfortranarray(K), sp.csr_matrix(K), K.tolist()):
        given = KernelKMeans(4, kernel="precomputed", init=start).fit(matrix, None, weight)
        np.testing.assert_array_equal(ours.labels_, given.labels_)
        assert given.inertia_ == pytest.approx(ours.inertia_, rel=1e-10)
        new = K[:7] if not sp.issparse(matrix) else sp.csr_array(K[:7])
        np.testing.assert_array_equal(given.predict(new), ours.labels_[:7])
        np.testing.assert_allclose(
            given.distances(new, np.diag(K)[:7]), ours.distances(X[:7]), rtol=1e-7, atol=1e-7
        )
    K32 = K.astype(np.float32)
    single = KernelKMeans(4, kernel="precomputed", init=start).fit(K32, None, weight)
    assert single.inertia_ == pytest.approx(ours.inertia_, rel=1e-4)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
def test_an_offset_costs_no_digits(kernel):
    X, start, _ = sample(200, 2, 3)
    X = np.round(X * 2**10) / 2**10  # so that the offset is exact
    near = KernelKMeans(3, kernel=kernel, gamma=0.2, init=start).fit(X)
    far = KernelKMeans(3, kernel=kernel, gamma=0.2, init=start).fit(X + 1e6)
    np.testing.assert_array_equal(near.labels_, far.labels_)
    assert far.inertia_ == pytest.approx(near.inertia_, rel=1e-9)
    np.testing.assert_allclose(near.transform(X), far.transform(X + 1e6), rtol=1e-6, atol=1e-6)


def test_a_matrix_far_from_the_origin_is_centred():
    """Of whole numbers 2^40 rounds nothing away, and so nothing may be lost."""
    X, start, _ = sample(200, 2, 3)
    K = linear_kernel(np.round(10 * (X - X.mean(axis=0))))
    near = KernelKMeans(3, kernel="precomputed", init=start).fit(K)
    far = KernelKMeans(3, kernel="precomputed", init=start).fit(K + 2.0**40)
    np.testing.assert_array_equal(near.labels_, far.labels_)
    assert far.inertia_ == pytest.approx(near.inertia_, rel=1e-12)
    np.testing.assert_allclose(
        near.distances(K, np.diag(K)), far.distances(K + 2.0**40, np.diag(K) + 2.0**40), rtol=1e-9
    )


def test_one_outlier_costs_the_others_no_digits():
    X, _, _ = sample(300, 3, 4, seed=8)
    X[17] = 1e8
    init = X[[0, 1, 2, 17]]
    ours, plain = KernelKMeans(4, kernel="linear", init=init).fit(X), KMeans(4, init=init, tol=0)
    plain.fit(X)
    np.testing.assert_array_equal(ours.labels_, plain.labels_)
    # what the outlier itself leaves after cancelling is noise: the others must not hear of it
    others = plain.labels_ != plain.labels_[17]
    each = ours.stats_.sse[np.unique(plain.labels_[others])]
    np.testing.assert_allclose(each, plain.stats_.sse[np.unique(plain.labels_[others])], rtol=1e-9)


@pytest.mark.parametrize("factor", [1e-100, 1e-9, 1e9, 1e100])
def test_units_do_not_matter(factor):
    X, start, _ = sample()
    for kernel in ("rbf", "laplacian", "linear", "cosine"):
        a = KernelKMeans(4, kernel=kernel, init=start).fit(X)
        b = KernelKMeans(4, kernel=kernel, init=start).fit(X * factor)
        np.testing.assert_array_equal(a.labels_, b.labels_)


# --- clusters that are not convex -----------------------------------------------------------------


def test_rings():
    X, ring = make_circles(500, factor=0.3, noise=0.05, random_state=0)
    assert adjusted_rand_score(ring, KMeans(2, random_state=0).fit_predict(X)) < 0.1
    model = KernelKMeans(2, n_init=10, random_state=0).fit(X)
    assert adjusted_rand_score(ring, model.labels_) == 1.0
    inner, outer = model.predict([[0.0, 0.3], [0.0, 1.0]])
    assert inner != outer


def test_moons():
    X, moon = make_moons(500, noise=0.05, random_state=0)
    assert adjusted_rand_score(moon, KMeans(2, random_state=0).fit_predict(X)) < 0.5
    model = KernelKMeans(2, gamma=8, init="spectral", random_state=0).fit(X)
    assert adjusted_rand_score(moon, model.labels_) == 1.0


def spirals(n=300):
    t = np.linspace(0.5, 3, n // 2) * np.pi
    one = np.c_[t * np.cos(t), t * np.sin(t)]
    noise = np.random.default_rng(0).normal(scale=0.1, size=(n, 2))
    return np.concatenate([one, -one]) + noise, np.repeat([0, 1], n // 2)


def test_spirals():
    """Their sum of squares is not least at the two arms for any width; their normalised cut is."""
    X, arm = spirals()
    assert adjusted_rand_score(arm, KMeans(2, random_state=0).fit_predict(X)) < 0.1
    model = KernelKMeans(2, kernel="normalized-cut", random_state=0).fit(rbf_kernel(X, gamma=4))
    assert adjusted_rand_score(arm, model.labels_) == 1.0


@pytest.mark.data
def test_the_spirals_of_kernlab(data_folder):
    X = np.load(data_folder / "kernel" / "kernlab_spirals.npz")["X"]
    model = KernelKMeans(2, kernel="normalized-cut", random_state=0).fit(rbf_kernel(X, gamma=300))
    assert np.bincount(model.labels_).tolist() == [150, 150]
    # each arm hangs together: every point has its nearest neighbours in its own cluster
    near = np.argsort(((X[:, None] - X) ** 2).sum(axis=2), axis=1)[:, 1:3]
    assert (model.labels_[near] == model.labels_[:, None]).all()


# --- starts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "init", ["auto", "k-means++", "random", "forgy", "random-partition", "spectral"]
)
def test_named_starts(init):
    X, start, weight = sample(200, 3, 4)
    model = KernelKMeans(4, init=init, random_state=0).fit(X, sample_weight=weight)
    again = KernelKMeans(4, init=init, random_state=0).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.labels_, again.labels_)
    assert model.inertia_ <= KernelKMeans(4, init=start).fit(X, None, weight).inertia_ * 1.2
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_given_starts():
    X, _, _ = sample()
    points = KernelKMeans(4, init=X[:4]).fit(X)
    rows = KernelKMeans(4, init=np.arange(4)).fit(X)
    called = KernelKMeans(4, n_init=1, init=lambda X, k, random_state: X[:k]).fit(X)
    for other in (rows, called):
        np.testing.assert_array_equal(points.labels_, other.labels_)
        assert points.inertia_ == pytest.approx(other.inertia_, rel=1e-12)
    K = rbf_kernel(X)
    given = KernelKMeans(4, kernel="precomputed", init=[0, 1, 2, 3]).fit(K)
    same = KernelKMeans(4, gamma=1 / 3, init=np.arange(4)).fit(X)
    np.testing.assert_array_equal(given.labels_, same.labels_)
    fixed = KernelKMeans(4, init=points.labels_).fit(X)
    assert fixed.n_iter_ == 1 or fixed.trace_[1].moved_points == 0
    np.testing.assert_array_equal(fixed.labels_, points.labels_)
    lent = KernelKMeans(4, init=KMeans(4, init=X[:4], max_iter=1).fit(X)).fit(X)
    assert lent.inertia_ > 0


@pytest.mark.parametrize(
    ("init", "words"),
    [
        ("kmeans", "`init` must be .*got 'kmeans'"),
        (None, "`init` must be .*got None"),
        (3, "`init` must be .*got 3"),
        (np.zeros((4, 2)), "does not match the number of features"),
        (np.zeros((3, 3)), "does not match the number of clusters"),
        (np.zeros(5, int), "`init` must be the numbers of 4 rows or 120 labels, got 5 integers"),
        (np.full(120, 4), "`init` must be labels from 0 to 3, got 4 to 4"),
        (np.full(120, -1), "`init` must be labels from 0 to 3, got -1 to -1"),
        (np.array([0, 1, 2, 120]), "`init` must be row numbers from 0 to 119, got 0 to 120"),
        (np.zeros(120), r"`init` must be .*got an array of shape \(120,\)"),
        (np.full((4, 3), np.nan), "NaN"),
    ],
)
def test_starts_that_do_not_fit(init, words):
    X, _, _ = sample()
    with pytest.raises(ValueError, match=words):
        KernelKMeans(4, init=init).fit(X)


def test_points_are_no_start_for_a_matrix():
    X, _, _ = sample()
    with pytest.raises(ValueError, match=r"`init` must be .*got an array of shape \(4, 3\)"):
        KernelKMeans(4, kernel="precomputed", init=X[:4]).fit(rbf_kernel(X))


# --- parameters, errors, edges --------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"kernel": "gauss"},
        {"gamma": -1},
        {"gamma": "median"},
        {"gamma": None},
        {"gamma": np.nan},
        {"degree": 0},
        {"coef0": "1"},
        {"kernel_params": 3},
        {"kernel_params": {"sigma": 1}},
        {"approximation": "rff"},
        {"n_components": 0},
        {"diagonal_shift": -1},
        {"diagonal_shift": "least"},
        {"empty": "ignore"},
        {"tol": -1},
        {"n_clusters": 0},
        {"n_clusters": 121},
        {"max_iter": 0},
        {"memory_limit": -1},
        {"approximation": "nystrom", "diagonal_shift": 1.0},
        {"approximation": "nystrom", "init": "spectral"},
    ],
    ids=str,
)
def test_parameters_that_do_not_fit(wrong):
    X, start, _ = sample()
    model = KernelKMeans(4, init=start).fit(X)
    before = pickle.dumps({k: v for k, v in vars(model).items() if k.endswith("_")})
    name = next(iter(wrong)) if len(wrong) == 1 else list(wrong)[1]
    with pytest.raises(ValueError, match=f"{name}|n_samples"):
        model.set_params(**wrong).fit(X)
    after = pickle.dumps({k: v for k, v in vars(model).items() if k.endswith("_")})
    assert before == after, "a fit that fails must leave an earlier one as it was"


def test_matrices_that_are_none():
    X, _, _ = sample()
    K = rbf_kernel(X)
    model = KernelKMeans(3, kernel="precomputed")
    with pytest.raises(ValueError, match=r"a square Gram matrix, got the shape \(120, 119\)"):
        model.fit(K[:, :-1])
    for value, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        bad = K.copy()
        bad[3, 5] = bad[5, 3] = value
        for matrix in (bad, sp.csr_array(bad)):
            with pytest.raises(ValueError, match=word):
                model.fit(matrix)
    bad = K.copy()
    bad[3, 5] += 0.1
    for matrix in (bad, sp.csr_array(bad)):
        with pytest.raises(
            ValueError,
            match=r"`X` must be a symmetric",
        ):
            model.fit(matrix)
    with pytest.raises(ValueError, match="needs no approximation"):
        KernelKMeans(3, kernel="precomputed", approximation="nystrom").fit(K)
    fitted = model.fit(K)
    with pytest.raises(ValueError, match="119 features"):
        fitted.predict(K[:, :-1])
    with pytest.raises(ValueError, match="diagonal"):
        fitted.distances(K)
    with pytest.raises(ValueError, match="one finite number for each of 120 rows"):
        fitted.distances(K, np.ones(3))
    assert not hasattr(fitted, "transform")
    assert not hasattr(fitted, "score")
    assert fitted.soft_membership(K).shape == (120, 3)


def test_a_callable_kernel():
    X, start, _ = sample(60)

    def inner(a, b, power):
        return float(a @ b) ** power

    ours = KernelKMeans(4, kernel=inner, kernel_params={"power": 1}, init=start[:60]).fit(X)
    plain = KernelKMeans(4, kernel="linear", init=start[:60]).fit(X)
    np.testing.assert_array_equal(ours.labels_, plain.labels_)
    assert ours.inertia_ == pytest.approx(plain.inertia_, rel=1e-9)
    np.testing.assert_allclose(ours.transform(X), plain.transform(X), rtol=1e-6, atol=1e-6)
    with pytest.raises(
        ValueError,
        match=r"`kernel` must be symmetric",
    ):
        KernelKMeans(4, kernel=lambda a, b: float(a[0] * b[1])).fit(X)


def test_other_names_of_scikit_learn():
    X = np.abs(sample()[0])
    for kernel in ("chi2", "additive_chi2", "poly"):
        assert KernelKMeans(3, kernel=kernel, random_state=0).fit(X).n_iter_ >= 1
    a = KernelKMeans(3, kernel="poly", random_state=0).fit(X)
    b = KernelKMeans(3, kernel="polynomial", random_state=0).fit(X)
    assert a.inertia_ == b.inertia_


PATHS = [{}, {"approximation": "exact", "memory_limit": 0}, {"approximation": "nystrom"}]


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_a_kernel_that_overflows(path):
    X = sample()[0] * 1e120
    with pytest.raises(ValueError, match="gave NaN or infinity"):
        KernelKMeans(3, kernel="poly", gamma=1.0, **path).fit(X)
    with pytest.raises(ValueError, match="gave NaN or infinity"):
        KernelKMeans(3, kernel="linear", **path).fit(X * 1e60)


@pytest.mark.parametrize("path", PATHS, ids=str)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "cosine", "poly", "laplacian"])
@pytest.mark.parametrize("kind", ["one", "two", "constant", "zeros", "tiny"])
def test_hardly_any_data(path, kernel, kind):
    X = {
        "one": np.array([[1.0, 2.0]]),
        "two": np.array([[1.0], [3.0]]),
        "constant": np.full((9, 2), 3.7),
        "zeros": np.zeros((9, 2)),
        "tiny": sample(20)[0] * 1e-130,
    }[kind]
    weight = np.arange(len(X)) % 2 + (len(X) == 1)
    for some in (None, weight):
        model = KernelKMeans(1, kernel=kernel, random_state=0, **path).fit(X, None, some)
        assert (model.labels_ == 0).all()
        assert 0 <= model.inertia_ < 1e3
        assert np.isfinite(model.transform(X)).all()
        assert np.isfinite(model.soft_membership(X)).all()


def test_as_many_clusters_as_rows():
    X, _, _ = sample(30)
    model = KernelKMeans(30, random_state=0).fit(X)
    assert sorted(model.labels_) == list(range(30))
    assert model.inertia_ == pytest.approx(0, abs=1e-12)


def test_one_cluster():
    X, _, weight = sample()
    model = KernelKMeans(1, gamma=0.1, random_state=0).fit(X, sample_weight=weight)
    K = rbf_kernel(X, gamma=0.1)
    assert model.inertia_ == pytest.approx(objective(K, np.zeros(120), weight), rel=1e-12)


def test_duplicates():
    X = np.repeat(np.array([[0.0, 0.0], [5.0, 5.0], [9.0, 0.0]]), 20, axis=0)
    model = KernelKMeans(3, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0, abs=1e-10)
    assert len(set(zip(model.labels_.tolist(), X[:, 0].tolist(), strict=True))) == 3
    with pytest.warns(ConvergenceWarning, match="3"):
        more = KernelKMeans(5, random_state=0).fit(X)
    assert len(np.unique(more.labels_)) == 3
    np.testing.assert_array_equal(more.predict(X), more.labels_)


def test_rows_without_a_direction_under_the_cosine():
    X, _, _ = sample(60)
    X[[3, 40]] = 0
    model = KernelKMeans(3, kernel="cosine", random_state=0).fit(X)
    assert model.labels_[3] == model.labels_[40]
    K = pairwise_kernels(X, metric="cosine")
    assert model.objective_interval_[0] == pytest.approx(objective(K, model.labels_), rel=1e-12)


def test_empty_clusters():
    X = np.concatenate([sample(60, 2)[0], [[400.0, 400.0]]])
    far = np.array([X[0], X[1], [1e5, 1e5]])
    keywords = {"kernel": "linear", "init": far}
    filled = KernelKMeans(3, **keywords).fit(X)
    assert len(np.unique(filled.labels_)) == 3
    plain = KMeans(3, init=far, tol=0).fit(X)
    np.testing.assert_array_equal(filled.labels_, plain.labels_)
    assert KernelKMeans(3, empty="drop", **keywords).fit(X).stats_.weight.shape == (2,)
    with pytest.raises(EmptyClusterError):
        KernelKMeans(3, empty="fail", **keywords).fit(X)
    with pytest.warns(ConvergenceWarning):
        kept = KernelKMeans(3, empty="keep", **keywords).fit(X)
    assert kept.stats_.weight[2] == 0
    np.testing.assert_array_equal(kept.predict(X), kept.labels_)


def test_a_center_that_is_kept_without_members_attracts_no_new_rows():
    """It may be no mean of rows, so a fit that ends with it cannot say where it is."""
    X, keywords = [[0.0], [10.0]], {"kernel": "linear", "init": [[9.0], [14.9]], "empty": "keep"}
    with pytest.warns(ConvergenceWarning):
        short = KernelKMeans(2, max_iter=1, **keywords).fit(X)
    assert short.labels_.tolist() == short.predict(X).tolist() == [0, 0]
    assert np.isinf(short.transform(X)[:, 1]).all()
    long = KernelKMeans(2, **keywords).fit(X)  # in the next iteration it gets one
    assert long.labels_.tolist() == long.predict(X).tolist() == [0, 1]


# --- as the rest of the family --------------------------------------------------------------------


def test_halting_watching_and_restarts(capsys):
    X, start, _ = sample(300, 3, 5)
    seen = []
    model = KernelKMeans(5, init=start, callback=seen.append, verbose=1).fit(X)
    assert seen == list(model.trace_)
    assert "Iteration 0" in capsys.readouterr().out
    short = KernelKMeans(5, init=start, halt=MaxIter(2)).fit(X)
    assert short.n_iter_ == 2
    assert "limit" in short.stopped_by_
    loose = KernelKMeans(5, init=start, tol=0.1).fit(X)
    assert loose.n_iter_ < model.n_iter_
    assert "centers moved" in loose.stopped_by_
    asked = KernelKMeans(5, init="random", callback=lambda p: True, random_state=0).fit(X)
    assert asked.n_iter_ == 1
    one, ten = [KernelKMeans(5, n_init=m, random_state=0).fit(X).inertia_ for m in (1, 10)]
    assert ten <= one


def test_frames_pickles_and_clones():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, start, _ = sample()
    plain = KernelKMeans(4, init=start).fit(X)
    for frame in (pd.DataFrame(X, columns=list("abc")), pl.DataFrame(X, schema=list("abc"))):
        model = KernelKMeans(4, init=start).fit(frame)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        assert list(model.feature_names_in_) == list("abc")
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.predict(frame), model.labels_)
        np.testing.assert_array_equal(copy.transform(frame), plain.transform(X))
    assert clone(plain).get_params()["n_clusters"] == 4
    single = pd.DataFrame(X.astype(np.float32))
    assert KernelKMeans(4, init=start).fit(single).transform(single).dtype == np.float32


@pytest.mark.parametrize("kind", ["float32", "sparse", "uint8"])
def test_other_kinds_of_rows(kind):
    X = np.abs(np.round(sample()[0] * 4))
    start = sample()[1]
    other = {"float32": X.astype(np.float32), "sparse": sp.csr_array(X), "uint8": X.astype("u1")}
    other = other[kind]
    for kernel in ("rbf", "linear", "cosine", "laplacian"):
        a = KernelKMeans(4, kernel=kernel, gamma=0.01, init=start).fit(X)
        b = KernelKMeans(4, kernel=kernel, gamma=0.01, init=start).fit(other)
        assert b.inertia_ == pytest.approx(a.inertia_, rel=1e-4)
        np.testing.assert_array_equal(b.predict(other), b.labels_)
        assert b.transform(other).dtype == (np.float32 if kind == "float32" else np.float64)


def test_what_is_said_of_new_rows():
    X, start, weight = sample(200, 3, 4)
    model = KernelKMeans(4, gamma=0.1, init=start).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X, sample_weight=weight) == pytest.approx(-model.inertia_, rel=1e-9)
    new = X[:9] + 0.3
    K, cross = rbf_kernel(X, gamma=0.1), rbf_kernel(new, X, gamma=0.1)
    Z = (model.labels_[:, None] == np.arange(4)) * weight[:, None]
    Z /= Z.sum(axis=0)
    squares = 1 - 2 * cross @ Z + np.einsum("nk,nk->k", Z, K @ Z)
    np.testing.assert_allclose(model.transform(new), np.sqrt(squares), rtol=1e-10)
    np.testing.assert_array_equal(model.predict(new), squares.argmin(axis=1))
    soft = model.soft_membership(new)
    np.testing.assert_allclose(soft.sum(axis=1), 1)
    np.testing.assert_array_equal(soft.argmax(axis=1), model.predict(new))
    assert model.membership_.shape == (200, 4)


def test_soft_memberships_of_a_linear_kernel_are_those_of_k_means():
    X, _ = make_blobs(300, 3, centers=np.zeros((1, 3)), random_state=0)  # round: all directions
    ours = KernelKMeans(3, kernel="linear", init=X[:3]).fit(X)
    plain = KMeans(3, init=X[:3], tol=0).fit(X)
    np.testing.assert_allclose(ours.soft_membership(X), plain.soft_membership(X), atol=0.05)
    heat = plain._temperature()
    np.testing.assert_allclose(
        ours.soft_membership(X, heat), plain.soft_membership(X, heat), atol=1e-9
    )


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_plusplus_takes_rows_far_apart(seed):
    """One row from each of a few tight groups: greedy k-means++ never takes two from one."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.permutation(6)[:, None] * 10.0, 20, axis=0) + rng.normal(size=(120, 1)) * 0.01
    model = KernelKMeans(6, gamma=0.05, max_iter=1, random_state=seed).fit(X)
    assert len(np.unique(model.labels_)) == 6
    assert model.inertia_ < 1e-2


@pytest.mark.parametrize("weighted", [False, True])
def test_plusplus_of_a_linear_kernel_takes_the_rows_of_k_means(weighted):
    X, _, weight = sample(600, 3, 4)
    weights = Weights.of(weight if weighted else None, 600)
    with Workers(1) as workers:
        gram = DenseGram(linear_kernel(X), X, None, weights, workers)
        source = DenseSource(X, weights, workers)
        for seed in range(10):
            ours = plusplus_rows(gram, 7, np.random.default_rng(seed))
            theirs = plusplus(source, 7, np.random.default_rng(seed))[1]
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "cosine", "poly", "laplacian"])
@pytest.mark.parametrize("path", [{}, {"approximation": "nystrom"}], ids=["exact", "nystrom"])
def test_sparse_and_dense_rows_meet(kernel, path):
    """Far from 0, where a fit to dense rows moves them first."""
    X = np.abs(sample(80)[0]) + 5
    for fitted, new in ((X, sp.csr_array(X)), (sp.csr_array(X), X)):
        model = KernelKMeans(3, kernel=kernel, random_state=0, **path).fit(fitted)
        np.testing.assert_array_equal(model.predict(new), model.predict(fitted))
        np.testing.assert_allclose(model.transform(new), model.transform(fitted), atol=1e-6)


@pytest.mark.parametrize("weight", [1e-200, 1e200])
def test_weights_whose_squares_are_no_numbers(weight):
    with pytest.raises(ValueError, match=r"`sample_weight` must be between .* divide all of them"):
        KernelKMeans(2).fit(sample(20)[0], sample_weight=np.full(20, weight))


@pytest.mark.parametrize("power", [-280, 275])
def test_matrices_beyond_the_grid(power):
    X = sample(20)[0]
    with pytest.raises(ValueError, match=r"The inner products of the kernel must be between"):
        KernelKMeans(2, kernel="precomputed").fit(X @ X.T * 10.0**power)


@pytest.mark.parametrize("wrong", [{"gamma": -2}, {"degree": None}, {"coef0": "1"}])
def test_parameters_of_the_kernel_are_checked_wherever_they_are_given(wrong):
    with pytest.raises(ValueError, match="must be a number"):
        KernelKMeans(2, kernel="poly", kernel_params=wrong).fit(sample(20)[0])


def test_an_indefinite_objective_may_be_negative():
    K = -np.eye(6)
    with pytest.warns(IndefiniteKernelWarning):
        model = KernelKMeans(2, kernel="precomputed", init=np.arange(6) % 2, max_iter=1).fit(K)
    true = sum(
        np.trace(K[np.ix_(some, some)]) - K[np.ix_(some, some)].sum() / len(some)
        for some in (np.flatnonzero(model.labels_ == j) for j in range(2))
        if len(some)
    )
    assert model.objective_interval_[0] == pytest.approx(true)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "linear", "polynomial", "cosine"])
def test_the_diagonal_is_that_of_the_gram_matrix(name):
    rows = np.random.default_rng(0).normal(size=(130, 3)) * 1e3
    params = {"degree": 2, "coef0": 1.0} if name == "polynomial" else {}
    kernel = KernelFunction(name, params)
    assert np.allclose(kernel.diagonal(rows), kernel.between(rows).diagonal(), rtol=1e-12)
    if name in ("rbf", "laplacian"):
        assert np.array_equal(kernel.diagonal(rows), kernel.between(rows).diagonal())

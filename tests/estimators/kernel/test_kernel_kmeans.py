"""Kernel K-means is its formula, for any weights, threads and places of the matrix."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.kernel_cases import KERNELS, gram_of, sample
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from partita import IndefiniteKernelWarning, KernelKMeans, KMeans
from partita._common.threads import Workers
from partita.engine.kernel.step import KernelStep
from partita.exact_weights import Weights
from partita.init.kernel_starts import at_rows
from partita.source.gram_matrix import DenseGram

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
        gram = DenseGram(K, X, Weights.of(weight, 700), workers)
        step = KernelStep(gram, 6)
        centers = at_rows(gram, np.arange(6))
        for _ in range(8):
            step.assign(centers)
            centers = step.update(*step.stats_about(centers), centers).centers
        afresh, rows = gram.sums(6), np.arange(700)
        gram.move(rows, np.full(700, -1, np.int32), step.labels, afresh)
        np.testing.assert_array_equal(step._sums, afresh)
        # and they are the sums: K·Z
        Z = (step.labels == np.arange(6)[:, None]) * weight
        inner = gram.values(step._sums)
        expected = Z @ (K - gram.shift - gram.shift[:, None])
        np.testing.assert_allclose(inner, expected, rtol=1e-11, atol=1e-11)


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


@pytest.mark.heavy
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

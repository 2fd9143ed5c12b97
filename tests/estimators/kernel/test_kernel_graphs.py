"""Kernel K-means of graphs (the normalised cut), and of kernels that are not definite."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.kernel_cases import objective, sample
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from partita import IndefiniteKernelWarning, KernelKMeans
from partita._common.threads import Workers
from partita.engine.kernel.definiteness import is_indefinite, leading, needed_shift
from partita.exact_weights import Weights
from partita.source.gram_matrix import DenseGram, SparseGram

pytestmark = pytest.mark.sanitize


def planted(sizes=(70, 70, 70), inside=0.3, across=0.03, seed=0):
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.where(group[:, None] == group, inside, across)
    upper = np.triu(rng.random(chance.shape) < chance, 1)
    return (upper | upper.T).astype(float), group


def cut_value(A, labels):
    """Σ over clusters of what leaves them, by their degree."""
    A = A.toarray() if sp.issparse(A) else A
    degree = A.sum(axis=1)
    return sum(
        A[np.ix_(labels == j, labels != j)].sum() / degree[labels == j].sum()
        for j in np.unique(labels)
    )


# --- the normalised cut ---------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_matrix])
def test_planted_groups_are_found(form):
    A, group = planted()
    model = KernelKMeans(3, kernel="normalized-cut", random_state=0).fit(form(A))
    assert adjusted_rand_score(group, model.labels_) == 1.0
    assert ("sparse" in model.paths_[0]) == (form is not np.asarray)


@pytest.mark.heavy
@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 5),
    sigma=st.sampled_from(["auto", 0.0, 0.3, 2.0]),
    sparse=st.booleans(),
    loops=st.booleans(),
)
def test_the_objective_is_the_normalised_cut(seed, k, sigma, sparse, loops):
    """J = Ncut + σ(n − k) + Σ A_ii / d_i − k, for any partition."""
    rng = np.random.default_rng(seed)
    n = 40
    A = rng.random((n, n)) * (rng.random((n, n)) < 0.3)
    A = A + A.T + np.eye(n, k=1) + np.eye(n, k=-1)
    np.fill_diagonal(A, rng.random(n) if loops else 0)
    start = rng.permutation(np.arange(n) % k)
    model = KernelKMeans(
        k, kernel="normalized-cut", init=start, diagonal_shift=sigma, max_iter=3, empty="drop"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(sp.csr_array(A) if sparse else A)
    filled = len(np.unique(model.labels_))
    loose = float((np.diag(A) / A.sum(axis=1)).sum()) - filled
    cost = float(model.stats_.sse.sum())
    shifted = cut_value(A, model.labels_) + model.diagonal_shift_ * (n - filled) + loose
    assert cost == pytest.approx(shifted, rel=1e-9, abs=1e-9)
    assert model.objective_interval_[0] == pytest.approx(
        cut_value(A, model.labels_) + loose, rel=1e-8, abs=1e-8
    )


def test_a_step_never_cuts_more():
    A, _ = planted(inside=0.2, across=0.1, seed=2)
    start = np.random.default_rng(0).integers(0, 3, len(A))
    cuts = []
    for steps in range(1, 7):
        model = KernelKMeans(3, kernel="normalized-cut", init=start, max_iter=steps).fit(A)
        cuts.append(cut_value(A, model.labels_))
    assert all(b <= a + 1e-9 for a, b in itertools.pairwise(cuts))


def test_sparse_and_dense_graphs_give_the_same():
    A, _ = planted(seed=5)
    start = np.random.default_rng(0).integers(0, 3, len(A))
    dense, sparse = [
        KernelKMeans(3, kernel="normalized-cut", init=start).fit(form)
        for form in (A, sp.csr_array(A))
    ]
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    assert dense.inertia_ == pytest.approx(sparse.inertia_, rel=1e-10)


def test_new_nodes_join_those_they_are_linked_to():
    A, group = planted()
    for form in (np.asarray, sp.csr_array):
        model = KernelKMeans(3, kernel="normalized-cut", random_state=0).fit(form(A))
        new = form(np.array([(group == j).astype(float) for j in range(3)]))
        expected = [model.labels_[group == j][0] for j in range(3)]
        assert model.predict(new).tolist() == expected
    with pytest.raises(ValueError, match=r"`X` must be .*got 1 of 1 nodes without an edge: 0"):
        model.predict(sp.csr_array((1, len(A))))


def test_graphs_that_are_none():
    A, _ = planted()
    model = KernelKMeans(3, kernel="normalized-cut")
    alone = A.copy()
    alone[7], alone[:, 7] = 0, 0
    for form in (np.asarray, sp.csr_array):
        with pytest.raises(
            ValueError, match=r"`X` must be .*got 1 of 210 nodes without an edge: 7"
        ):
            model.fit(form(alone))
        with pytest.raises(ValueError, match="negative"):
            model.fit(form(-A))
        with pytest.raises(ValueError, match="must be a symmetric affinity matrix"):
            model.fit(form(np.triu(A)))
        with pytest.raises(ValueError, match="square"):
            model.fit(form(A[:, 1:]))
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(A, sample_weight=np.ones(len(A)))
    assert not hasattr(model, "transform")


# --- kernels that are not definite ----------------------------------------------------------------


def indefinite(n=150, seed=0):
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(n, n))
    return (K + K.T) / 2


def test_a_warning_says_that_the_objective_may_rise():
    X, start, _ = sample()
    with pytest.warns(IndefiniteKernelWarning, match="diagonal_shift"):
        KernelKMeans(4, kernel="sigmoid", gamma=0.5, init=start, max_iter=5).fit(X)
    with pytest.warns(IndefiniteKernelWarning):
        KernelKMeans(3, kernel="precomputed", max_iter=5, random_state=0).fit(indefinite())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shifted = KernelKMeans(3, kernel="precomputed", diagonal_shift="auto", random_state=0)
        shifted.fit(indefinite())
        # not definite, but where it counts: −‖x − y‖² has the distances of x and y
        far = -((X[:, None] - X) ** 2).sum(axis=2)
        model = KernelKMeans(4, kernel="precomputed", init=start).fit(far)
    plain = KernelKMeans(4, kernel="linear", init=start).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert model.inertia_ == pytest.approx(2 * plain.inertia_, rel=1e-10)


@given(seed=st.integers(0, 10**6), weighted=st.booleans())
def test_the_shift_restores_the_descent(seed, weighted):
    rng = np.random.default_rng(seed)
    K, n = indefinite(60, seed), 60
    weight = rng.random(n) + 0.1 if weighted else None
    start = rng.permutation(np.arange(n) % 4)
    model = KernelKMeans(4, kernel="precomputed", diagonal_shift="auto", init=start)
    model.fit(K, sample_weight=weight)
    steps = [value for p in model.trace_ for value in (p.cost, p.cost_after)]
    mended = {i for i, p in enumerate(model.trace_) if p.empty}
    if not mended:
        assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(steps))
    # the shift adds the same to every partition
    filled = len(np.unique(model.labels_))
    low, high = model.objective_interval_
    assert low == high == pytest.approx(objective(K, model.labels_, weight), rel=1e-7, abs=1e-7)
    total = float(model.stats_.sse.sum())
    assert total == pytest.approx(low + model.diagonal_shift_ * (n - filled), rel=1e-9)


@pytest.mark.parametrize("n", [60, 500])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_least_shift(n, weighted):
    """By all eigenvalues, and by Lanczos' method where there are too many."""
    K = indefinite(n)
    weight = np.random.default_rng(1).random(n) + 0.1 if weighted else np.ones(n)
    root = np.sqrt(weight)
    across = np.eye(n) - np.outer(root, root) / weight.sum()
    lowest = np.linalg.eigvalsh(across @ (root[:, None] * K * root) @ across)[0]
    with Workers(1) as workers:
        gram = DenseGram(K, None, Weights.of(weight, n), workers)
        assert is_indefinite(gram)
        assert needed_shift(gram) == pytest.approx(-lowest, rel=1e-5)
        assert needed_shift(gram) >= -lowest
        sparse = SparseGram(sp.csr_array(K), Weights.of(weight, n), workers)
        assert needed_shift(sparse) == pytest.approx(-lowest, rel=1e-5)
        good = DenseGram(K @ K, None, Weights.of(weight, n), workers)
        assert not is_indefinite(good)
        assert needed_shift(good) == 0


def test_the_relaxed_solution_bounds_the_objective():
    """Σ of the k − 1 largest eigenvalues is the most that k clusters can explain."""
    X, start, weight = sample(90)
    K = X @ X.T
    with Workers(1) as workers:
        gram = DenseGram(K, X, Weights.of(weight, 90), workers)
        rows = leading(gram, 3)
    root = np.sqrt(weight)
    flat = rows * root[:, None]
    np.testing.assert_allclose(flat.T @ flat, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(root @ flat, 0, atol=1e-8)
    explained = np.trace(flat.T @ (root[:, None] * K * root) @ flat)
    model = KernelKMeans(4, kernel="linear", init=start).fit(X, sample_weight=weight)
    whole = objective(K, np.zeros(90), weight)
    assert model.inertia_ >= whole - explained - 1e-9 * whole


@pytest.mark.parametrize("n", [40, 500])
def test_a_matrix_without_directions(n):
    """All rows are one in feature space: nothing to shift, and nowhere to go."""
    for K in (np.ones((n, n)), np.zeros((n, n))):
        model = KernelKMeans(
            1, kernel="precomputed", init="spectral", diagonal_shift="auto", random_state=0
        ).fit(K)
        assert max(model.diagonal_shift_, model.inertia_) < 1e-12
        with pytest.warns(ConvergenceWarning):
            KernelKMeans(3, kernel="precomputed", init="spectral", random_state=0).fit(K)


def test_a_given_shift_is_added_as_it_is():
    K = indefinite(50)
    start = np.arange(50) % 3
    by_hand = K + 9.0 * np.eye(50)
    ours = KernelKMeans(3, kernel="precomputed", diagonal_shift=9.0, init=start).fit(K)
    plain = KernelKMeans(3, kernel="precomputed", diagonal_shift=0.0, init=start).fit(by_hand)
    np.testing.assert_array_equal(ours.labels_, plain.labels_)
    assert ours.inertia_ == pytest.approx(plain.inertia_, rel=1e-10)
    for init in ([0, 1, 2], "random-partition"):
        a, b = [
            KernelKMeans(
                3, kernel="precomputed", diagonal_shift=s, init=init, n_init=1, random_state=4
            ).fit(matrix)
            for s, matrix in ((9.0, K), (0.0, by_hand))
        ]
        np.testing.assert_array_equal(a.labels_, b.labels_)


@pytest.mark.heavy
def test_a_large_sparse_graph_stays_sparse():
    """20 000 nodes: a dense product in any step of the start would take minutes."""
    rng = np.random.default_rng(0)
    n, side = 20_000, np.arange(20_000) % 4
    a = rng.integers(n, size=12 * n)
    b = np.where(
        rng.random(12 * n) < 0.9, (a - side[a] + side[a]) % n, rng.integers(n, size=12 * n)
    )
    near = (a + 4 * rng.integers(1, n // 4, size=12 * n)) % n  # of the same side
    b = np.where(rng.random(12 * n) < 0.9, near, b)
    A = sp.coo_array((np.ones(12 * n), (a, b)), (n, n)).tocsr()
    A = sp.csr_array(A + A.T)
    model = KernelKMeans(4, kernel="normalized-cut", random_state=0).fit(A)
    agree = np.zeros((4, 4))
    np.add.at(agree, (model.labels_, side), 1)
    assert agree.max(axis=1).sum() > 0.95 * n


def test_a_callable_start_sees_the_affinities():
    A, _ = planted(seed=3)
    seen = []

    def start(X, k, random_state):
        seen.append(X)
        return np.arange(k)

    KernelKMeans(2, kernel="normalized-cut", init=start, n_init=1).fit(A)
    np.testing.assert_array_equal(np.asarray(seen[0]), A)


def test_a_definite_affinity_needs_no_shift():
    """Hundreds of eigenvalues crowd at 0: the least of them is found nonetheless."""
    from sklearn.datasets import make_moons
    from sklearn.metrics.pairwise import rbf_kernel

    X, y = make_moons(600, noise=0.05, random_state=0)
    model = KernelKMeans(2, kernel="normalized-cut", random_state=0).fit(rbf_kernel(X, gamma=20))
    assert model.diagonal_shift_ == 0
    assert adjusted_rand_score(y, model.labels_) > 0.98

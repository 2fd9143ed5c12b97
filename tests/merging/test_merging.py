"""The merge tree: greedy, priced exactly, and what SciPy takes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.merge_price import merge_price
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from sklearn.cluster import KMeans as TheirKMeans
from sklearn.datasets import make_circles

from partita import (
    ClusterStats,
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
    merge_tree,
)
from partita.geometry import EUCLIDEAN, SPHERICAL, Spherical
from partita.merging.agglomeration import RepresentativeMerging, merge_all
from partita.merging.tree import MergeTree


@st.composite
def summaries(draw, sphere=False):
    """Stats of weighted rows in up to 12 clusters, some of them empty, and the rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, k = draw(st.integers(1, 40)), draw(st.integers(1, 5)), draw(st.integers(1, 12))
    whole = draw(st.booleans())
    rows = rng.integers(-3, 4, (n, d)).astype(float) if whole else rng.normal(size=(n, d))
    if sphere:
        rows[np.abs(rows).sum(axis=1) == 0] = 1.0
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    elif draw(st.booleans()):
        rows += 1e6
    weight = rng.integers(0, 4, n).astype(float)
    labels = rng.integers(0, k, n)
    return ClusterStats.of_block(rows, labels, k=k, weight=weight), rows, weight, labels


def closeness(stats):
    """Means far from 0 carry rounding of their own size into every sum of squares."""
    size = np.abs(stats.mean).max() + 1
    return {"rtol": 1e-9, "atol": 1e-12 * size * (stats.weight.sum() + 1)}


def cut_cost(stats, geometry):
    return geometry.cost_of(stats).sum()


@given(summaries(), st.data())
def test_a_cut_costs_what_the_merges_so_far_have_added(problem, data):
    stats, rows, weight, labels = problem
    tree = MergeTree.of(stats)
    k = data.draw(st.integers(1, tree.n_clusters))
    after = tree.stats_at(k)
    close = closeness(stats)
    np.testing.assert_allclose(after.sse.sum(), tree.cost_at(k), **close)
    direct = ClusterStats.of_block(rows, tree.labels_at(k)[labels], k=k, weight=weight)
    np.testing.assert_allclose(after.weight, direct.weight)
    np.testing.assert_allclose(after.mean, direct.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(after.sse, direct.sse, **close)


@given(summaries())
def test_all_merges_together_add_sse_of_everything_less_j(problem):
    stats, rows, weight, _ = problem
    tree = MergeTree.of(stats)
    whole = ClusterStats.of_block(rows, weight=weight)
    gained = whole.sse[0] - stats.sse.sum()
    np.testing.assert_allclose(tree.prices.sum(), gained, **closeness(stats))
    assert (tree.prices >= 0).all()


@given(summaries(sphere=True), st.data())
def test_on_the_sphere_the_same_holds_for_j_cos(problem, data):
    stats, rows, weight, labels = problem
    tree = MergeTree.of(stats, SPHERICAL)
    k = data.draw(st.integers(1, tree.n_clusters))
    np.testing.assert_allclose(cut_cost(tree.stats_at(k), SPHERICAL), tree.cost_at(k), atol=1e-9)
    at = tree.labels_at(k)[labels]
    sums = np.array([(weight * (at == j)) @ rows for j in range(k)])
    by_sums = weight.sum() - np.linalg.norm(sums, axis=1).sum()
    np.testing.assert_allclose(tree.cost_at(k), by_sums, atol=1e-9)


@given(summaries(), st.booleans())
def test_every_merge_is_the_cheapest_there_is(problem, sphere):
    stats = problem[0]
    geometry = SPHERICAL if sphere else EUCLIDEAN
    tree = MergeTree.of(stats, geometry)
    for k in range(tree.n_clusters, 1, -1):
        now = tree.stats_at(k)
        i, j = np.triu_indices(k, 1)
        least = merge_price(geometry, now, i, j).min()
        step = tree.prices[tree.n_clusters - k]
        if not (now.weight == 0).any():
            np.testing.assert_allclose(step, least, **closeness(stats))


@given(summaries(), st.booleans())
def test_scipy_takes_the_linkage_and_cuts_it_alike(problem, sphere):
    stats = problem[0]
    tree = MergeTree.of(stats, SPHERICAL if sphere else EUCLIDEAN)
    if tree.n_clusters == 1:
        assert tree.linkage.shape == (0, 4)
        return
    assert hierarchy.is_valid_linkage(tree.linkage, throw=True)
    assert hierarchy.is_monotonic(tree.linkage)
    hierarchy.dendrogram(tree.linkage, no_plot=True)
    height = np.append(tree.linkage[:, 2], np.inf)
    for step in np.flatnonzero(height[1:] > height[:-1]):  # of equal heights SciPy cuts all or none
        k = tree.n_clusters - 1 - step
        theirs = hierarchy.fcluster(tree.linkage, height[step], "distance")
        pairs = set(zip(theirs.tolist(), tree.labels_at(k).tolist(), strict=True))
        assert len(pairs) == k == theirs.max()


def test_each_point_its_own_cluster_is_wards_method():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 4)) + 1e3
    tree = MergeTree.of(ClusterStats.of_block(rows, np.arange(300), k=300))
    ward = hierarchy.linkage(rows, "ward")
    np.testing.assert_allclose(tree.prices, ward[:, 2] ** 2 / 2, rtol=1e-9)
    for k in (2, 7, 50):
        theirs = hierarchy.fcluster(ward, k, "maxclust")
        assert len(set(zip(theirs.tolist(), tree.labels_at(k).tolist(), strict=True))) == k


def test_new_clusters_are_numbered_by_their_lowest_members():
    stats = ClusterStats.of_block([[0.0], [9.0], [0.1], [9.3]], [0, 1, 2, 3], k=4)
    tree = MergeTree.of(stats)
    assert tree.labels_at(4).tolist() == [0, 1, 2, 3]
    assert tree.labels_at(3).tolist() == [0, 1, 0, 2]
    assert tree.labels_at(2).tolist() == [0, 1, 0, 1]
    assert tree.labels_at(1).tolist() == [0, 0, 0, 0]
    assert tree.costs[::-1] == pytest.approx(tree.cost + np.cumsum([0, *tree.prices]))


def test_empty_clusters_merge_first_and_for_nothing():
    rows = np.array([[5.0], [5.0], [7.0]])  # two clusters at one place cost nothing either
    stats = ClusterStats.of_block(rows, [0, 2, 4], k=5)
    tree = MergeTree.of(stats)
    assert tree.prices[:3].tolist() == [0, 0, 0]
    assert {1, 3} <= set(tree.linkage[:2, :2].ravel().astype(int).tolist())
    assert (tree.stats_at(3).weight == 1).all()
    assert tree.stats_at(2).mean.ravel().tolist() == [5.0, 7.0]


def test_the_price_of_near_directions_keeps_its_digits():
    angle = 1e-9
    rows = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
    stats = ClusterStats.of_block(rows, [0, 1], k=2)
    assert merge_price(Spherical(0.5), stats, 0, 1) == pytest.approx(angle**2 / 4, rel=1e-9)
    opposite = ClusterStats.of_block([[1.0, 0.0], [-1.0, 0.0]], [0, 1], k=2)
    assert merge_price(SPHERICAL, opposite, 0, 1) == 2.0


@pytest.mark.parametrize("kind", [KMeans, MiniBatchKMeans, SphericalKMeans])
def test_a_warm_start_costs_no_more_than_the_tree_says(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3)) + 4 * rng.integers(0, 3, (400, 1)) + 1
    model = kind(20, random_state=0).fit(X)
    tree = merge_tree(model)
    assert tree.cost == pytest.approx(model.inertia_, rel=1e-2)
    walk = SphericalKMeans if kind is SphericalKMeans else KMeans
    for k in (1, 2, 5, 19, 20):
        warm = walk(k, init=tree.centers_at(k), n_init=1).fit(X)
        if kind is not MiniBatchKMeans:  # whose summaries may speak of a part of the rows
            assert warm.inertia_ <= tree.cost_at(k) * (1 + 1e-12)
        assert tree.centers_at(k).shape == (k, 3)


def test_a_center_that_has_no_mean_is_the_models():
    stats = ClusterStats.of_block([[1.0, 0.0], [-1.0, 0.0]], [0, 0], k=3)
    centers = np.array([[0.0, 1.0], [0.6, 0.8], [1.0, 0.0]])
    tree = MergeTree.of(stats, SPHERICAL, centers)
    np.testing.assert_array_equal(tree.centers_at(3), centers)
    np.testing.assert_array_equal(tree.centers_at(1), centers[:1])


def test_models_of_scikit_learn_need_rows():
    rng = np.random.default_rng(2)
    X, weight = rng.normal(size=(200, 4)), rng.random(200)
    theirs = TheirKMeans(6, n_init=1, random_state=0).fit(X, sample_weight=weight)
    with pytest.raises(ValueError, match="needs rows, because KMeans"):
        merge_tree(theirs)
    tree = merge_tree(theirs, X, weight)
    assert tree.cost == pytest.approx(theirs.inertia_, rel=1e-2)
    sparse = merge_tree(KMeans(6, init=theirs.cluster_centers_, max_iter=1).fit(X), sp.csr_array(X))
    assert sparse.linkage.shape == (5, 4)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_rows_give_the_tree_that_the_summaries_give(make):
    rng = np.random.default_rng(3)
    X, weight = rng.normal(size=(150, 3)), rng.integers(0, 3, 150)
    for kind in (KMeans, SphericalKMeans):
        model = kind(7, random_state=0).fit(make(X), sample_weight=weight)
        kept, made = merge_tree(model), merge_tree(model, make(X), weight)
        np.testing.assert_array_equal(kept.linkage, made.linkage)  # the same bits
        assert kept.cost == made.cost


def test_kernel_clusters_merge_in_feature_space():
    rng = np.random.default_rng(4)
    X, weight = rng.normal(size=(120, 3)) + 1, rng.integers(1, 4, 120).astype(float)
    model = KernelKMeans(6, kernel="linear", random_state=0).fit(X, sample_weight=weight)
    tree = merge_tree(model, X, weight)
    flat = MergeTree.of(ClusterStats.of_block(X, model.labels_, k=6, weight=weight))
    np.testing.assert_allclose(tree.linkage, flat.linkage, rtol=1e-6)
    assert tree.cost_at(1) == pytest.approx(flat.cost_at(1), rel=1e-6)
    with pytest.raises(ValueError, match="labels_at"):
        tree.centers_at(2)
    with pytest.raises(ValueError, match=r"merge_tree\(model, X\)"):
        merge_tree(model)
    with pytest.raises(ValueError, match="must be those of the fit"):
        merge_tree(model, X)


def test_a_given_gram_matrix_merges_as_its_rows_do():
    X, _ = make_circles(80, factor=0.3, noise=0.05, random_state=0)
    gram = np.exp(-2 * ((X[:, None] - X) ** 2).sum(axis=2))
    rows = KernelKMeans(5, kernel="rbf", gamma=2.0, random_state=0).fit(X)
    given_ = KernelKMeans(5, kernel="precomputed", init=rows.labels_, n_init=1).fit(gram)
    ours, theirs = merge_tree(rows, X), merge_tree(given_, gram)
    np.testing.assert_allclose(ours.linkage, theirs.linkage, rtol=1e-6)


def test_a_merge_of_medoids_costs_what_the_better_one_leaves():
    X = np.array([[0.0], [1.0], [3.0], [10.0], [11.0], [30.0]])
    model = KMedoids(3, metric="manhattan", random_state=0).fit(X)
    tree = merge_tree(model, X)
    assert tree.cost == pytest.approx(model.inertia_)
    at = tree.labels_at(2)[model.labels_]
    cost = 0.0
    for j in range(2):
        keepers = model.medoid_indices_[tree.labels_at(2) == j]
        cost += min(np.abs(X[at == j] - X[m]).sum() for m in keepers)
    assert tree.cost_at(2) == pytest.approx(cost)
    with pytest.raises(ValueError, match=r"merge_tree\(model, X\)"):
        merge_tree(model)


def greedy_by_hand(far):
    """Merges of clusters about medoids, looking at all pairs every time: members, prices."""
    groups, made, prices = [([j], j) for j in range(len(far))], [], []  # and whose medoid stays
    while len(groups) > 1:
        found = []
        for a, b in itertools.combinations(range(len(groups)), 2):
            (mine, i), (theirs, j) = groups[a], groups[b]
            both = mine + theirs
            cost = {m: far[both, m].sum() for m in (i, j)}
            keep = j if cost[j] < cost[i] else i
            found.append((cost[keep] - far[mine, i].sum() - far[theirs, j].sum(), a, b, keep))
        price, a, b, keep = min(found, key=lambda one: one[0])
        prices.append(price)
        groups[a] = (groups[a][0] + groups[b][0], keep)  # of equal prices the first pair
        del groups[b]
        made.append(sorted(groups[a][0]))
    return made, prices


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.booleans())
def test_medoids_merge_as_a_look_at_all_pairs_says(seed, k, ties):
    rng = np.random.default_rng(seed)
    far = rng.integers(1, 4, (k, k)) * 1.0 if ties else rng.random((k, k)) + 0.2
    far[np.arange(k), np.arange(k)] *= 0.0 if ties else 0.1  # later prices may be lower
    pairs, merge_prices = merge_all(RepresentativeMerging(far), np.zeros(k, dtype=bool))
    members = [[j] for j in range(k)]
    for i, j in pairs:
        members.append(sorted(members[i] + members[j]))
    made, prices = greedy_by_hand(far)
    np.testing.assert_allclose(merge_prices, prices, rtol=1e-9, atol=1e-12)
    assert members[k:] == made


def test_what_does_not_fit_is_said():
    model = KMeans(3, random_state=0).fit(np.arange(10.0)[:, None])
    tree = merge_tree(model)
    with pytest.raises(ValueError, match="an integer from 1 to 3, got 4"):
        tree.labels_at(4)
    with pytest.raises(ValueError, match=r"must be an integer from 1 to 3, got 2\.5"):
        tree.labels_at(2.5)
    with pytest.raises(ValueError, match="`sample_weight` needs X"):
        merge_tree(model, sample_weight=np.ones(10))
    with pytest.raises(TypeError, match="fitted model"):
        merge_tree(np.ones((3, 2)))
    assert repr(tree).startswith("MergeTree of 3 clusters")
    assert repr(merge_tree(KMeans(1).fit([[1.0], [2.0]]))) == "MergeTree of one cluster, cost 0.5"


def test_huge_values_do_no_harm():
    rows = np.array([[1e200], [-1e200], [1e190], [0.0]])
    with np.errstate(over="ignore"):
        stats = ClusterStats(np.ones(4), rows, np.zeros(4))
        tree = MergeTree.of(stats)
    assert sorted(tree.labels_at(1)) == [0] * 4

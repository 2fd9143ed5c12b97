"""A diagnosis sees each known limit on data made for it, and is silent where there is none."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sklearn.cluster import DBSCAN, AffinityPropagation, Birch, BisectingKMeans, MeanShift
from sklearn.cluster import KMeans as Peer
from sklearn.datasets import load_iris, load_wine, make_blobs, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import partita
from partita import (
    Diagnosis,
    Finding,
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
    diagnose,
)
from partita.diagnosis.boundary_density import BINS_TO_CENTER, FACE_BIN, CenterPair
from partita.diagnosis.cluster_borders import _gap_beside_face, is_touching
from partita.diagnosis.cluster_shapes import _first_variance
from partita.diagnosis.diagnose import _CHECKS, fit_context
from partita.diagnosis.neighbour_graph import _count_broken, _mutual_links, check_convexity
from partita.diagnosis.row_sample import RowSample
from partita.metrics.criteria import adjusted_rand

CORNERS = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])


def groups(n=400, seed=0, std=1.0):
    """Four round groups, well apart."""
    return make_blobs(n, centers=CORNERS, cluster_std=std, random_state=seed)[0]


def fit(X, k=4, **more):
    return KMeans(k, n_init=10, random_state=0, n_threads=1, **more).fit(X)


def spirals(n=300, seed=0):
    rng = np.random.default_rng(seed)
    t = np.sqrt(rng.uniform(0.05, 1, n)) * 3 * np.pi
    arm = np.c_[t * np.cos(t), t * np.sin(t)]
    return np.concatenate([arm, -arm]) + rng.normal(0, 0.3, (2 * n, 2))


# --- silence --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_found_in_clean_groups(seed):
    X = groups(seed=seed)
    assert diagnose(fit(X), X, random_state=seed).names == ()


@pytest.mark.parametrize("d", [1, 3, 20])
def test_nothing_is_found_in_clean_groups_of_any_dimension(d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(300, d)) + 12 * np.repeat(np.arange(3), 100)[:, None]
    assert diagnose(fit(X, 3), X).names == ()


def test_scaled_data_is_no_matter_of_scale():
    for load in (load_iris, load_wine):
        X = StandardScaler().fit_transform(load().data)
        assert diagnose(fit(X, 3), X).names == ()


def test_unequal_sizes_are_no_problem_if_there_is_a_gap():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(3000, 2)), rng.normal([30, 0], 1, (60, 2))])
    assert diagnose(fit(X, 2), X).names == ()


# --- each limit -----------------------------------------------------------------------------------


def test_a_feature_on_another_scale():
    frame = load_wine(as_frame=True).data
    found = diagnose(fit(frame, 3), frame)["scale"]
    assert found.features == ("proline",)
    assert "99.8 %" in found.evidence
    assert found.severity == "warning"


@pytest.mark.parametrize("factor", [5.0, 30.0])
def test_scale_needs_an_order_of_magnitude(factor):
    X = groups() * [factor, 1.0]
    assert ("scale" in diagnose(fit(X), X)) == (factor > 10)


def test_outliers_that_own_a_cluster_are_listed():
    X = np.concatenate([groups(), [[90.0, 90.0], [91.0, 90.0]]])
    found = diagnose(fit(X, 5), X)["outliers"]
    assert "(400, 401)" in found.evidence
    assert len(found.clusters) == 1


def test_a_small_group_in_small_data_is_no_outlier():
    X = np.concatenate([CORNERS, CORNERS + 0.5, CORNERS - 0.5])
    assert "outliers" not in diagnose(fit(X), X)
    three = [[90.0, 90.0], [91.0, 90.0], [90.0, 91.0]]
    for size, expected in ((60, False), (400, True)):  # fifteen in every group, or a hundred
        X = np.concatenate([groups(size), three])
        assert ("outliers" in diagnose(fit(X, 5), X)) == expected


def test_centers_at_the_same_place():
    X = groups()
    centers = np.concatenate([fit(X).cluster_centers_, fit(X).cluster_centers_[:1]])
    twin = SimpleNamespace(cluster_centers_=centers)
    assert diagnose(twin, X)["empty-clusters"].clusters == (4,)  # ties go to the lower index
    X = groups(8000)
    corner = (X > 5) @ [2, 1]
    by_chance = np.where(corner == 0, np.random.default_rng(0).integers(0, 2, 8000) * 4, corner)
    found = diagnose(SimpleNamespace(labels_=by_chance), X)["coincident-centers"]
    assert found.clusters == (0, 4)
    assert "by 1, to 4" in found.advice


def test_long_clusters_that_touch():
    rng = np.random.default_rng(0)
    stripe = rng.uniform(0, 60, 900)
    X = np.c_[stripe, rng.normal(0, 0.5, 900)]
    assert "elongated-clusters" in diagnose(fit(X, 2), X)
    X = np.c_[rng.uniform(0, 20, 900), rng.normal(0, 0.5, 900)]
    X[450:] += [0, 100]  # as long, but nothing was cut
    assert "elongated-clusters" not in diagnose(fit(X, 2), X)


def test_the_first_variance_of_a_cluster_is_the_same_from_any_start():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 2)) * [3.5, 1.0]
    sample = RowSample(rows, np.ones(2000), np.zeros(2000, int), np.arange(2000), True)
    across = SimpleNamespace(normal=lambda size: np.array([1e-4, 1.0]))  # nearly all of it
    context = SimpleNamespace(d=2, rng=lambda name: across)
    size = np.linalg.eigvalsh(np.cov(rows.T, bias=True))
    ratio, share = _first_variance(context, sample, np.arange(2000))
    assert ratio == pytest.approx(size[1] / size[0], rel=1e-6)
    assert share == pytest.approx(size[1] / size.sum(), rel=1e-6)


def test_groups_of_unequal_spread_that_touch():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (2000, 2)), rng.normal([4, 0], 0.2, (60, 2))])
    assert diagnose(fit(X, 2), X)["unequal-clusters"].clusters == (0, 1)
    X = make_blobs(600, centers=3, cluster_std=[1, 2.5, 0.5], random_state=170)[0]
    assert "unequal-clusters" in diagnose(fit(X, 3), X)


def test_one_group_that_was_divided():
    X = np.random.default_rng(0).normal(size=(800, 2))
    found = diagnose(fit(X, 4), X)
    assert {"split-groups", "near-faces", "unstable"} <= set(found.names)
    assert found["split-groups"].severity == "note"
    assert "±" in found["unstable"].evidence


def test_too_few_distinct_rows():
    X = np.repeat(CORNERS, 20, axis=0)
    assert "few-distinct-rows" in diagnose(fit(X, 4), X)
    assert "duplicates" in diagnose(fit(X, 3), X)
    assert "few-distinct-rows" not in diagnose(fit(X, 3), X)


def test_a_fit_that_did_not_come_to_rest():
    X = np.random.default_rng(0).uniform(size=(2000, 2))
    early = KMeans(20, init="random", n_init=1, max_iter=1, random_state=0).fit(X)
    assert "limit of 1 iteration" in diagnose(early, X)["not-converged"].evidence
    rest = KMeans(20, tol=0, random_state=0, max_iter=1000).fit(X)
    assert "not-converged" not in diagnose(rest, X)
    moved = SimpleNamespace(cluster_centers_=rest.cluster_centers_ + 0.02)
    assert "at once" in diagnose(moved, X)["not-converged"].evidence


def test_a_poor_start():
    X = groups()
    stuck = KMeans(4, init=[[-1, 0], [1, 0], [10, 5], [0, 10]], n_init=1).fit(X)
    assert "local-minimum" in diagnose(stuck, X)
    assert "not-convex" not in diagnose(stuck, X)  # a matter of the start, not of the shape


def test_constant_and_correlated_features():
    X = np.c_[groups(), np.full(400, 7.0)]
    found = diagnose(fit(X), X)
    assert found["constant-features"].features == (2,)
    rng = np.random.default_rng(0)
    one = rng.normal(size=(500, 1))
    X = np.c_[one + 0.01 * rng.normal(size=(500, 4)), rng.normal(size=(500, 2))] + 5
    assert set(diagnose(fit(X, 2), X)["correlated-features"].features) == {0, 1, 2, 3}


def test_sums_that_are_not_exact():
    X, weight = groups(), np.ones(400)
    weight[0] = 1e-12
    found = diagnose(fit(X), X, sample_weight=weight)
    assert "inexact-sums" in found


# --- shapes ---------------------------------------------------------------------------------------

SHAPES = {
    "moons": lambda seed: make_moons(500, noise=0.06, random_state=seed)[0],
    "rings": lambda seed: make_circles(500, noise=0.05, factor=0.4, random_state=seed)[0],
    "spirals": lambda seed: spirals(seed=seed),
}
ROUND = {
    "one Gaussian": lambda rng: (rng.normal(size=(400, 2)), 2),
    "one Gaussian, K = 4": lambda rng: (rng.normal(size=(400, 2)), 4),
    "five features": lambda rng: (rng.normal(size=(400, 5)), 3),
    "uniform": lambda rng: (rng.uniform(size=(400, 2)), 2),
    "uniform, K = 5": lambda rng: (rng.uniform(size=(400, 2)), 5),
    "overlapping": lambda rng: (
        rng.normal(size=(450, 2)) + 2.5 * np.repeat([[0, 0], [1, 0], [0, 1]], 150, axis=0),
        3,
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_groups_that_are_check_convexity(shape):
    for seed in range(3):
        X = SHAPES[shape](seed)
        assert "not-convex" in diagnose(fit(X, 2), X, random_state=seed), seed


@pytest.mark.parametrize("data", ROUND)
@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 40), marks=pytest.mark.slow)])
def test_false_alarms_about_shape_are_rare(data, seeds):
    alarms = 0
    for seed in seeds:
        X, k = ROUND[data](np.random.default_rng(seed))
        alarms += check_convexity(fit_context(fit(X, k), X, None, seed)) is not None
    assert alarms <= 0.05 * len(seeds)


def test_the_advice_on_shape_works():
    from sklearn.neighbors import kneighbors_graph

    X, ring = make_circles(400, noise=0.05, factor=0.4, random_state=0)
    advice = diagnose(fit(X, 2), X)["not-convex"].advice
    neighbours = int(re.search(r"kneighbors_graph\(X, (\d+), include_self=True\)", advice)[1])
    G = kneighbors_graph(X, neighbours, include_self=True)
    model = KernelKMeans(2, kernel="normalized-cut", random_state=0).fit(G @ G.T)
    assert adjusted_rand_score(ring, model.labels_) == 1.0


def test_pieces_of_a_cluster_that_go_on_elsewhere():
    X = spirals()
    near, arm = _mutual_links(X), np.repeat([0, 1], 300)
    assert _count_broken(near, (X[:, 0] > 0) * 1, 2) == 2
    assert _count_broken(near, arm, 2) == 0
    one = np.random.default_rng(0).normal(size=(400, 2))
    assert (
        _count_broken(_mutual_links(one), (one[:, 0] > 0) * 1, 2) == 0
    )  # cut, but in one piece each
    X = groups()
    assert _count_broken(_mutual_links(X), (X[:, 0] > 5) * 1, 2) == 0  # two groups, but not cut


def slabs(**weights):
    """A pair with these weights: at the face, at the centers, and in all other slabs."""
    found = np.full(2 * FACE_BIN + 1, float(weights["rest"]))
    found[FACE_BIN] = weights["face"]
    found[[FACE_BIN - BINS_TO_CENTER, FACE_BIN + BINS_TO_CENTER]] = weights["centers"]
    return CenterPair(0, 1, found)


def test_what_slabs_say_of_a_face():
    assert is_touching(slabs(face=100, centers=300, rest=50))
    assert not is_touching(slabs(face=50, centers=300, rest=50))  # two groups
    assert not is_touching(slabs(face=10, centers=30, rest=1))  # too few rows to tell
    beside = slabs(face=100, centers=300, rest=200)
    assert not _gap_beside_face(beside)
    for at, gap in ((20, 10.0), (-20, 10.0), (20, 50.0)):
        beside.slabs[:] = slabs(face=100, centers=300, rest=200).slabs
        beside.slabs[FACE_BIN + at] = gap
        assert _gap_beside_face(beside) == (gap if gap == 10 else 0)  # 50 is not empty enough
    tail = slabs(face=100, centers=300, rest=200)
    tail.slabs[FACE_BIN + 20 :] = 0  # where a group ends there is no gap
    assert not _gap_beside_face(tail)


# --- laws -----------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_diagnosis():
    X = np.random.default_rng(0).normal(size=(30_000, 2))  # more than any sample
    model = fit(X, 5)
    first, again = (diagnose(model, X, random_state=3) for _ in range(2))
    assert first == again
    assert "in a sample of" in str(first)
    assert first != diagnose(model, X, random_state=4)
    more = KMeans(5, n_init=10, random_state=0, n_threads=2).fit(X)
    assert diagnose(more, X, random_state=3) == first


@pytest.mark.parametrize("kind", ["clean", "one", "moons"])
def test_weights_are_repeats(kind):
    X = {"clean": groups(), "one": np.random.default_rng(1).normal(size=(400, 2))}.get(
        kind, make_moons(400, noise=0.06, random_state=0)[0]
    )
    times = np.random.default_rng(0).integers(0, 4, len(X))
    model = KMeans(3, n_init=5, random_state=0).fit(X, sample_weight=times)
    by_weight = diagnose(model, X, sample_weight=times)
    repeated = diagnose(model, np.repeat(X, times, axis=0))
    assert by_weight.names == tuple(name for name in repeated.names if name != "duplicates")
    for name in by_weight.names:
        assert by_weight[name].clusters == repeated[name].clusters
    for name in {"split-groups", "unstable", "near-faces", "not-convex"} & set(by_weight.names):
        assert by_weight[name].evidence == repeated[name].evidence


def test_more_rows_make_it_more_certain():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = fit(X, 3)
    assert "unstable" in diagnose(model, X)
    assert "unstable" not in diagnose(model, X, sample_weight=np.full(100, 100_000))


def test_only_ratios_of_other_weights_matter():
    X = np.random.default_rng(1).normal(size=(400, 2))
    weight = np.random.default_rng(0).uniform(0.5, 2, 400)
    model = KMeans(3, random_state=0).fit(X, sample_weight=weight)
    first = diagnose(model, X, sample_weight=weight)
    assert first.names == diagnose(model, X, sample_weight=weight * 2.0**-10).names
    assert first


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("unit", [1.0, 2.0**600, 2.0**-600])
def test_offset_and_unit_do_not_matter(offset, unit):
    for X, k in ((groups(), 4), (make_moons(400, noise=0.06, random_state=0)[0], 2)):
        plain = diagnose(fit(X, k), X).names
        other = (X + offset) * unit
        start = (fit(X, k).cluster_centers_ + offset) * unit
        model = SimpleNamespace(cluster_centers_=start)
        assert diagnose(model, other).names == plain


def test_sparse_rows_are_diagnosed_as_dense_ones():
    X = np.maximum(np.random.default_rng(0).normal(size=(500, 6)), 0)
    dense, sparse = (diagnose(fit(X, 3), each) for each in (X, sp.csr_array(X)))
    assert dense.names == sparse.names
    assert dense


def test_float32_is_diagnosed_as_float64():
    X = make_moons(400, noise=0.06, random_state=0)[0].astype(np.float32)
    wide = X.astype(np.float64)
    assert diagnose(fit(X, 2), X).names == diagnose(fit(wide, 2), wide).names


def test_rows_without_weight_do_not_count():
    X = np.concatenate([groups(), [[1e4, 1e4]]])
    weight = np.r_[np.ones(400), 0.0]
    model = KMeans(4, n_init=10, random_state=0).fit(X, sample_weight=weight)
    assert diagnose(model, X, sample_weight=weight).names == ()


@given(
    X=npst.arrays(
        np.float64,
        st.tuples(st.integers(1, 25), st.integers(1, 4)),
        elements=st.one_of(st.integers(-2, 2).map(float), st.floats(-1e300, 1e300)),
    ),
    k=st.integers(1, 5),
)
def test_no_table_is_an_error(X, k):
    centers = X[np.arange(k) % len(X)]
    found = diagnose(SimpleNamespace(cluster_centers_=centers), X)
    assert set(found.names) <= set(found.looked)
    assert max(len(line) for line in str(found).splitlines()) <= 80


@given(
    first=npst.arrays(np.int64, 30, elements=st.integers(0, 3)),
    second=npst.arrays(np.int64, 30, elements=st.integers(0, 3)),
)
def test_agreement_is_symmetric_at_most_one_and_blind_to_numbering(first, second):
    weight = np.ones(30)
    value = adjusted_rand(first, second, weight)
    assert value <= 1 + 1e-12
    assert value == pytest.approx(adjusted_rand(second, first, weight))
    assert value == pytest.approx(adjusted_rand(3 - first, second, weight))
    assert adjusted_rand(first, first, weight) == pytest.approx(1.0)
    twice = np.concatenate([first, first]), np.concatenate([second, second])
    assert value == pytest.approx(adjusted_rand(*twice, np.ones(60)))


# --- every member, and others ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        KMeans(4, n_init=5, random_state=0),
        MiniBatchKMeans(4, n_init=5, random_state=0),
        KMedoids(4, random_state=0),
        KMedoids(4, metric="manhattan", random_state=0),
        KernelKMeans(4, random_state=0),
        Peer(4, n_init=5, random_state=0),
        DBSCAN(eps=1.5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_member_is_clean_on_clean_groups(model):
    X = groups()
    found = diagnose(model.fit(X), X)
    assert found.names == ()
    assert type(model).__name__ in str(found)
    assert len(found.looked) + len(found.skipped) == len(
        _CHECKS
    )  # nothing is passed over in silence


# --- models of others -----------------------------------------------------------------------------


def test_labels_alone_leave_no_cluster_empty():
    X = groups()
    model = Birch(n_clusters=4).fit(X)  # whose subclusters are many more
    assert diagnose(model, X).names == ()
    assert "4 clusters" in str(diagnose(model, X))
    kernel = KernelKMeans(3, random_state=0, empty="keep").fit(X)
    kernel.labels_ = np.where(kernel.labels_ == 2, 1, kernel.labels_)
    assert diagnose(kernel, X)["empty-clusters"].clusters == (2,)  # ours say how many there are


@pytest.mark.parametrize(
    "model", [AffinityPropagation(preference=-500, random_state=0), MeanShift(bandwidth=5.0)]
)
def test_exemplars_and_modes_are_no_means_that_wait_to_be_moved(model):
    rng = np.random.default_rng(0)
    X = groups() + rng.exponential(2, (400, 2))  # whose modes are not their means
    model.fit(X)
    assert len(model.cluster_centers_) < 10
    found = diagnose(model, X)
    assert "not-converged" not in found
    assert "not-converged" in found.looked  # by the number of its iterations
    why = "its centers are not the means of its clusters"
    assert {("unstable", why), ("local-minimum", why)} <= set(found.skipped)


def test_centers_that_are_means_are_treated_so():
    X, weight = groups(), np.random.default_rng(0).integers(1, 9, 400)
    fitted = KMeans(4, n_init=5, random_state=0).fit(X, sample_weight=weight)
    other = SimpleNamespace(cluster_centers_=fitted.cluster_centers_, labels_=fitted.labels_)
    assert "local-minimum" in diagnose(other, X, sample_weight=weight).looked
    other.cluster_centers_ = other.cluster_centers_ + 0.5
    assert "local-minimum" not in diagnose(other, X, sample_weight=weight).looked
    for model in (Peer(4, random_state=0), BisectingKMeans(4, random_state=0)):
        assert "local-minimum" in diagnose(model.fit(X), X).looked


def test_a_tree_of_halves_is_at_rest():
    X = load_iris().data
    model = BisectingKMeans(3, random_state=0).fit(X)
    assert (model.labels_ != Peer(3, init=model.cluster_centers_, max_iter=1).fit(X).labels_).any()
    found = diagnose(model, X)
    assert "not-converged" in found.looked
    assert "not-converged" not in found
    assert dict(found.skipped)["near-faces"].startswith("rows are assigned down a tree")
    assert "not-converged" in dict(diagnose(model, X[:140]).skipped)  # other rows do not tell


def test_a_search_that_found_no_cluster():
    X = groups(40)
    with pytest.warns(ConvergenceWarning):
        model = AffinityPropagation(max_iter=2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="nothing to look at"):
        diagnose(model, X)


def test_what_was_not_looked_for_is_not_claimed(monkeypatch):
    X = groups()
    one = diagnose(fit(X, 1), X)
    why = "there is one cluster only"
    few = ("outliers", "coincident-centers", "elongated-clusters", "few-distinct-rows")
    assert {(name, why) for name in few} <= set(one.skipped)
    line = dict(diagnose(fit(X[:, :1], 2), X[:, :1]).skipped)
    assert line["scale"] == line["elongated-clusters"] == "there is one feature only"
    assert line["correlated-features"] == "fewer than three features vary"
    wide = np.random.default_rng(0).normal(size=(100, 6))
    assert "correlated-features" in diagnose(fit(wide), wide).looked
    monkeypatch.setattr("partita.diagnosis.cluster_shapes.MAX_CLUSTERS_PAIRED", 3)
    monkeypatch.setattr("partita.diagnosis.features.CORRELATED_MAX_FEATURES", 5)
    many = dict(diagnose(fit(wide), wide).skipped)
    assert many["coincident-centers"] == "there are more than 3 clusters"
    assert many["correlated-features"] == "there are more than 5 features"
    assert "distinct rows" in dict(diagnose(fit(wide[:12]), wide[:12]).skipped)["not-convex"]
    labels = dict(diagnose(DBSCAN(eps=1.5).fit(X), X).skipped)
    assert "has no trace" in labels["not-converged"]
    assert "exact sums" in labels["inexact-sums"]


def test_minkowski_with_two_is_euclid():
    X = groups()
    for params, flat in ((None, True), ({"p": 2}, True), ({"p": 3}, False)):
        model = KMedoids(4, metric="minkowski", metric_params=params, random_state=0).fit(X)
        assert ("near-faces" in diagnose(model, X).looked) == flat


def test_directions():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(100, 3)) * 0.1 + axis for axis in np.eye(3)])
    X *= rng.uniform(1, 100, 300)[:, None]
    found = diagnose(SphericalKMeans(3, random_state=0).fit(X), X)
    assert found.names == ()
    assert ("scale", "only the direction of a row counts") in found.skipped
    zero = np.concatenate([X, np.zeros((2, 3))])
    model = SphericalKMeans(3, random_state=0, zero_rows="separate").fit(zero)
    assert diagnose(model, zero).names == ()
    noise = rng.normal(size=(600, 3))
    assert "unstable" in diagnose(SphericalKMeans(5, random_state=0).fit(noise), noise)


def test_matrices_in_place_of_rows():
    X = groups(100)
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    for model, matrix in (
        (KMedoids(4, metric="precomputed", random_state=0), D),
        (KernelKMeans(4, kernel="precomputed", random_state=0), np.exp(-D)),
    ):
        found = diagnose(model.fit(matrix), matrix)
        assert found.names == ()
        assert found.looked == ("not-converged", "empty-clusters")
        assert "a matrix was given in place of rows" in str(found)


def test_other_data_than_that_of_the_fit():
    model = fit(groups())
    assert diagnose(model, groups(300, seed=5)).names == ()
    kernel = KernelKMeans(4, random_state=0).fit(groups())
    assert diagnose(kernel, groups(300, seed=5)).names == ()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables_lend_their_names(library):
    module = pytest.importorskip(library)
    columns = {"length": groups()[:, 0] * 1000, "b": groups()[:, 1]}
    table = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    found = diagnose(fit(table), table)
    assert found["scale"].features == ("length",)
    assert "length" in str(found)


@pytest.mark.parametrize(
    ("model", "X", "weight", "words"),
    [
        (KMeans(2), [[1.0], [2.0]], None, "not fitted yet"),
        (StandardScaler().fit([[1.0]]), [[1.0], [2.0]], None, "is expected"),
        (SimpleNamespace(), [[1.0], [2.0]], None, "is expected"),
        (SimpleNamespace(cluster_centers_=[[1.0, 2.0]]), [[1.0], [2.0]], None, "1 features"),
        (SimpleNamespace(labels_=[0, 1, 1]), [[1.0], [2.0]], None, "data that it was fitted to"),
        (SimpleNamespace(labels_=[-1, -1]), [[1.0], [2.0]], None, "nothing to look at"),
        (SimpleNamespace(cluster_centers_=[[1.0]]), [[np.nan], [2.0]], None, "NaN"),
        (SimpleNamespace(cluster_centers_=[[1.0]]), [[0.0], [2.0]], [1.0], "one per row"),
        (SimpleNamespace(cluster_centers_=[[1.0]]), np.empty((0, 1)), None, "0 sample"),
    ],
)
def test_errors_say_what_to_do(model, X, weight, words):
    with pytest.raises(ValueError, match=words):
        diagnose(model, X, weight)


def test_what_is_not_fitted_is_said_as_elsewhere():
    with pytest.raises(NotFittedError):
        diagnose(KMeans(3), [[1.0], [2.0]])


# --- the record -----------------------------------------------------------------------------------


def test_hostile_names_are_escaped():
    pandas = pytest.importorskip("pandas")
    name = "<script>alert('x')</script>\x1b[31m\n"
    frame = pandas.DataFrame({name: groups()[:, 0] * 1000, "b&c": groups()[:, 1]})
    found = diagnose(fit(frame), frame)
    assert found["scale"].features == (name,)
    html = found._repr_html_()
    assert "<script" not in html
    assert "&lt;script" in html
    assert "\x1b" not in str(found)
    assert "\x1b" not in html
    assert re.sub(r"</?(div|p|dl|dt|dd|b|br|small)>", "", html).count("<") == 0


def test_a_diagnosis_is_a_small_collection():
    note = Finding("b", "what", "evidence", "advice", "note")
    found = Diagnosis("it", (Finding("a", "what", "evidence", "advice"), note), ("a", "b", "c"))
    assert found.names == ("a", "b")
    assert "a" in found
    assert "c" not in found
    assert note in found
    assert list(found) == [found["a"], note]
    assert repr(found) == "Diagnosis of it: 1 warning and 1 note"
    with pytest.raises(KeyError, match="found: a, b"):
        found["c"]
    assert found.to_frame("pandas").shape == (2, 8)
    assert "no problems found; checked: x." in str(Diagnosis("it", (), ("x",)))


def test_warnings_come_first():
    X = np.random.default_rng(0).normal(size=(800, 2))
    kinds = [finding.severity for finding in diagnose(fit(X, 4), X)]
    assert kinds == sorted(kinds, reverse=True)
    assert set(kinds) == {"warning", "note"}


def test_it_is_reached_from_the_package():
    assert partita.diagnose is diagnose
    assert "diagnose" in dir(partita)


def test_a_fit_that_began_where_it_ends_has_converged():
    rows = load_iris().data
    first = KMeans(3, random_state=0).fit(rows)
    again = KMeans(3, init=first, n_init=1).fit(rows)
    assert len(again.trace_) == 1
    assert "not-converged" not in diagnose(again, rows)
    short = KMeans(3, init=rows[:3], n_init=1, max_iter=1).fit(rows)
    assert "not-converged" in diagnose(short, rows)


def test_forgotten_weights_are_not_taken_for_a_fit_that_moves():
    rows = load_iris().data
    weight = np.r_[np.full(50, 100.0), np.ones(100)]
    model = KMeans(3, random_state=0).fit(rows, sample_weight=weight)
    assert "not-converged" not in diagnose(model, rows)
    assert "not-converged" not in diagnose(model, rows, weight)

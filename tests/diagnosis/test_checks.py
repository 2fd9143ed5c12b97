"""Each check reports its limit on data made for it, and nothing on clean data."""

from __future__ import annotations

import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.diagnosis_cases import CORNERS, fit, groups, spirals
from sklearn.datasets import load_iris, load_wine, make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from partita import (
    KernelKMeans,
    KMeans,
    KPrototypes,
    diagnose,
)
from partita.diagnosis.boundary_density import BINS_TO_CENTER, FACE_BIN, CenterPair
from partita.diagnosis.cluster_borders import gap_next_to_face, is_touching
from partita.diagnosis.cluster_shapes import _first_variance
from partita.diagnosis.diagnosis_input import read_fit
from partita.diagnosis.neighbour_graph import _count_broken, _mutual_links, check_convexity
from partita.diagnosis.row_sample import RowSample


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_found_in_clean_groups(seed):
    X = groups(seed=seed)
    assert diagnose(fit(X), X, random_state=seed).names == ()


@pytest.mark.parametrize("d", [1, 3, 20])
def test_nothing_is_found_in_clean_groups_of_any_dimension(d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(300, d)) + 12 * np.repeat(np.arange(3), 100)[:, None]
    assert diagnose(fit(X, 3), X).names == ()


def test_scaled_data_has_no_finding_about_scale():
    for load in (load_iris, load_wine):
        X = StandardScaler().fit_transform(load().data)
        assert diagnose(fit(X, 3), X).names == ()


def test_unequal_sizes_are_no_problem_if_there_is_a_gap():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(3000, 2)), rng.normal([30, 0], 1, (60, 2))])
    assert diagnose(fit(X, 2), X).names == ()


def test_a_feature_on_another_scale():
    frame = load_wine(as_frame=True).data
    found = diagnose(fit(frame, 3), frame)["scale"]
    assert found.features == ("proline",)
    assert found.what == "1 of 13 columns decides the groups nearly alone: proline."
    assert "99.8 % of all squared deviations are in proline: it decides" in found.evidence
    assert found.severity == "warning"


@pytest.mark.parametrize(("factor", "severity"), [(3.0, None), (5.0, "note"), (30.0, "warning")])
def test_scale_is_a_warning_from_an_order_of_magnitude(factor, severity):
    X = groups() * [factor, 1.0]
    found = diagnose(fit(X), X)
    assert (found["scale"].severity if "scale" in found else None) == severity


def test_outliers_in_a_cluster_of_their_own_are_listed():
    X = np.concatenate([groups(), [[90.0, 90.0], [91.0, 90.0]]])
    found = diagnose(fit(X, 5), X)["outliers"]
    assert found.evidence.endswith("typical rows: row 400, row 401.")  # indices, as `rows`
    assert found.rows == (400, 401)
    assert len(found.clusters) == 1


def test_a_small_group_in_small_data_is_not_an_outlier():
    X = np.concatenate([CORNERS, CORNERS + 0.5, CORNERS - 0.5])
    assert "outliers" not in diagnose(fit(X), X)
    three = [[90.0, 90.0], [91.0, 90.0], [90.0, 91.0]]
    for size, expected in ((60, False), (400, True)):  # fifteen in every group, or a hundred
        X = np.concatenate([groups(size), three])
        assert ("outliers" in diagnose(fit(X, 5), X)) == expected


@pytest.mark.heavy
def test_centers_at_the_same_place():
    X = groups()
    centers = np.concatenate([fit(X).cluster_centers_, fit(X).cluster_centers_[:1]])
    twin = SimpleNamespace(cluster_centers_=centers)
    empty = diagnose(twin, X)["empty-clusters"]
    assert empty.clusters == (4,)  # ties go to the lower index
    assert empty.what == "1 of 5 groups has no rows."
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
    sample = RowSample(rows, np.ones(2000), np.zeros(2000, int))
    across = SimpleNamespace(normal=lambda size: np.array([1e-4, 1.0]))  # nearly all of it
    context = SimpleNamespace(d=2, rng=lambda name: across)
    size = np.linalg.eigvalsh(np.cov(rows.T, bias=True))
    ratio, share = _first_variance(context, sample, np.arange(2000))
    assert ratio == pytest.approx(size[1] / size[0], rel=1e-6)
    assert share == pytest.approx(size[1] / size.sum(), rel=1e-6)


@pytest.mark.heavy
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


@pytest.mark.filterwarnings("ignore")
def test_clusters_beyond_the_distinct_rows_get_one_advice():
    X = np.repeat(CORNERS, 20, axis=0)
    found = diagnose(fit(X, 6), X)
    assert [setting.value for each in found for setting in each.settings] == [3]
    assert found["few-distinct-rows"].evidence == (
        "4 distinct rows of 80, 6 clusters, 2 of them without rows."
    )
    assert len(found["few-distinct-rows"].clusters) == 2


def test_nearly_as_many_clusters_as_rows():
    X = groups(60)
    for k, expected in ((15, False), (20, False), (21, True), (59, True)):
        assert ("many-clusters" in diagnose(fit(X, k), X)) == expected
    assert "few-distinct-rows" in diagnose(fit(X, 60), X)
    assert "many-clusters" not in diagnose(fit(X, 60), X)  # which says the same


@pytest.mark.heavy
def test_a_fit_that_did_not_converge():
    X = np.random.default_rng(0).uniform(size=(2000, 2))
    early = KMeans(20, init="random", n_init=1, max_iter=1, random_state=0).fit(X)
    assert "limit of 1 iteration" in diagnose(early, X)["not-converged"].evidence
    rest = KMeans(20, tol=0, random_state=0, max_iter=1000).fit(X)
    assert "not-converged" not in diagnose(rest, X)
    moved = SimpleNamespace(cluster_centers_=rest.cluster_centers_ + 0.02)
    assert "at once" in diagnose(moved, X)["not-converged"].evidence


def test_one_iteration_that_reached_the_means_has_converged():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    X[:5] = 1e4  # so that any step is within the tolerance, a share of the variance
    model = KMeans(2, random_state=0).fit(X)
    assert len(model.trace_) == 1
    assert model.trace_[0].cost_after < 0.9 * model.trace_[0].cost
    assert "not-converged" not in diagnose(model, X)


@pytest.mark.heavy
def test_a_poor_start():
    X = groups()
    stuck = KMeans(4, init=[[-1, 0], [1, 0], [10, 5], [0, 10]], n_init=1).fit(X)
    assert "local-minimum" in diagnose(stuck, X)
    assert "not-convex" not in diagnose(stuck, X)  # a matter of the start, not of the shape


def test_constant_and_correlated_features():
    X = np.c_[groups(), np.full(400, 7.0)]
    found = diagnose(fit(X), X)
    assert found["constant-features"].features == (2,)
    assert found["constant-features"].what == "1 of 3 columns has the same value everywhere."
    X = np.c_[X, np.zeros(400)]
    assert diagnose(fit(X), X)["constant-features"].what.startswith("2 of 4 columns have")
    assert diagnose(fit(X), sp.csr_array(X))["constant-features"].features == (2, 3)
    rng = np.random.default_rng(0)
    one = rng.normal(size=(500, 1))
    X = np.c_[one + 0.01 * rng.normal(size=(500, 4)), rng.normal(size=(500, 2))] + 5
    assert set(diagnose(fit(X, 2), X)["correlated-features"].features) == {0, 1, 2, 3}


@pytest.mark.parametrize("unit", [1e9, 1e13, 1e140])
def test_a_feature_in_a_large_unit_does_not_make_the_others_constant(unit):
    X = np.random.default_rng(0).normal(size=(300, 2)) * [unit, 1]
    found = diagnose(fit(X, 2), X)
    assert found["scale"].features == (0,)
    assert "constant-features" not in found


@pytest.mark.parametrize("value", [0.1, 1e9 + 0.1, 1e-9 / 3])
def test_rounding_does_not_make_a_constant_vary(value):
    X = np.c_[groups(), np.full(400, value)]
    X[::2, 2] = np.nextafter(value, 0)
    found = diagnose(fit(X), X)
    assert found["constant-features"].features == (2,)
    assert "scale" not in found


def test_weights_that_no_grid_holds():
    X, weight = groups(), np.ones(400)
    weight[0] = 1e-12
    found = diagnose(fit(X), X, sample_weight=weight)
    assert "unequal-magnitudes" in found


def test_a_fit_that_starts_at_its_end_has_converged():
    rows = load_iris().data
    first = KMeans(3, random_state=0).fit(rows)
    again = KMeans(3, init=first, n_init=1).fit(rows)
    assert len(again.trace_) == 1
    assert "not-converged" not in diagnose(again, rows)
    short = KMeans(3, init=rows[:3], n_init=1, max_iter=1).fit(rows)
    assert "not-converged" in diagnose(short, rows)


def test_rows_that_move_between_prototypes_at_rest_do_not_show_an_early_end():
    answers = np.random.default_rng(2).choice(["no", "so", "yes"], (300, 6))
    model = KPrototypes(3, n_init=1, random_state=0).fit(answers)
    last = model.trace_[-1]
    assert (last.shift, last.cost_after) == (0, last.cost)
    assert last.moved_points > 3
    assert "not-converged" not in diagnose(model, answers)
    short = KPrototypes(3, n_init=1, max_iter=1, random_state=0).fit(answers)
    assert "not-converged" in diagnose(short, answers)


def test_missing_weights_are_not_mistaken_for_a_fit_that_did_not_converge():
    rows = load_iris().data
    weight = np.r_[np.full(50, 100.0), np.ones(100)]
    model = KMeans(3, random_state=0).fit(rows, sample_weight=weight)
    assert "not-converged" not in diagnose(model, rows)
    assert "not-converged" not in diagnose(model, rows, weight)


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


@pytest.mark.heavy
@pytest.mark.parametrize("shape", SHAPES)
def test_groups_that_are_not_convex(shape):
    for seed in range(3):
        X = SHAPES[shape](seed)
        assert "not-convex" in diagnose(fit(X, 2), X, random_state=seed), seed


@pytest.mark.heavy
@pytest.mark.parametrize("data", ROUND)
@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 40), marks=pytest.mark.slow)])
def test_false_alarms_about_shape_are_rare(data, seeds):
    alarms = 0
    for seed in seeds:
        X, k = ROUND[data](np.random.default_rng(seed))
        alarms += check_convexity(read_fit(fit(X, k), X, None, seed)) is not None
    assert alarms <= 0.05 * len(seeds)


@pytest.mark.heavy
def test_the_advice_on_shape_works():
    for make in (partial(make_circles, factor=0.4), partial(make_circles, factor=0.5), make_moons):
        X, group = make(400, noise=0.05, random_state=0)
        advice = diagnose(fit(X, 2), X)["not-convex"].advice
        recipe = re.search(r"KernelKMeans\(.*?\)\.fit\(X\)", advice)[0]
        model = eval(recipe, {"KernelKMeans": KernelKMeans, "X": X})
        assert adjusted_rand_score(group, model.labels_) >= 0.98


def test_pieces_of_a_cluster_that_continue_in_others():
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


def test_slabs_reveal_touching_groups_and_gaps():
    assert is_touching(slabs(face=100, centers=300, rest=50))
    assert not is_touching(slabs(face=50, centers=300, rest=50))  # two groups
    assert not is_touching(slabs(face=10, centers=30, rest=1))  # too few rows to tell
    beside = slabs(face=100, centers=300, rest=200)
    assert not gap_next_to_face(beside)
    for at, gap in ((20, 10.0), (-20, 10.0), (20, 50.0)):
        beside.slabs[:] = slabs(face=100, centers=300, rest=200).slabs
        beside.slabs[FACE_BIN + at] = gap
        assert gap_next_to_face(beside) == (gap if gap == 10 else 0)  # 50 is not empty enough
    tail = slabs(face=100, centers=300, rest=200)
    tail.slabs[FACE_BIN + 20 :] = 0  # where a group ends there is no gap
    assert not gap_next_to_face(tail)

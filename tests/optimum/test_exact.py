"""`exact`: the best partition, whatever the order, weights, offset and scale of the rows."""

from __future__ import annotations

import csv
import doctest
from itertools import pairwise

import numpy as np
import pytest
from helpers.paths import DOCS
from helpers.real_data import load
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

import partita
from partita import exact
from partita.theory import partitions, sse_of_partition

BLOBS, _ = make_blobs(40, centers=4, n_features=2, random_state=3)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 4), d=st.integers(1, 3))
def test_a_few_rows_are_solved_as_by_enumeration(seed, k, d):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    rows = rng.integers(0, 4, (n, d)) * 10.0 ** rng.integers(-3, 4) + rng.choice([0.0, 1e6])
    weight = rng.integers(0, 4, n).astype(float)
    weight[0] = 1.0
    result = exact(rows, k, sample_weight=weight)
    counted = weight > 0
    best = min(
        sse_of_partition(rows[counted], labels, weight[counted])
        for m in range(1, k + 1)
        for labels in partitions(int(counted.sum()), m)
    )
    assert result.is_proven
    assert result.inertia == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert sse_of_partition(rows[counted], result.labels[counted], weight[counted]) == (
        pytest.approx(best, rel=1e-9, abs=1e-12)
    )


def test_many_features_are_proven_by_the_semidefinite_bound():
    rows = np.random.default_rng(1).normal(size=(60, 9)) + 6 * np.repeat(np.eye(9)[:3], 20, axis=0)
    result = exact(rows, 3, random_state=0)
    assert result.is_proven
    assert result.method.startswith("semidefinite")
    assert result.nodes == 1
    assert result.lower_bound <= result.inertia
    assert exact(rows[::-1], 3, random_state=1).inertia == pytest.approx(result.inertia, rel=1e-12)


@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1), k=st.sampled_from([3, 4]))
def test_order_repeats_and_offsets_change_nothing(seed, k):
    rng = np.random.default_rng(seed)
    rows, weight = rng.normal(size=(18, 2)) + 3 * rng.integers(0, 2, (18, 2)), np.ones(18)
    weight[:4] = 2
    result = exact(rows, k, sample_weight=weight, random_state=0)
    order = rng.permutation(18)
    shuffled = exact(rows[order], k, sample_weight=weight[order], random_state=1)
    np.testing.assert_array_equal(result.labels[order], shuffled.labels)
    repeated = exact(np.repeat(rows, weight.astype(int), axis=0), k, random_state=0)
    np.testing.assert_array_equal(np.repeat(result.labels, weight.astype(int)), repeated.labels)
    moved = exact(1e3 * (rows + 1024.0), k, sample_weight=weight, random_state=0)
    np.testing.assert_array_equal(result.labels, moved.labels)
    for other in (shuffled, repeated):
        assert other.inertia == pytest.approx(result.inertia, rel=1e-12)
    assert moved.inertia == pytest.approx(1e6 * result.inertia, rel=1e-9)
    assert all(one.is_proven for one in (result, shuffled, repeated, moved))


def test_more_clusters_never_cost_more():
    costs = [exact(BLOBS, k, random_state=0) for k in range(1, 7)]
    assert all(result.is_proven for result in costs)
    assert all(b.inertia < a.inertia for a, b in pairwise(costs))


def test_a_line_in_the_plane_is_solved_as_one_feature():
    x = np.random.default_rng(4).normal(size=30)
    line = exact(x[:, None], 3)
    plane = exact(np.column_stack([x, 2 * x]), 3, random_state=0)
    np.testing.assert_array_equal(line.labels, plane.labels)
    assert line.method == "dynamic programming"
    assert plane.is_proven
    assert plane.inertia == pytest.approx(5 * line.inertia, rel=1e-9)


def test_centers_are_the_means_and_labels_follow_their_order():
    result = exact(BLOBS, 4, random_state=0)
    means = [BLOBS[result.labels == j].mean(axis=0) for j in range(4)]
    np.testing.assert_allclose(result.centers, means)
    assert np.all(np.diff(result.centers[:, 0]) > 0)


def test_a_stopped_search_has_a_valid_bound():
    whole = exact(BLOBS, 5, random_state=0)
    seen = []

    def stop(progress):
        seen.append(progress)
        return True

    stopped = exact(BLOBS, 5, random_state=0, callback=stop)
    assert len(seen) == 1
    assert 0 < stopped.lower_bound <= whole.inertia
    assert seen[0].lower_bound <= whole.inertia


def test_an_interrupt_loses_nothing():
    def interrupt(progress):
        raise KeyboardInterrupt

    result = exact(BLOBS, 5, random_state=0, callback=interrupt)
    assert 0 < result.lower_bound <= exact(BLOBS, 5, random_state=0).inertia <= result.inertia


def test_a_time_limit_ends_the_search():
    rows = np.random.default_rng(0).normal(size=(300, 6))
    result = exact(rows, 8, random_state=0, time_limit=1e-3)
    assert not result.is_proven
    assert 0 < result.lower_bound < result.inertia
    assert "not proven optimal" in repr(result)


def test_the_result_is_a_sentence():
    text = repr(exact([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0], [6.0, 5.0]], 2))
    assert text.startswith("4 rows in 2 clusters: J = 1 is the least possible")
    assert "enumeration" in text


def test_equal_rows_and_many_clusters_cost_nothing():
    result = exact(np.ones((5, 3)), 2)
    assert (result.inertia, result.gap, result.is_proven) == (0.0, 0.0, True)
    assert result.labels.tolist() == [0] * 5
    assert exact(BLOBS[:6], 6).inertia == 0.0


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"k": 0}, "`k` must be an integer >= 1"),
        ({"k": 99}, "99"),
        ({"k": 2, "time_limit": 0}, "`time_limit`"),
        ({"k": 2, "sample_weight": [1.0]}, "sample_weight"),
    ],
)
def test_wrong_arguments_raise(keywords, message):
    with pytest.raises(ValueError, match=message):
        exact(BLOBS, **keywords)


def test_missing_values_raise():
    with pytest.raises(ValueError, match="NaN"):
        exact(np.full((5, 2), np.nan), 2)


def known_optima(folder, name):
    with open(folder / "optima_kmeans.csv") as file:
        return {
            int(row["k"]): float(row["sse"]) for row in csv.DictReader(file) if row["file"] == name
        }


CASES = [("cran_cluster/ruspini", k) for k in range(2, 11)]
CASES += [("hgmeans/iris", k) for k in range(2, 11)] + [("hgmeans/german", k) for k in range(2, 8)]


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(("name", "k"), CASES)
def test_published_optima_are_proven(data_folder, name, k):
    result = exact(load(data_folder, name), k, random_state=0)
    optimum = known_optima(data_folder, name)[k]
    assert result.is_proven
    assert result.inertia == pytest.approx(optimum, rel=1e-9)
    assert result.lower_bound <= optimum


def test_the_page_prints_what_it_claims():
    outcome = doctest.testfile(str(DOCS / "exact.md"), module_relative=False, encoding="utf-8")
    assert outcome.failed == 0
    assert outcome.attempted >= 5


def test_the_names_are_exported():
    assert partita.exact is exact
    assert {"exact", "ExactResult", "ExactProgress"} <= set(partita.__all__)


def test_far_points_cost_near_ones_no_digits():
    near = np.array([[0, 0], [1e-6, 0], [1.1e-6, 0], [1e12, 0], [0, 1e12]])
    result = exact(near, 4)
    assert result.labels[1] == result.labels[2]
    assert result.lower_bound <= 5.1e-15


@pytest.mark.parametrize("ratio", [1e2, 2e2, 1e3, 1e5])
def test_groups_far_apart_are_proven(ratio):
    rng = np.random.default_rng(0)
    corners = ratio * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    rows = rng.normal(size=(30, 2)) + np.repeat(corners, 10, axis=0)
    assert exact(rows, 3, random_state=0).is_proven


@pytest.mark.parametrize("heavy", [1e18, 1e60])
def test_weights_beyond_all_proportion_end_the_search(heavy):
    rows, weight = BLOBS[:12], np.ones(12)
    weight[:4] = heavy
    result = exact(rows, 5, sample_weight=weight, time_limit=20)
    assert 0 <= result.lower_bound <= result.inertia


@pytest.mark.parametrize("scale", [1e-170, 1e170])
def test_squares_beyond_doubles_are_refused(scale):
    for ask in (lambda X: exact(X, 3), lambda X: partita.certify(X, np.arange(len(X)) % 3)):
        with pytest.raises(ValueError, match="Rescale X"):
            ask(BLOBS * scale)
    with pytest.raises(ValueError, match="`sample_weight` must be between"):
        exact(BLOBS, 3, sample_weight=np.full(len(BLOBS), 1e200))


def test_an_optimum_on_a_line_is_claimed_only_if_rounding_leaves_it():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=20), rng.normal(size=20) + 1e12])[:, None]
    certificate = partita.certify(x, np.repeat([0, 1], 20))
    assert certificate.kind == "rigorous" or certificate.is_optimal
    x, weight = np.append(rng.normal(size=60), 1e30)[:, None], np.append(np.ones(60), 1e-30)
    model = partita.KMeans(10, quality="best", random_state=0, n_init=1)
    assert model.fit(x, sample_weight=weight).stopped_by_.kind != "optimum"


def test_an_unproven_result_says_how_much_lower_the_optimum_may_be():
    result = exact(np.random.default_rng(0).normal(size=(400, 6)), 8, time_limit=0.01)
    assert "not proven optimal" in repr(result)
    assert "lower" in repr(result)
    assert repr(exact(np.zeros((5, 2)), 2)).startswith("5 rows in 1 cluster:")

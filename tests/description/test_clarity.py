"""The grade: clear groups are called clear, one cloud is not, whatever its dimension."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from partita import KernelKMeans, KMeans, KMedoids, SphericalKMeans, choose_k, describe
from partita.description.clarity import (
    GRADE_BLURRED,
    GRADE_CLEAR,
    GRADE_MOSTLY,
    GRADE_NONE,
    GRADE_OVERLAPPING,
    GRADES,
    LIMITS_BY_FINDING,
    MAX_DOUBTFUL,
    grade_borders,
    grade_silhouette,
)
from partita.diagnosis.boundary_density import relative_margins
from partita.diagnosis.cluster_borders import NEAR_MARGIN
from partita.diagnosis.row_sample import RowSample
from partita.report import Fitted, summarise


def groups(d, distance, n=1200, k=4, seed=0):
    """k normal groups of unit spread whose centers are pairwise that far apart."""
    rng = np.random.default_rng(seed)
    centers = distance / np.sqrt(2) * np.eye(k, max(d, k))
    return centers[rng.integers(0, k, n)] + rng.normal(size=(n, max(d, k)))


def grade_of(X, k):
    return describe(KMeans(k, n_init=5, random_state=0).fit(X), X).grade


@pytest.mark.parametrize("d", [4, 20, 60])
def test_groups_far_apart_are_clear_in_any_dimension(d):
    assert grade_of(groups(d, 7.0), 4) == GRADE_CLEAR


@pytest.mark.parametrize("d", [4, 20])
def test_the_nearer_the_groups_the_lower_the_grade(d):
    found = [GRADES.index(grade_of(groups(d, apart), 4)) for apart in (8.0, 4.6, 3.8, 2.0)]
    assert found == sorted(found)
    assert found[0] == 0
    assert found[-1] == GRADES.index(GRADE_BLURRED)


@pytest.mark.parametrize(("n", "d"), [(200, 2), (2000, 2), (178, 13), (200, 50), (100, 500)])
@pytest.mark.parametrize("draw", ["normal", "uniform"])
def test_one_cloud_that_is_cut_is_never_called_separate(n, d, draw):
    X = getattr(np.random.default_rng(0), draw)(size=(n, d))
    for k in (2, 4):
        assert GRADES.index(grade_of(X, k)) >= GRADES.index(GRADE_OVERLAPPING)


FINDINGS = st.sets(st.sampled_from([*LIMITS_BY_FINDING, "outliers"]))


@given(st.floats(0, 1), st.floats(0, 1), FINDINGS)
def test_more_doubt_never_gives_a_better_grade(doubtful, borderless, findings):
    rank = lambda *args: GRADES.index(grade_borders(*args).grade)  # noqa: E731
    here = rank(doubtful, borderless, findings)
    assert here <= rank(min(1.0, doubtful + 0.05), borderless, findings)
    assert here <= rank(doubtful, 1.0, findings)
    assert here <= rank(doubtful, borderless, {*findings, "unstable"})
    assert here >= max(
        (GRADES.index(LIMITS_BY_FINDING[f][0]) for f in findings - {"outliers"}), default=0
    )
    assert (rank(doubtful, 0.0) == 0) == (doubtful <= MAX_DOUBTFUL[GRADE_CLEAR])


def test_silhouettes_grade_where_there_are_no_borders():
    grades = [grade_silhouette(s).grade for s in (0.9, 0.6, 0.3, 0.1, -0.5)]
    assert grades == [GRADE_CLEAR, GRADE_MOSTLY, GRADE_OVERLAPPING, GRADE_BLURRED, GRADE_BLURRED]
    assert grade_silhouette(0.9, {"unstable"}).grade == GRADE_OVERLAPPING


def test_a_row_does_not_vouch_for_itself():
    """Two rows alone in their groups are nearest to their own centers, which they are."""
    square = np.array([[0.0, 4.0], [4.0, 0.0]])
    apart = np.array([[0.0, 2.0], [2.0, 0.0]])
    weight = np.array([1.0, 1.0])
    two = RowSample(None, weight, np.array([0, 1]))
    assert not (relative_margins(square, apart, two, weight)[0] <= NEAR_MARGIN).any()
    # of two rows at ±1 about their mean, one left out moves the mean to the other
    square = np.array([[1.0, 3.0], [1.0, 25.0], [9.0, 0.0], [9.0, 0.0]])
    four = RowSample(None, np.ones(4), np.array([0, 0, 1, 1]))
    near = relative_margins(square, apart, four, np.array([2.0, 2.0]))[0] <= NEAR_MARGIN
    assert near.tolist() == [True, False, False, False]


def test_no_structure_is_no_groups():
    X = np.random.default_rng(0).normal(size=(300, 3))
    sweep = choose_k(X, random_state=0)
    found = summarise(Fitted(sweep.model(), X, sweep=sweep, source="noise.csv"))
    assert found.grade == GRADE_NONE
    assert found.sentence == "No clusters in noise.csv"


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "model",
    [
        SphericalKMeans(3, random_state=0),
        KMedoids(3, metric="manhattan", random_state=0),
        KernelKMeans(3, random_state=0),
        KMeans(1),
    ],
    ids=lambda model: f"{type(model).__name__} {model.n_clusters}",
)
def test_every_member_has_a_grade_and_a_reason_or_says_neither(model):
    X = load_iris().data
    found = describe(model.fit(X), X)
    assert found.grade in (*GRADES, "unknown")
    assert bool(found.reason) == (found.grade != "unknown")

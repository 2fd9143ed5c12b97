"""The recommendation: votes, rules, and the test for structure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.choosing_cases import blobs
from helpers.slow_cases import slow
from hypothesis import given, settings
from hypothesis import strategies as st

from partita import (
    KMedoids,
    choose_k,
)
from partita.choosing.gap_reference import (
    GapComparison,
    SweepCurve,
    independent_categories,
    reference_data,
    uniform_box,
)
from partita.choosing.recommendation import compare_structure, count_votes, recommend, voters
from partita.choosing.stability import SplitAgreement, prediction_strength
from partita.choosing.sweep import Criterion
from partita.metrics.criteria import adjusted_rand


@pytest.mark.heavy
@pytest.mark.parametrize("count", [3, 8, *slow(2, 5)])
def test_separated_clusters_are_found(count):
    rng = np.random.default_rng(count)
    angle = 2 * np.pi * np.arange(count) / count
    middle = 4 * count * np.column_stack([np.cos(angle), np.sin(angle)])
    rows = np.repeat(middle, 60, axis=0) + rng.normal(size=(60 * count, 2))
    sweep = choose_k(rows, random_state=0)
    assert sweep.best_k == count
    assert sweep.structure is True
    assert f"{count} clusters" in sweep.verdict


def cloud(seed, kind, n, d):
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(n, d)) if kind == "uniform" else rng.normal(size=(n, d))


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("d", [2, 10, 50])
@pytest.mark.parametrize("seed", [0, *slow(1, 2)])
def test_data_without_structure_is_recognised(seed, kind, d):
    rows = cloud(seed, kind, 150, d)
    sweep = choose_k(rows, random_state=seed, criteria=["silhouette", "gap"])
    assert sweep.structure is False
    assert sweep.best_k == 1
    assert sweep.verdict.startswith("No cluster structure")
    assert sweep.model().n_clusters == 1


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 500, 1000])
@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("d", [2, 10, 50])
def test_at_most_one_in_twenty_false_alarms(kind, d, n):
    alarms = sum(
        choose_k(
            cloud(seed, kind, n, d), random_state=seed, criteria=["silhouette", "gap"]
        ).structure
        for seed in range(40)
    )
    assert alarms <= 2


@pytest.mark.heavy
@pytest.mark.parametrize(
    "rows",
    [
        np.random.default_rng(0).standard_t(3, (400, 2)),  # outliers make large silhouettes
        np.random.default_rng(1).uniform(size=(400, 2)) * [30, 1],  # a long box
        np.random.default_rng(2).normal(size=(400, 5)) @ np.diag([9.0, 3, 1, 1, 1]),
        np.ones((50, 3)),
    ],
    ids=["heavy tails", "long", "flat", "all the same"],
)
def test_heavy_tails_and_long_boxes_are_not_structure(rows):
    assert choose_k(rows, range(2, 12), random_state=0).structure is False


@pytest.mark.heavy
@pytest.mark.parametrize("metric", ["hamming", "jaccard", "euclidean", None])
def test_independent_categories_are_not_structure(metric):
    rows = (np.random.default_rng(0).random((120, 10)) < 0.5).astype(float)
    estimator = None if metric is None else KMedoids(metric=metric, random_state=0)
    assert choose_k(rows, 6, estimator=estimator, random_state=0).structure is False


@pytest.mark.heavy
def test_correlated_categories_are_structure():
    rng = np.random.default_rng(0)
    profiles = rng.integers(0, 2, (3, 20))
    rows = np.where(rng.random((150, 20)) < 0.1, 1, 0) ^ np.repeat(profiles, 50, axis=0)
    sweep = choose_k(rows, 8, estimator=KMedoids(metric="hamming"), random_state=0)
    assert sweep.structure is True
    assert sweep.best_k == 3


def test_references_are_categorical_if_the_data_is():
    rng = np.random.default_rng(0)
    measured, classes = rng.normal(size=(200, 3)), rng.integers(0, 5, (200, 3)).astype(float)
    assert len(np.unique(reference_data(measured, True)(rng))) == 600
    assert set(np.unique(reference_data(classes, True)(rng))) == set(range(5))
    mixed = independent_categories(np.column_stack([classes, measured[:, 0]]))(rng)
    assert set(np.unique(mixed[:, :3])) == set(range(5))
    assert len(np.unique(mixed[:, 3])) == 200
    assert abs(np.corrcoef(mixed.T)[0, 1]) < 0.3


def test_structure_does_not_depend_on_ks():
    sweep = choose_k(blobs(), [2, 3], random_state=0)
    assert sweep.structure is True
    assert sweep.best_k == 3
    assert "the largest number tried" in sweep.verdict


def test_structure_is_unknown_without_the_gap_statistic():
    sweep = choose_k(blobs(), range(2, 6), random_state=0, criteria=["silhouette"])
    assert sweep.structure is None
    assert sweep.best_k == 4
    assert list(sweep.criteria) == ["inertia", "silhouette"]


def column(name, values, better="high", pick=None):
    return Criterion(name, np.array(values, dtype=float), None, pick, better, "")


def test_a_k_ranked_second_by_all_beats_one_ranked_first_by_a_single_criterion():
    ks = np.array([2, 3, 4])
    table = {
        "inertia": column("inertia", [9, 5, 4], "elbow", 3),
        "silhouette": column("silhouette", [0.9, 0.8, 0.1], pick=2),
        "calinski_harabasz": column("calinski_harabasz", [1, 8, 9], pick=4),
        "davies_bouldin": column("davies_bouldin", [9, 2, 1], "low", 4),
        "bic": column("bic", [np.nan, 1, 2], "low", 3),
        "prediction_strength": column("prediction_strength", [1, 0.9, 0.2], "rule", 3),
    }
    assert count_votes(ks, table).tolist() == [1 + 2 / 3, 3.5, 1 / 3 + 1 + 1 + 1 / 2]
    found = recommend(ks, table, None)
    assert found.best == 3
    assert found.ranking == (3, 4, 2)
    assert any("Calinski-Harabasz and Davies-Bouldin choose 4" in why for why in found.reasons)


@pytest.mark.parametrize("name", ["gap", "inertia", "prediction_strength", "stability"])
def test_a_single_criterion_decides(name):
    sweep = choose_k(blobs(), range(2, 8), criteria=name, random_state=0)
    assert sweep.best_k == sweep.criteria[name].pick == 4


def test_among_equally_stable_numbers_the_largest_is_taken():
    ks = np.array([2, 3, 4, 5])
    table = {
        "inertia": column("inertia", [9, 5, 4, 3], "elbow", 3),
        "stability": column("stability", [1, 1, 1, 0.5], pick=2),
    }
    assert recommend(ks, table, None).best == 4


def test_a_criterion_without_values_has_no_vote():
    ks = np.array([2, 3, 4])
    table = {
        "inertia": column("inertia", [9, 5, 0], "elbow", 3),
        "silhouette": column("silhouette", [0.9, 0.8, 0.1], pick=2),
        "bic": column("bic", [5, 4, -np.inf], "low", 4),
        "stability": column("stability", [np.nan, np.nan, -0.02], pick=4),
    }
    assert voters(table) == ["silhouette", "bic"]
    assert count_votes(ks, table).tolist() == [1 + 1 / 3, 1 / 2 + 1 / 2, 1 / 3 + 1]
    assert count_votes(ks, table, max_comparable=3).tolist() == [1 + 1 / 2, 1 / 2 + 1, 0]


def test_scale_and_outliers_are_remarked():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)) * [1, 1, 50], columns=["a", "b", "income"])
    long = choose_k(frame, 5, random_state=0, criteria="silhouette")
    assert any("squared deviations are in income: it decides" in text for text in long.reasons)
    rows = np.vstack([blobs(), [[1e4, 1e4]]])
    far = choose_k(rows, 5, random_state=0, criteria="silhouette")
    assert any("holds 1 of 301 rows: outliers?" in reason for reason in far.reasons)
    clean = choose_k(blobs(), 5, random_state=0, criteria="silhouette")
    assert not any("outliers" in reason or "variance" in reason for reason in clean.reasons)


def test_irreproducible_halves_are_a_reason_for_caution():
    table = {
        "inertia": column("inertia", [9, 5, 4], "elbow", 3),
        "silhouette": column("silhouette", [0.9, 0.8, 0.1], pick=2),
        "prediction_strength": column("prediction_strength", [0.5, 0.4, 0.2], "rule", 1),
    }
    found = recommend(np.array([2, 3, 4]), table, None)
    assert any("reproducible across random halves" in reason for reason in found.reasons)


def test_the_gap_rule_takes_the_first_k_that_the_next_does_not_beat_by_its_error():
    curves = tuple(SweepCurve(np.log([10, 8, 6, 5]) + s, np.zeros(4)) for s in (-0.1, 0.0, 0.1))
    data = SweepCurve(np.log([10, 4, 2.9, 2.4]), np.zeros(4))
    found = GapComparison(np.arange(1, 5), data, curves)
    gap = np.log([10, 8, 6, 5]) - np.log([10, 4, 2.9, 2.4])
    error = np.sqrt(0.02 / 3) * np.sqrt(4 / 3)
    assert found.gap == pytest.approx(gap)
    assert found.error == pytest.approx(np.full(4, error))
    assert found.pick(np.array([2, 3, 4])) == 2  # 0.693 >= 0.727 - 0.094
    assert found.pick(np.array([3, 4])) == 3


def test_structure_needs_silhouettes_and_a_decreasing_objective():
    ks, flat = np.arange(1, 4), np.log([9.0, 6, 5])
    theirs = tuple(
        SweepCurve(flat + np.array([0, s, s]), np.array([0, 0.4 + s, 0.3]))
        for s in (-0.01, 0, 0.01)
    )

    def found(cost, silhouette):
        data = SweepCurve(np.log(cost), np.array([0, *silhouette]))
        return compare_structure(GapComparison(ks, data, theirs)).found

    assert found([9, 2, 1], [0.8, 0.7])
    assert not found([9, 6, 5], [0.8, 0.7])
    assert not found([9, 2, 1], [0.42, 0.3])
    assert not found([9, 2, 1], [0.435, 0.3])  # beyond the errors, but not by a tenth


def test_references_lie_in_the_box_along_the_principal_axes():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rows = rng.uniform(-1, 1, (500, 3)) * [9, 3, 1] @ turn + 100
    drawn = uniform_box(rows, rotate=True)(rng)
    spread = (drawn - 100) @ turn.T
    assert np.abs(spread).max(axis=0) == pytest.approx([9, 3, 1], rel=0.15)
    alone = uniform_box(rows, rotate=False)(rng)
    assert np.ptp(alone, axis=0) == pytest.approx([18, 6, 2], rel=0.15)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 25))
@settings(max_examples=60, deadline=None)
def test_prediction_strength_is_the_least_share_of_pairs(seed, n):
    rng = np.random.default_rng(seed)
    own, there = rng.integers(0, 4, n), rng.integers(0, 3, n)
    shares = []
    for j in np.unique(own):
        rows = np.flatnonzero(own == j)
        pairs = [there[a] == there[b] for a in rows for b in rows if a != b]
        if pairs:
            shares.append(np.mean(pairs))
    assert prediction_strength(own, there) == pytest.approx(min(shares) if shares else 1.0)
    repeats = rng.integers(1, 4, n)
    often = prediction_strength(np.repeat(own, repeats), np.repeat(there, repeats))
    assert 0 <= often <= 1


def test_the_pick_of_prediction_strength_is_by_its_mean():
    ks, strength = np.array([2, 3, 4]), np.array([[0.98, 0.8, 0.5], [0.84, 0.96, 0.52]])
    agreement = SplitAgreement(ks, strength, strength)
    assert agreement.pick() == 2  # 0.88 ± 0.08 for 3: noise is no argument for a K
    assert SplitAgreement(ks[1:], strength[:, 1:], strength[:, 1:]).pick() == 1
    assert SplitAgreement(ks, np.ones((2, 3)), strength).pick(max_k=3) == 3


@given(seed=st.integers(0, 1000), n=st.integers(2, 30))
@settings(max_examples=50, deadline=None)
def test_the_adjusted_rand_index_of_repeats_is_that_of_weights(seed, n):
    rng = np.random.default_rng(seed)
    one, other, often = rng.integers(0, 4, (3, n))
    often += 1
    ones = adjusted_rand(one, other, np.ones(n))
    weighted = adjusted_rand(one, other, often)
    repeated = adjusted_rand(
        np.repeat(one, often), np.repeat(other, often), np.ones(int(often.sum()))
    )
    assert weighted == pytest.approx(repeated)
    if n > 25 and len(np.unique(one)) > 1:
        assert ones == pytest.approx(adjusted_rand(one, other), abs=0.25)
    assert adjusted_rand(one, one, often) == pytest.approx(1.0)

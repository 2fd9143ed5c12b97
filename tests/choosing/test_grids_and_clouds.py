"""Counts, grades and skewed features: neither a grid nor a dense corner is a group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from partita import choose_k
from partita.choosing.unimodal_reference import unimodal_cloud, unimodal_quantiles
from partita.choosing.value_grid import count_comparable, grid_variance, is_on_grid

EVENLY = (np.arange(20_000) + 0.5) / 20_000


def standardised(rows):
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


@st.composite
def columns(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n = draw(st.integers(2, 300))
    return {
        "normal": lambda: rng.normal(size=n),
        "two groups": lambda: rng.normal(size=n) + 9 * rng.integers(0, 2, n),
        "counts": lambda: rng.poisson(2.0, n).astype(float),
        "far counts": lambda: rng.poisson(2.0, n) + 100.0 * rng.integers(0, 2, n),
        "zeros": lambda: np.where(rng.random(n) < 0.5, 0.0, rng.exponential(size=n)),
        "outlier": lambda: np.append(rng.normal(size=n), 1e9),
        "constant": lambda: np.full(n, 7.0),
    }[draw(st.sampled_from(["normal", "two groups", "counts", "far counts", "zeros", "outlier",
                            "constant"]))]()  # fmt: skip


@given(column=columns())
@settings(max_examples=80, deadline=None)
def test_quantiles_rise_within_the_range_of_the_values(column):
    quantiles = unimodal_quantiles(column)(np.linspace(0, 1, 101))
    assert np.isfinite(quantiles).all()
    assert (np.diff(quantiles) >= 0).all()
    margin = np.diff(np.unique(column)).max(initial=0)
    assert quantiles[0] >= column.min() - margin
    assert quantiles[-1] <= column.max() + margin


@pytest.mark.parametrize("shape", ["normal", "exponential", "uniform", "poisson"])
def test_one_peak_is_kept(shape):
    rng = np.random.default_rng(0)
    column = getattr(rng, shape)(size=2000).astype(float)
    drawn = unimodal_quantiles(column)(EVENLY)
    ours, theirs = (np.quantile(some, [0.05, 0.25, 0.5, 0.75, 0.95]) for some in (drawn, column))
    np.testing.assert_allclose(ours, theirs, atol=0.15 * column.std())


def test_two_peaks_become_one():
    rng = np.random.default_rng(0)
    column = np.append(rng.normal(size=500), rng.normal(size=500) + 8)
    drawn = unimodal_quantiles(column)(EVENLY)
    between = (drawn > 3) & (drawn < 5)  # where the data has 2 of 1000 rows
    assert between.mean() > 0.1


def test_counts_stay_on_their_grid():
    rng = np.random.default_rng(0)
    column = rng.poisson(2.0, 1000) + 20.0 * rng.integers(0, 2, 1000)
    drawn = np.unique(unimodal_quantiles(column)(EVENLY))
    np.testing.assert_array_equal(drawn, np.rint(drawn))
    assert ((drawn > 10) & (drawn < 20)).any()  # the gap between two groups is filled


def test_a_cloud_has_the_correlations_of_the_data():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(1000, 1))
    rows = np.hstack([common + 0.5 * rng.normal(size=(1000, 2)), rng.exponential(size=(1000, 1))])
    drawn = unimodal_cloud(np.hstack([rows, np.ones((1000, 1))]))(rng)
    assert drawn.shape == (1000, 4)
    assert (drawn[:, 3] == 1).all()
    ours, theirs = (np.corrcoef(some.T) for some in (drawn[:, :3], rows))
    np.testing.assert_allclose(ours, theirs, atol=0.1)


def test_a_grid_has_several_rows_for_each_of_three_values_or_more():
    assert is_on_grid(np.arange(5), 50)
    assert not is_on_grid(np.arange(5), 49)
    coin, grades = np.tile([0.0, 1.0], 50), np.tile([0.0, 2, 4, 6, 40], 20)
    assert grid_variance(coin[:, None]) == 0.0
    assert grid_variance(np.column_stack([coin, grades])) == pytest.approx(4 / 12)
    assert grid_variance(np.random.default_rng(0).normal(size=(100, 2))) == 0.0
    assert count_comparable([5.0, 3.0, 2.0], grid=0.0) == 3


SHAPES = {
    "exponential": lambda rng: rng.exponential(size=(500, 4)),
    "counts": lambda rng: rng.poisson([0.7, 2.0, 5.0], (500, 3)),
    "grades": lambda rng: rng.integers(1, 6, (500, 4)),
    "coins": lambda rng: np.hstack([rng.normal(size=(500, 3)), rng.integers(0, 2, (500, 2))]),
    "zeros": lambda rng: np.where(rng.random((500, 4)) < 0.4, 0, rng.exponential(size=(500, 4))),
}


@pytest.mark.heavy
@pytest.mark.parametrize("shape", SHAPES)
def test_skewed_features_and_grids_are_no_structure(shape):
    rows = standardised(SHAPES[shape](np.random.default_rng(0)).astype(float))
    sweep = choose_k(rows, random_state=0, n_splits=1, criteria=["calinski_harabasz", "gap"])
    assert sweep.structure is False
    assert sweep.best_k == 1


@pytest.mark.heavy
@pytest.mark.parametrize("profiles", [[[1, 1], [4, 5], [5, 1]], [[2, 8, 5], [8, 3, 1], [9, 9, 9]]])
def test_groups_of_grades_are_found_not_the_grades(profiles):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 600)
    rows = np.rint(np.array(profiles)[truth] + 0.7 * rng.normal(size=(600, len(profiles[0]))))
    sweep = choose_k(standardised(rows), random_state=0)
    assert sweep.best_k == 3
    assert adjusted_rand_score(truth, sweep.model().labels_) > 0.9
    assert any("values on a grid" in reason for reason in sweep.reasons)


@pytest.mark.parametrize("count", [3, 5])
def test_a_few_distinct_rows_are_the_clusters(count):
    rows = np.repeat(np.random.default_rng(0).normal(size=(count, 3)), 40, axis=0)
    sweep = choose_k(rows, range(2, 9), random_state=0, n_references=4, n_splits=2)
    assert sweep.best_k == count
    assert not any("reproducible" in reason for reason in sweep.reasons)


def test_uneven_values_are_a_grid_if_features_combine_them():
    rng = np.random.default_rng(0)
    free, fixed = np.log(rng.integers(1, 9, (500, 2))), np.log([[1.0, 5], [3, 2], [7, 4], [2, 8]])
    assert grid_variance(free) > 0
    assert grid_variance(np.repeat(fixed, 100, axis=0)) == 0


@pytest.mark.parametrize("weight", [0.001, 2.5, 100.5])
def test_equal_weights_of_any_size_change_nothing(weight):
    rng = np.random.default_rng(0)
    rows = np.rint(np.repeat([[2.0, 2.0], [6.0, 5.0]], 100, axis=0) + rng.normal(size=(200, 2)))
    how = {"random_state": 0, "n_references": 3, "n_splits": 1}
    plain, weighted = (choose_k(rows, 8, sample_weight=w, **how) for w in (None, [weight] * 200))
    assert weighted.best_k == plain.best_k == 2
    assert weighted.reasons == plain.reasons


@pytest.mark.heavy
def test_neither_seed_nor_range_changes_the_answer():
    rng = np.random.default_rng(1)
    truth = rng.choice(5, 500, p=[0.35, 0.25, 0.20, 0.15, 0.05])
    rows = standardised(6 * rng.normal(size=(5, 4))[truth] + rng.normal(size=(500, 4)))
    answers = {
        choose_k(rows, top, random_state=seed, n_references=5, n_splits=3).best_k
        for top, seed in [(8, 0), (12, 1), (10, 2), (20, 3)]
    }
    assert answers == {5}

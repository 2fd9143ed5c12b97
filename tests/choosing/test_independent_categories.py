"""Tables with categories: independent columns are no structure, and groups are still found."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from helpers.category_tables import table_with_categories
from helpers.messy_table import messy_table
from helpers.slow_cases import slow
from hypothesis import given, settings
from hypothesis import strategies as st

from partita import KMedoids, KPrototypes, choose_k
from partita.choosing.independent_categories import cloud_with_gaps, shuffled_table
from partita.source.column_table import column_table

# columns count about alike, as on the command line: else numbers that are noise hide categories
ESTIMATORS = {"prototypes": KPrototypes(gamma=3.0, n_init=3), "gower": KMedoids(metric="gower")}


def sweep_of(frame, method):
    criteria = ["silhouette", "simplified_silhouette", "gap"]
    parameters = {"criteria": criteria, "n_references": 5, "random_state": 0}
    return choose_k(frame, range(2, 8), estimator=ESTIMATORS[method], **parameters)


def independent_columns(kind, seed, n=250):
    rng = np.random.default_rng(seed)
    p, q = (2, 2) if kind == "mixed" else (0, 6)
    numbers = {f"x{t}": rng.normal(size=n) for t in range(p)}
    return pd.DataFrame(numbers | {f"c{t}": rng.choice(list("abcd"), n) for t in range(q)})


@pytest.mark.parametrize("method", ESTIMATORS)
@pytest.mark.parametrize("kind", ["mixed", "categories"])
@pytest.mark.parametrize("seed", [0, *slow(*range(1, 12))])
def test_independent_columns_are_not_structure(method, kind, seed):
    sweep = sweep_of(independent_columns(kind, seed), method)
    assert sweep.structure is False
    assert sweep.best_k == 1
    assert "shuffled categories" in sweep.verdict


def frame_of(text, n_others):
    """The columns after the first, without gaps in numbers, which have unit variance."""
    frame = pd.read_csv(io.StringIO(text)).iloc[:, n_others:]
    numbers = frame.select_dtypes("number").columns
    frame[numbers] = ((frame[numbers] - frame[numbers].mean()) / frame[numbers].std()).fillna(0.0)
    return frame


@pytest.mark.parametrize("method", ESTIMATORS)
def test_groups_of_a_messy_table_are_structure(method):
    frame = frame_of(messy_table(300, seed=1, outliers=0).text, 3)
    sweep = sweep_of(frame, method)
    assert sweep.structure is True
    assert sweep.best_k == sweep.ranking[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("method", ESTIMATORS)
def test_groups_that_only_categories_tell_apart_are_structure(method, seed):
    sweep = sweep_of(frame_of(table_with_categories(seed).text, 2), method)
    assert sweep.structure is True


def test_categories_that_depend_on_each_other_are_structure():
    frame = independent_columns("categories", 0)
    frame[["c1", "c2", "c3"]] = frame[["c0", "c0", "c0"]].to_numpy()
    assert sweep_of(frame, "gower").best_k > 1


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_shuffled_tables_keep_shares_and_gaps(seed):
    rng = np.random.default_rng(seed)
    frame = independent_columns("mixed", seed, n=int(rng.integers(5, 60)))
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    table = column_table(frame.assign(grade=rng.integers(0, 3, len(frame)).astype(float)))
    drawn = shuffled_table(table, {2, 3, 4})(rng)
    assert drawn.names == table.names
    for one, other in zip(table.columns[:2], drawn.columns[:2], strict=True):
        np.testing.assert_array_equal(np.isnan(one), np.isnan(other))
    for one, other in zip(table.columns[2:4], drawn.columns[2:4], strict=True):
        assert one.levels == other.levels
        np.testing.assert_array_equal(one.codes < 0, other.codes < 0)
        np.testing.assert_array_equal(np.sort(one.codes), np.sort(other.codes))
    np.testing.assert_array_equal(np.sort(table.columns[4]), np.sort(drawn.columns[4]))


def test_a_column_without_values_stays_empty():
    rows = np.column_stack([np.arange(9.0), np.full(9, np.nan)])
    drawn = cloud_with_gaps(rows)(np.random.default_rng(0))
    assert np.isfinite(drawn[:, 0]).all()
    assert np.isnan(drawn[:, 1]).all()

"""The first look at the data: shortcuts and the order of rows do not change what it finds."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from partita._common.threads import Workers
from partita._kernels import kernels
from partita.estimators.validation import make_source
from partita.source import survey as survey_module
from partita.source.blocked_rows import BlockedRows
from partita.source.survey import MAX_GRID_RATIO, MAX_MEAN_ORIGIN_RATIO

pytestmark = pytest.mark.sanitize


def columns_of(seed, n):
    """Columns (n, d) that have outliers, constants, dominating values, ties or heavy tails."""
    rng = np.random.default_rng(seed)
    few = rng.integers(0, max(1, n // 50) + 1)
    far = np.zeros(n)
    far[:few] = 10.0 ** rng.integers(0, 15, few)
    tight = np.where(rng.random(n) < rng.random(), 1.0, 1.0 + rng.normal(size=n) * 1e-9)
    plain = [
        rng.normal(size=n),
        (rng.random(n) < 0.1).astype(float),
        (rng.random(n) < 0.5).astype(float),
        np.zeros(n),
        tight,
        rng.integers(0, 9, n).astype(float),
        rng.standard_cauchy(n) ** 3,
        np.where(rng.random(n) < 0.5, -0.0, 0.0),
        np.where(rng.random(n) < 0.45, 1e9, rng.normal(size=n)),
    ]
    columns = [*plain, *(column + far for column in plain)]
    return np.column_stack([rng.permutation(column) for column in columns])


def survey_of(X, weight=None):
    with Workers(1) as workers:
        return make_source(X, weight, workers).survey()


def bits(survey):
    grid = survey.grid
    parts = grid.origin, grid.up, survey.low, survey.high
    return [a.tobytes() for a in parts], grid.scale, grid.limb, survey.spread, survey.beyond_grid


def lower_median(values):
    return np.sort(values)[(len(values) - 1) // 2]


def test_rows_of_whole_numbers_need_no_columns(monkeypatch):
    rng = np.random.default_rng(0)
    rows = (rng.random((60_000, 20)) < 0.5) * rng.integers(1, 256, (60_000, 20)).astype(float)
    columns = []
    monkeypatch.setattr(
        BlockedRows, "read_columns", lambda self, features: columns.extend(features)
    )
    with Workers(1) as workers:
        whole = make_source(rows, None, workers).survey()
    assert columns == []
    monkeypatch.undo()
    monkeypatch.setattr(kernels, "are_whole", lambda rows: False)
    with Workers(1) as workers:
        by_columns = make_source(rows, None, workers).survey()
    assert whole.grid.origin.tobytes() == by_columns.grid.origin.tobytes()
    assert whole.beyond_grid == by_columns.beyond_grid


@pytest.mark.parametrize("n", [5, 300, 5000])
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_survey_leaves_the_rows_as_they_are(n, d, weighted):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, d))
    before, weight = rows.copy(), rng.random(n) + 0.1 if weighted else None
    with Workers(1) as workers:
        make_source(rows, weight, workers).survey()
    np.testing.assert_array_equal(rows, before)


@pytest.mark.parametrize("n", [3, 40, 400, 3000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_origin_is_the_median_where_the_extent_is_far_beyond_the_typical_deviation(n, dtype):
    """Counting only spares the look at a column: the origin is what the columns themselves say."""
    used = 0
    for seed in range(8):
        X = columns_of(seed, n).astype(dtype)
        survey, far = survey_of(X), False
        for column, origin in zip(X.astype(np.float64).T, survey.grid.origin, strict=True):
            median, extent = lower_median(column), column.max() - column.min()
            away = np.abs(column - median)
            deviation = lower_median(away[away > 0]) if away.any() else 0.0
            if extent > MAX_MEAN_ORIGIN_RATIO * deviation > 0:
                assert origin == median
                far, used = far or extent > MAX_GRID_RATIO * deviation, used + 1
            else:  # near the mean
                assert abs(origin - column.mean()) <= extent / 32
        assert survey.beyond_grid == far
    assert used > 8


@given(seed=st.integers(0, 10_000), n=st.sampled_from([5, 60, 400, 900]), single=st.booleans())
def test_rows_may_be_permuted(seed, n, single):
    X = columns_of(seed, n).astype(np.float32 if single else np.float64)
    order = np.random.default_rng(seed).permutation(n)
    weights = None, np.random.default_rng(seed).random(n), np.arange(n) % 3 * 1.0
    for weight in weights:
        shuffled = weight if weight is None else weight[order]
        assert bits(survey_of(X, weight)) == bits(survey_of(X[order], shuffled))


@given(seed=st.integers(0, 10_000), n=st.sampled_from([5, 60, 400]), unit=st.integers(1, 3))
def test_whole_weights_equal_repeated_rows(seed, n, unit):
    X, rng = columns_of(seed, n), np.random.default_rng(seed)
    times = unit * rng.integers(0, 4, n)
    times[0] = unit
    weighted, repeated = survey_of(X, times.astype(float)), survey_of(np.repeat(X, times, axis=0))
    assert bits(weighted) == bits(repeated)


@pytest.mark.parametrize("counting_passes", [1, 2])
@pytest.mark.parametrize("sample_rows", [(1, 1), (7, 7)])
def test_guesses_do_not_change_the_survey(monkeypatch, counting_passes, sample_rows):
    before = [bits(survey_of(columns_of(seed, 300))) for seed in range(6)]
    monkeypatch.setattr(survey_module, "MAX_COUNTING_PASSES", counting_passes)
    monkeypatch.setattr(survey_module, "SAMPLE_ROWS", sample_rows)
    for name in ("WHOLE_VALUES", "COUNTED_VALUES"):  # few rows need no guesses otherwise
        monkeypatch.setattr(survey_module, name, 0)
    assert before == [bits(survey_of(columns_of(seed, 300))) for seed in range(6)]


@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1.0, 2.0**19, 2.0**22, 0.5]))
def test_a_test_for_whole_numbers_does_not_change_the_survey(seed, scale):
    rng = np.random.default_rng(seed)
    X = scale * np.rint(rng.standard_cauchy((60, 3)).clip(-1e6, 1e6))
    expected = bits(survey_of(X))
    with mock.patch.object(survey_module, "WHOLE_VALUES", 0):
        assert bits(survey_of(X)) == expected


def test_most_features_are_cleared_without_their_columns(monkeypatch):
    """Columns are slow: most continuous and discrete features must not need them."""
    rng = np.random.default_rng(0)
    n = 20_000
    X = np.column_stack(
        [
            rng.normal(size=(n, 60)),
            rng.random((n, 40)) < 0.5,
            rng.random((n, 20)) < 0.03,
            rng.integers(0, 256, (n, 20)),
            rng.integers(0, 5, (n, 20)),
            rng.exponential(size=(n, 20)),
            rng.standard_t(2, (n, 20)),
        ]
    )
    X[0, 0] = 1e9
    read = []
    with Workers(1) as workers:
        source = make_source(X, None, workers)
        columns = source.read_columns
        monkeypatch.setattr(source, "read_columns", lambda f: (read.extend(f), columns(f))[1])
        source.survey()
    assert 0 in read
    assert len(read) < X.shape[1] / 8  # so few are read faster than all rows are counted again


def test_sparse_rows_count_by_their_weights():
    """The typical value decides whether one is too far for a grid: weights count, zeros do not."""
    X = sp.csr_array(np.array([[1.0, 0.0], [2.0**60, 0.0], [2.0**60, 2.0**60]]))
    times = np.array([9, 1, 1])
    repeated = sp.csr_array(np.repeat(X.toarray(), times, axis=0))
    surveys = survey_of(X), survey_of(X, times.astype(float)), survey_of(repeated)
    assert [survey.beyond_grid for survey in surveys] == [False, True, True]

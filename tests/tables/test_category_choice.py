"""Columns of categories among others, gaps that stay open, and scaling by what is known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.source.mixed_columns import Factor
from partita.tables import Scaling, Table, TableError, fit_auto, select
from partita.tables.auto_scaling import without_limits
from partita.tables.category_choice import footing_of_categories, read_categories
from partita.tables.missing_values import filled_with_medians

N = 60
COLUMNS = {
    "x": [float(i * i % 17) for i in range(N)],
    "plan": ["basic", "plus", None] * (N // 3),
    "note": [f"text {i}" for i in range(N)],
    "flag": [i % 3 == 0 for i in range(N)],
    "size": [i % 2 for i in range(N)],
    "y": [None if i % 5 == 0 else float(i * 7 % 23) for i in range(N)],
    "z": [float(i * 3 % 29) for i in range(N)],
    "day": ["2024-05-31", "2024-06-01"] * (N // 2),
}


def table(**more):
    return Table(pa.table({**COLUMNS, **more}), "t.csv", "csv")


def test_categories_are_text_and_columns_of_two_values_that_repeat():
    found = select(table(), by_role=True, missing="auto", categories="auto")
    assert {name: c.levels for name, c in found.categories.items()} == {
        "plan": ("basic", "plus"),
        "flag": ("no", "yes"),
        "size": ("0", "1"),
    }
    assert found.names == ("x", "y", "z")
    assert found.all_names == ("x", "y", "z", "plan", "flag", "size")
    assert set(found.left_out) == {"note", "day"}
    assert found.categories["plan"].codes[:4].tolist() == [0, 1, -1, 0]


def test_without_categories_the_same_columns_are_candidates():
    plain = select(table(), by_role=True, missing="auto")
    assert plain.candidates == ("plan", "flag", "size")
    assert plain.categories == {}
    assert "plan" in plain.left_out


def test_named_columns_are_categories_whatever_they_hold():
    found = select(table(), by_role=True, missing="auto", categories=["x", "plan"])
    assert list(found.categories) == ["x", "plan"]
    assert "x" not in found.names
    named = select(table(), columns=["x", "plan"], missing="auto", categories="auto")
    assert (named.names, tuple(named.categories)) == (("x",), ("plan",))
    with pytest.raises(TableError, match="cannot be a category: it has dates"):
        select(table(), categories=["day"], by_role=True, missing="auto")


@pytest.mark.parametrize("values", [[1, 2, 2], [1.0, 2.0, 2.0], ["1", "2", "2"], [" 1", "2", "2 "]])
def test_cells_are_the_same_texts_in_every_format(values):
    column = read_categories(Table(pa.table({"c": values}), "t", "csv"), ["c"])["c"]
    assert (column.levels, column.codes.tolist()) == (("1", "2"), [0, 1, 1])


def test_rows_are_kept_by_their_numbers_and_categories():
    columns = {"x": [1.0, None, None, 2.0], "a": ["u", "v", None, "u"], "b": ["p", "p", None, "q"]}
    t = Table(pa.table(columns), "t", "csv")
    kept = select(t, missing="partial", categories=["a", "b"]).kept
    assert kept.tolist() == [0, 1, 3]
    assert select(t, missing="drop", categories=["a", "b"]).kept.tolist() == [0, 3]


def test_partial_leaves_gaps_open_and_rows_out():
    found = select(table(), by_role=True, missing="partial")
    assert np.isnan(found.X[:, found.names.index("y")]).sum() == N // 5
    assert found.fill is None
    assert found.filled == 0
    assert found.gaps == {"y": N // 5}
    infinite = select(table(x=[0.0, np.inf, *COLUMNS["x"][2:]]), by_role=True, missing="partial")
    assert np.isnan(infinite.X[1, 0])


@given(st.lists(st.one_of(st.none(), st.floats(0.1, 1e4)), min_size=8, max_size=40))
def test_a_column_is_scaled_as_if_its_gaps_were_no_rows(values):
    x = np.array([np.nan if v is None else v for v in values])
    known = ~np.isnan(x)
    if known.sum() < 2:
        return
    other = np.linspace(0, 1, len(x))
    X = np.column_stack([x, other])
    for kind in ("standard", "robust"):
        whole, part = Scaling.fit(X, kind), Scaling.fit(x[known, None], kind)
        assert (whole.center[0], whole.scale[0]) == (part.center[0], part.scale[0])
    auto = fit_auto(X, ("a", "b")).scaling
    if auto.kind == "auto":
        scaled = auto.apply(X)
        np.testing.assert_array_equal(np.isnan(scaled[:, 0]), ~known)
        np.testing.assert_array_equal(np.isnan(auto.undo(scaled)[:, 0]), ~known)
        assert np.isnan(filled_with_medians(scaled, None)).sum() == 0


def test_without_limits_outliers_keep_their_distance():
    x = np.append(np.random.default_rng(0).normal(size=300), 1e4)
    X = np.column_stack([x, np.linspace(0, 50, 301) ** 3])
    limited = fit_auto(X, ("a", "b")).scaling
    free = without_limits(limited)
    assert limited.apply(X)[-1, 0] < 10 < free.apply(X)[-1, 0]
    np.testing.assert_array_equal(limited.apply(X)[:100], free.apply(X)[:100])


def test_one_footing_makes_columns_differ_alike_between_rows():
    rng = np.random.default_rng(1)
    codes = rng.choice(3, 4000, p=[0.5, 0.3, 0.2]).astype(np.int32)
    numbers = rng.normal(size=(4000, 2)) * [1.0, 2.0]
    gamma = footing_of_categories([Factor(("a", "b", "c"), codes)], numbers, None)
    i, j = rng.integers(0, 4000, (2, 200_000))
    squares = ((numbers[i] - numbers[j]) ** 2).mean()
    np.testing.assert_allclose(gamma * (codes[i] != codes[j]).mean(), squares, rtol=0.02)
    weight = rng.integers(0, 4, 4000).astype(float)
    many = np.repeat(np.arange(4000), weight.astype(int))
    by_weight = footing_of_categories([Factor(("a", "b", "c"), codes)], numbers, weight)
    by_rows = footing_of_categories([Factor(("a", "b", "c"), codes[many])], numbers[many], None)
    np.testing.assert_allclose(by_weight, by_rows)


def test_open_gaps_cost_neither_columns_nor_rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4))
    X[rng.random(X.shape) < [0.1, 0.3, 0.6, 0.95]] = np.nan
    X[0] = np.nan
    t = Table(pa.table(dict(zip("abcd", X.T, strict=True))), "t", "parquet")
    found = select(t, by_role=True, missing="partial")
    assert found.names == ("a", "b", "c")  # d is known in 5 % of the rows
    np.testing.assert_array_equal(found.kept, np.flatnonzero(~np.isnan(X[:, :3]).all(axis=1)))
    assert len(select(t, by_role=True, missing="auto").kept) < len(found.kept)

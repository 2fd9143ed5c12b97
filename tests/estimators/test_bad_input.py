"""Rows that cannot be clustered get a clear error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from helpers.three_groups import (
    CONTAINERS,
    METHODS,
    NAMES,
    X,
    call,
    fit,
    frame_with,
    with_value,
)
from sklearn.exceptions import NotFittedError

import partita
from partita import KMeans, k_means, kmeans_plusplus

# --- values that are not numbers -----------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("make", [*CONTAINERS, np.float32, np.float16, lambda x: x[3:6]])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")])
def test_a_value_that_is_not_finite_is_counted_and_its_column_named(method, make, value, word):
    bad = make(with_value(value))
    said = f"contains {word}.*: 1 of {bad.shape[0]} rows, in column 1.*drop.*impute"
    with pytest.raises(ValueError, match=said):
        call(method, bad)


def test_columns_and_rows_that_are_not_finite_are_counted_once_each():
    bad = with_value(np.nan, at=([0, 0, 5, 7], [0, 2, 2, 0]))
    with pytest.raises(ValueError, match=r"NaN.*: 3 of 30 rows, in columns 0, 2\b"):
        fit(bad)


def test_a_long_list_of_columns_is_cut_short():
    bad = np.full((4, 12), np.nan)
    with pytest.raises(ValueError, match=r"4 of 4 rows, in columns 0, 1, 2, 3, 4 and 7 more"):
        KMeans(2).fit(bad)


def test_a_value_that_is_not_finite_is_found_in_any_block_of_many_rows():
    bad = np.zeros((1 << 18, 9), np.float32)
    bad[-1, 8] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*: 1 of 262144 rows, in column 8"):
        KMeans(2, n_threads=2).fit(bad)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: pd.DataFrame(x, columns=NAMES),
        lambda x: pd.DataFrame(x, columns=NAMES, dtype=np.float32),
        lambda x: pl.DataFrame(x, schema=NAMES),
        lambda x: pa.table(pd.DataFrame(x, columns=NAMES)),
    ],
    ids=["pandas", "pandas-float32", "polars", "pyarrow"],
)
@pytest.mark.parametrize("method", METHODS)
def test_nan_in_a_frame_is_reported_by_the_name_of_its_column(make, method):
    model = fit(make(X))
    with pytest.raises(ValueError, match=r"NaN.*: 1 of 30 rows, in column 'size'"):
        getattr(model, method)(make(with_value(np.nan)))


def test_kmeans_plusplus_names_the_columns_of_a_frame_too():
    with pytest.raises(ValueError, match=r"NaN.*: 1 of 30 rows, in column 'size'"):
        kmeans_plusplus(frame_with(with_value(np.nan)[:, 1]), 3)


@pytest.mark.parametrize(
    "column",
    [
        pd.array([None, *range(29)], dtype="Int64"),
        pd.array([None, *range(29)], dtype="Float64"),
        pd.array([None, *[True] * 29], dtype="boolean"),
        pd.Series([None, *range(29)], dtype=object),
        pd.Series([pd.NA, *range(29)], dtype=object),
        pd.Series([None, *range(29)], dtype="int64[pyarrow]"),
    ],
    ids=lambda column: f"{column.dtype}-{column[0]}",
)
def test_missing_values_in_pandas_are_reported_as_nan_in_their_column(column):
    with pytest.raises(ValueError, match=r"NaN.*: 1 of 30 rows, in column 'size'"):
        fit(frame_with(column))


@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64, pl.UInt8, pl.Boolean])
def test_nulls_in_polars_are_reported_as_nan_in_their_column(kind):
    column = pl.Series([None, *[1] * 29]).cast(kind)
    with pytest.raises(ValueError, match=r"NaN.*: 1 of 30 rows, in column 'size'"):
        fit(pl.DataFrame(X, schema=NAMES).with_columns(size=column))


def test_nulls_in_pyarrow_are_reported_as_nan_in_their_column():
    with pytest.raises(ValueError, match=r"NaN.*: 1 of 4 rows, in column 'b'"):
        KMeans(2).fit(pa.table({"a": [1.0, 2.0, 3.0, 4.0], "b": [1, None, 3, 4]}))


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pd.Categorical(["x", "y", "z"] * 10), "Categorical"),
        (pd.Categorical(np.arange(30)), "Categorical"),
        (pd.date_range("2020-01-01", periods=30), "Datetime"),
        (pd.to_timedelta(np.arange(30), unit="s"), "Duration"),
        (["x"] * 30, "String"),
        (["1", "2", "3"] * 10, "String"),
        (pd.Series(["x", 1, None] * 10, dtype=object), "Object"),
        (np.full(30, 1j), "complex"),
    ],
)
def test_a_pandas_column_that_is_not_numbers_is_named_with_its_type(column, kind):
    with pytest.raises(
        ValueError, match=rf"must be numeric, got the columns 'size' \({kind}.*encode"
    ):
        fit(frame_with(column))


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["x"] * 30, "String"),
        (pl.Series(["x", "y", "z"] * 10, dtype=pl.Categorical), "Categorical"),
        ([[1, 2]] * 30, "List"),
    ],
)
def test_a_polars_column_that_is_not_numbers_is_named_with_its_type(column, kind):
    frame = pl.DataFrame(X, schema=NAMES).with_columns(pl.Series("size", column))
    with pytest.raises(
        ValueError, match=rf"must be numeric, got the columns 'size' \({kind}.*encode"
    ):
        fit(frame)


def test_a_pyarrow_column_of_strings_is_named_with_its_type():
    with pytest.raises(
        ValueError, match=r"must be numeric, got the columns 'b' \(String\).*encode"
    ):
        KMeans(2).fit(pa.table({"a": [1.0, 2.0], "b": ["x", "y"]}))


@pytest.mark.parametrize(
    "make",
    [
        lambda names: pd.DataFrame(X, columns=names),
        lambda names: pa.table([pa.array(column) for column in X.T], names=names),
    ],
    ids=["pandas", "pyarrow"],
)
@pytest.mark.parametrize("method", METHODS)
def test_columns_of_the_same_name_are_refused_by_name(make, method):
    with pytest.raises(ValueError, match=r"same name: 'age'.*Rename"):
        call(method, make(["age", "size", "age"]))


def test_a_lazy_frame_is_refused_with_the_advice_to_collect_it():
    with pytest.raises((TypeError, ValueError), match="collect"):
        fit(pl.DataFrame(X, schema=NAMES).lazy())


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("cat", "(?s)'cat'.*encode"),
        ({}, "number, not 'dict'"),
        ([1], "sequence|number, not 'list'"),
    ],
)
def test_an_object_array_that_holds_other_things_is_refused(value, said):
    bad = X.astype(object)
    bad[4, 1] = value
    with pytest.raises((TypeError, ValueError), match=said):
        fit(bad)


@pytest.mark.parametrize("make", CONTAINERS)
def test_complex_numbers_are_refused(make):
    with pytest.raises(ValueError, match="Complex data not supported"):
        fit(make(X * 1j))


@pytest.mark.parametrize("kind", ["datetime64[s]", "timedelta64[s]"])
def test_an_array_of_times_is_refused_as_a_frame_of_times_is(kind):
    """As plain numbers, NaT would be a point at −9.2e18."""
    with pytest.raises((TypeError, ValueError), match=kind.partition("[")[0]):
        fit(X.astype(kind))


@pytest.mark.parametrize("method", METHODS)
def test_masked_values_are_counted_and_refused(method):
    with pytest.raises(
        ValueError, match="must be complete, got a masked array with 2 masked values"
    ):
        call(method, np.ma.array(X, mask=with_value(True, np.zeros_like(X), ([1, 2], [0, 0]))))


# --- shapes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (X[:, 0], r"Expected 2D array, got 1D array[\s\S]*reshape\(-1, 1\)"),
        (X[:, 0].tolist(), r"Expected 2D array, got 1D array[\s\S]*reshape\(-1, 1\)"),
        (pd.Series(X[:, 0]), r"Expected a 2-dimensional container.*Series"),
        (X[None], r"dim 3.*<= 2"),
        (3.0, r"Expected 2D array, got scalar"),
        ([[1, 2, 3], [4]], r"inhomogeneous"),
        (X[:0], r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1"),
        (sp.csr_array(X[:0]), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1"),
        (pd.DataFrame(X[:0]), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1"),
        (pl.DataFrame(X[:0]), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1"),
        (X[:, :0], r"0 feature\(s\) \(shape=\(30, 0\)\) while a minimum of 1"),
        (sp.csr_array(X[:, :0]), r"0 feature\(s\) \(shape=\(30, 0\)\) while a minimum of 1"),
        (pd.DataFrame(X)[[]], r"0 feature\(s\) \(shape=\(30, 0\)\) while a minimum of 1"),
    ],
    ids=[
        "1d", "list", "series", "3d", "scalar", "ragged",
        "0-rows", "0-rows-csr", "0-rows-pandas", "0-rows-polars",
        "0-columns", "0-columns-csr", "0-columns-pandas",
    ],
)  # fmt: skip
def test_rows_of_a_wrong_shape_are_refused_with_their_shape(method, rows, said):
    with pytest.raises(ValueError, match=said):
        call(method, rows)


@pytest.mark.parametrize("method", ["predict", "transform", "score"])
@pytest.mark.parametrize("make", [*CONTAINERS, pd.DataFrame, lambda x: x[:2]])
def test_a_wrong_number_of_features_is_refused_with_both_numbers(method, make):
    with pytest.raises(ValueError, match="X has 2 features, but KMeans is expecting 3 features"):
        call(method, make(X[:, :2]))


@pytest.mark.parametrize("method", ["predict", "transform", "score"])
@pytest.mark.parametrize("make", [pd.DataFrame, lambda x: pl.DataFrame(dict(x))])
def test_columns_in_another_order_or_of_another_name_are_refused(method, make):
    model = fit(frame_with(X[:, 1]))
    with pytest.raises(ValueError, match="must be in the same order"):
        getattr(model, method)(make(frame_with(X[:, 1])[NAMES[::-1]]))
    with pytest.raises(ValueError, match=r"unseen at fit time:\s+- weight"):
        getattr(model, method)(make(frame_with(X[:, 1]).rename(columns={"size": "weight"})))


@pytest.mark.parametrize("function", [lambda x, k: KMeans(k).fit(x), k_means, kmeans_plusplus])
def test_more_clusters_than_rows_are_refused_with_both_numbers(function):
    with pytest.raises(
        ValueError,
        match=r"n_samples=30 should be >= n_clusters=31.*Lower n_clusters",
    ):
        function(X, 31)


@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_a_model_that_was_not_fitted_says_so(method):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(KMeans(), method)(X)


@pytest.mark.parametrize(
    "call",
    [
        partita.merge_tree,
        partita.cells,
        lambda X: partita.save(X, "never.partita"),
        lambda X: partita.diagnose(X, partita.KMeans(2).fit(X)),
        partita.plots.CriteriaDisplay.from_sweep,
        lambda X: partita.KMeans(X).fit(X),
    ],
)
def test_an_array_in_place_of_something_else_is_described_by_its_shape(call):
    with pytest.raises((TypeError, ValueError), match=r"got an array of shape \(150, 4\)"):
        call(np.random.default_rng(0).normal(size=(150, 4)))


def test_what_an_unfitted_model_knows_of_its_clusters_says_so():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = KMeans().membership_
    with pytest.raises(NotFittedError, match="not fitted yet"):
        KMeans().match(fit(X))


def test_tables_with_categories_get_advice_that_suits_them():
    table = pd.DataFrame({"a": [1.0, 2.0, np.nan, 4.0], "b": list("xxyy")})
    with pytest.raises(ValueError, match=r'or leave gaps to KMedoids\(metric="gower"\)'):
        partita.KPrototypes(2).fit(table)
    table["a"] = [1.0, 2.0, np.inf, 4.0]
    with pytest.raises(ValueError, match=r"1 of 4 rows, in column 'a'.*use NaN for missing"):
        partita.KMedoids(2, metric="gower").fit(table)


def test_a_column_of_booleans_is_called_so():
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [True, False, True, True]})
    model = partita.KPrototypes(2, random_state=0).fit(table)
    with pytest.raises(ValueError, match="are booleans, as in the fit, got texts"):
        model.predict(table.assign(b=list("xxyy")))


def test_a_diagnosis_counts_the_columns_of_a_table_with_categories():
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": list("xyzx")})
    model = partita.KPrototypes(2, random_state=0).fit(table)
    assert partita.diagnose(model, table).subject.endswith("of 4 rows, 2 features")

"""Bad or odd input gets a clear error or the right answer, never a crash."""

from __future__ import annotations

import re
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from partita import EmptyClusterError, KMeans, k_means, kmeans_plusplus
from partita._common.errors import ParameterError
from partita.halting import MaxIter, SamePartition

# Three groups of whole numbers from 0 to 87, zeros included: every dtype holds them exactly.
GROUPS = np.repeat([0, 1, 2], 10)
X = np.random.default_rng(0).integers(0, 8, size=(30, 3)) + 40.0 * GROUPS[:, None]
START = X[[0, 10, 20]]
NAMES = ["age", "size", "speed"]

STARTS = ["k-means++", "k-means||", "random", "forgy", "box", "random-partition"]
CONTAINERS = [np.asarray, sp.csr_array]
METHODS = ["fit", "predict", "transform", "score"]


def fit(rows, sample_weight=None, **params):
    return KMeans(**{"n_clusters": 3, "init": START, **params}).fit(
        rows, sample_weight=sample_weight
    )


def assert_groups(model, dtype=np.float64):
    means = X.reshape(3, 10, 3).mean(axis=1)
    np.testing.assert_array_equal(model.labels_, GROUPS)
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=4 * np.finfo(dtype).eps)
    assert model.cluster_centers_.dtype == dtype
    assert model.inertia_ == pytest.approx(((X - means[GROUPS]) ** 2).sum(), rel=1e-6)


def call(method, rows):
    """`method` of a model fitted to good data (or to be fitted) with `rows`."""
    return getattr(fit(X), method)(rows)


def with_value(value, rows=X, at=(4, 1)):
    out = np.array(rows)
    out[at] = value
    return out


def frame_with(column, name="size"):
    return pd.DataFrame(X, columns=NAMES).assign(**{name: column})


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
    with pytest.raises(ValueError, match=rf"not numbers.*'size' \({kind}.*encode"):
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
    with pytest.raises(ValueError, match=rf"not numbers.*'size' \({kind}.*encode"):
        fit(frame)


def test_a_pyarrow_column_of_strings_is_named_with_its_type():
    with pytest.raises(ValueError, match=r"not numbers.*'b' \(String\).*encode"):
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
    with pytest.raises(ValueError, match=r"same name: 'age'; rename"):
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


def test_what_an_unfitted_model_knows_of_its_clusters_says_so():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = KMeans().membership_
    with pytest.raises(NotFittedError, match="not fitted yet"):
        KMeans().match(fit(X))


# --- weights -------------------------------------------------------------------------------------

BAD_WEIGHTS = {
    "negative": (
        with_value(-1.0, np.ones(30), 3),
        r"Negative values.*1 of 30 weights.*>= 0",
    ),
    "nan": (with_value(np.nan, np.ones(30), 3), r"NaN or inf.*in 1 of 30 rows.*finite"),
    "inf": (with_value(np.inf, np.ones(30), 3), r"NaN or inf.*in 1 of 30 rows.*finite"),
    "missing": (pd.Series([None, *[1] * 29], dtype="Int64"), r"NaN or inf.*in 1 of 30 rows"),
    "zero": (
        np.zeros(30),
        "must be > 0 for at least one row, got zero for every row",
    ),
    "short": (np.ones(29), r"shape == \(29,\), expected \(30,\)"),
    "two-dimensional": (np.ones((30, 1)), "1D array or scalar, got 2D array"),
    "negative-scalar": (-1.0, "Negative values"),
    "text": (["a"] * 30, "`sample_weight` must be numeric"),
    "word": ("balanced", "`sample_weight` must be numeric"),
    "complex": (np.ones(30) + 1j, "`sample_weight` must be real, got complex numbers"),
    "small": (np.full(30, 1e-310), "`sample_weight` must be .*got 1e-310"),
    "huge": (np.full(30, 1e308), r"`sample_weight` must be .*got 1e\+308"),
}


@pytest.mark.parametrize("method", ["fit", "score", "fit_predict", "fit_transform"])
@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_weights_are_refused_with_the_reason(method, case):
    weight, said = BAD_WEIGHTS[case]
    with pytest.raises(ValueError, match=said):
        getattr(fit(X), method)(X, sample_weight=weight)


@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_kmeans_plusplus_refuses_bad_weights_too(case):
    weight, said = BAD_WEIGHTS[case]
    with pytest.raises(ValueError, match=said):
        kmeans_plusplus(X, 3, sample_weight=weight)


TWOS = np.full(30, 2, dtype=object)


@pytest.mark.parametrize(
    "weight",
    [2, 2.0, np.float32(2), [2] * 30, pd.Series([2] * 30), pl.Series([2] * 30), TWOS],
    ids=lambda weight: type(weight).__name__,
)
def test_weights_may_be_a_scalar_or_any_column_of_numbers(weight):
    model = fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.labels_, GROUPS)
    assert model.inertia_ == pytest.approx(2 * fit(X).inertia_, rel=1e-12)


@pytest.mark.parametrize("size", [1e-280, 1e-20, 1e20, 1e300])
@pytest.mark.parametrize("make", CONTAINERS)
def test_the_size_of_equal_weights_changes_neither_labels_nor_centers(make, size):
    model = fit(make(X), sample_weight=np.full(30, size))
    np.testing.assert_array_equal(model.labels_, GROUPS)
    np.testing.assert_allclose(model.cluster_centers_, fit(X).cluster_centers_, rtol=1e-12)


@pytest.mark.parametrize("make", CONTAINERS)
def test_very_unequal_weights_pull_the_center_to_the_heavy_row(make):
    weight = np.where(np.arange(30) % 10 == 0, 1e200, 1e-200)
    np.testing.assert_array_equal(fit(make(X), sample_weight=weight).cluster_centers_, START)


# --- parameters ----------------------------------------------------------------------------------

WHOLE = "an integer >= 1"


def must_be(name, wanted, value):
    """Return the pattern of an error about a parameter."""
    return f"`{name}` must be {wanted}, got {re.escape(repr(value))}"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        *[("n_clusters", value, WHOLE) for value in (0, -3, 2.5, 3.0, "3", True, None, [3])],
        *[("n_threads", value, f"{WHOLE} or None") for value in (0, -1, 1.5, "2", True)],
        *[("max_iter", value, WHOLE) for value in (0, -1, 2.5, None, True)],
        *[("n_init", value, f"{WHOLE} or 'auto'") for value in (0, 1.5, None, True, "many")],
        *[("tol", value, "a number >= 0") for value in (-1e-4, np.nan, "small", None, True)],
        *[("init", value, "k-means.*random.*box") for value in ("kmeans", "", None, 3)],
        *[("algorithm", value, "'lloyd', 'elkan'") for value in ("full", "fast", None, ["lloyd"])],
        *[("empty", value, "'relocate', 'keep', 'drop' or 'fail'") for value in ("ignore", None)],
        *[("halt", value, r"partita\.halting") for value in (3, "tol", SamePartition)],
        *[("callback", value, "callable") for value in (3, "print")],
        *[
            ("random_state", value, "an integer.*RandomState.*Generator")
            for value in ("abc", 1.5, True)
        ],
        ("random_state", -1, "an integer >= 0"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_bad_parameter_is_shown_with_what_is_expected(name, value, expected):
    with pytest.raises(ParameterError, match=must_be(name, f".*{expected}.*", value)) as caught:
        KMeans(**{name: value}).fit(X)
    assert caught.value.parameter == name


@pytest.mark.parametrize("value", [0, -3, 2.5, "3", True, None])
def test_kmeans_plusplus_refuses_a_bad_number_of_clusters_as_the_estimator_does(value):
    with pytest.raises(ValueError, match=must_be("n_clusters", WHOLE, value)):
        kmeans_plusplus(X, value)


@pytest.mark.parametrize("value", [0, -3, 2.5, "3", True])
def test_kmeans_plusplus_refuses_a_bad_number_of_trials(value):
    with pytest.raises(ValueError, match=must_be("n_local_trials", f"{WHOLE} or None", value)):
        kmeans_plusplus(X, 3, n_local_trials=value)


@pytest.mark.parametrize("value", [np.int8(3), np.uint64(3)])
def test_numpy_integers_are_whole_numbers(value):
    assert_groups(fit(X, n_clusters=value, max_iter=value, n_threads=value, random_state=value))


@pytest.mark.parametrize(
    ("init", "said"),
    [
        (with_value(np.nan, START, (0, 0)), "`init` must be finite, got NaN.*in 1 of 3 centers"),
        (with_value(np.inf, START, (0, 0)), "`init` must be finite, got NaN.*in 1 of 3 centers"),
        (X[:2], r"centers \(2, 3\) does not match the number of clusters 3"),
        (START[:, :2], r"centers \(3, 2\) does not match the number of features of the data 3"),
        (START[0], r"`init` must be centers of shape \(3, 3\), got an array of shape \(3,\)"),
        ([["a", "b", "c"]] * 3, r"`init` must be .*got values that are not numbers .*'a'"),
        (START * 1j, r"`init` must be centers of shape \(3, 3\), got complex numbers"),
        (KMeans(3), "not fitted"),
        (KMeans(2, init=START[:2]).fit(X), r"centers \(2, 3\) does not match.*clusters 3"),
        (lambda rows, k, random_state: X[:2], r"centers \(2, 3\) does not match.*clusters 3"),
        (lambda rows, k, random_state: None, r"init.*\(3, 3\)"),
    ],
    ids=[
        "nan", "inf", "wrong-k", "wrong-d", "1d", "text", "complex",
        "unfitted", "fitted-other-k", "callable-wrong-k", "callable-none",
    ],
)  # fmt: skip
def test_starting_centers_that_do_not_fit_are_refused_with_their_shape(init, said):
    with pytest.raises(ValueError, match=said):
        fit(X, init=init)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (START[:, :2], r"centers of shape \(k, 3\), got \(3, 2\)"),
        (START[0], r"`other` must be centers of shape \(k, 3\), got an array of shape \(3,\)"),
        (None, r"`other` must be centers of shape \(k, 3\), got an array of shape \(\)"),
        (np.full((3, 3), np.nan), "NaN|finite"),
        (
            "KMeans",
            r"`other` must be .*got values that are not numbers .*'KMeans'",
        ),
        (KMeans(3), "not fitted"),
    ],
    ids=["wrong-d", "1d", "none", "nan", "text", "unfitted"],
)
def test_match_refuses_what_has_no_fitting_centers(other, said):
    with pytest.raises(ValueError, match=said):
        fit(X).match(other)


def raising(progress):
    raise RuntimeError("the callback failed")


@pytest.mark.parametrize(
    ("change", "rows", "error"),
    [
        ({}, with_value(np.nan)[:, :2], ValueError),
        ({}, frame_with("x"), ValueError),
        ({"init": "k-means++", "n_clusters": 31}, X[:, :2], ValueError),
        ({"init": "k-means++", "callback": raising}, X[:, :2], RuntimeError),
        ({"init": np.vstack([X[0], X[10], X[0] + 1e6]), "empty": "fail"}, X, EmptyClusterError),
    ],
    ids=["nan", "text", "too-few-rows", "callback", "empty"],
)
def test_a_fit_that_fails_leaves_the_earlier_fit_as_it_was(change, rows, error):
    model = fit(X)
    with pytest.raises(error):
        model.set_params(**change).fit(rows)
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")
    assert_groups(model)
    np.testing.assert_array_equal(model.predict(X), GROUPS)


# --- odd input with a right answer ---------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    [
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "float64", "longdouble", ">f8", ">f4", ">f2", ">i4", "<i2",
    ],
)  # fmt: skip
def test_every_type_of_number_gives_the_answer_of_float64(dtype):
    rows = X.astype(dtype)
    model = fit(rows)
    assert_groups(model)
    np.testing.assert_array_equal(model.predict(rows), GROUPS)
    np.testing.assert_array_equal(model.transform(rows), fit(X).transform(X))
    assert model.score(rows) == pytest.approx(-model.inertia_, rel=1e-12)


def test_booleans_are_zeros_and_ones():
    rows = X > 20
    model = KMeans(2, init=[[0, 0, 0], [1, 1, 1]]).fit(rows)
    np.testing.assert_array_equal(model.labels_, GROUPS > 0)
    assert model.inertia_ == 0


def misaligned(rows):
    """The same numbers, one byte off."""
    buffer = np.frombuffer(b"\0" + rows.tobytes(), dtype=np.uint8)
    return buffer[1:].view(rows.dtype).reshape(rows.shape)


def read_only(rows):
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
@pytest.mark.parametrize(
    "lay_out",
    [
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: x[::-1].copy()[::-1],
        lambda x: x[:, ::-1].copy()[:, ::-1],
        lambda x: np.ma.array(x),
        misaligned,
        read_only,
    ],
    ids=[
        "fortran", "strided-rows", "strided-columns", "reversed-rows", "reversed-columns",
        "masked-without-mask", "misaligned", "read-only",
    ],
)  # fmt: skip
def test_the_layout_in_memory_changes_nothing(lay_out, dtype):
    rows = lay_out(X.astype(dtype))
    model = fit(rows)
    assert_groups(model, np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_array_equal(model.predict(rows), GROUPS)
    np.testing.assert_array_equal(model.transform(rows), model.transform(X.astype(dtype)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
@pytest.mark.parametrize("mode", ["r", "c", "r+"])
def test_a_memory_mapped_array_is_read_and_never_written(tmp_path, dtype, mode):
    path = tmp_path / "rows.bin"
    X.astype(dtype).tofile(path)
    before = path.read_bytes()
    rows = np.memmap(path, dtype=dtype, mode=mode, shape=X.shape)
    model = fit(rows)
    assert_groups(model, np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_array_equal(model.predict(rows), GROUPS)
    del rows
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.tolist(),
        lambda x: tuple(map(tuple, x.tolist())),
        list,
        lambda x: x.astype(object),
        lambda x: [[Decimal(int(v)) for v in row] for row in x],
        memoryview,
    ],
    ids=["lists", "tuples", "list-of-arrays", "objects", "decimals", "memoryview"],
)
def test_anything_that_holds_rows_of_numbers_is_taken(make):
    assert_groups(fit(make(X)))


@pytest.mark.parametrize(
    "change",
    [
        lambda df: df,
        lambda df: df.astype({"age": "int8", "size": "float32"}),
        lambda df: df.astype("Int64"),
        lambda df: df.astype({"age": "Int64"}),
        lambda df: df.astype("Float64"),
        lambda df: df.astype("float16"),
        lambda df: df.astype("uint8"),
        lambda df: df.astype("int64[pyarrow]"),
        lambda df: df.astype(object),
        lambda df: df.astype(pd.SparseDtype(float, 0.0)),
        lambda df: df.set_axis(range(3), axis=1),
        lambda df: df.set_axis(range(3), axis=1).astype("Int64"),
        lambda df: df.set_axis(pd.MultiIndex.from_product([["a"], NAMES]), axis=1),
        lambda df: df.set_axis(pd.MultiIndex.from_product([["a"], NAMES]), axis=1).astype("Int64"),
        lambda df: df.set_axis(np.arange(30)[::-1], axis=0),
        lambda df: pl.from_pandas(df),
        lambda df: pl.from_pandas(df).cast(pl.UInt8),
        lambda df: pl.from_pandas(df).cast(pl.Decimal(10, 2)),
        lambda df: pa.table(df),
        lambda df: pa.table(df).cast(pa.schema([(name, pa.int16()) for name in NAMES])),
        lambda df: pa.concat_tables([pa.table(df[:7]), pa.table(df[7:])]),
    ],
    ids=[
        "pandas", "mixed", "Int64", "one-Int64", "Float64", "float16", "uint8", "arrow-backed",
        "object", "sparse", "int-names", "int-names-Int64", "multi-index", "multi-index-Int64",
        "row-index", "polars", "polars-uint8", "polars-decimal", "pyarrow", "pyarrow-int16",
        "pyarrow-chunks",
    ],
)  # fmt: skip
def test_a_table_of_numbers_gives_the_answer_of_its_array(change):
    table = change(pd.DataFrame(X, columns=NAMES))
    model = fit(table)
    assert_groups(model)
    np.testing.assert_array_equal(model.predict(table), GROUPS)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(X, columns=NAMES, dtype="float32"),
        pd.DataFrame(X, columns=NAMES, dtype="Float32"),
        pl.DataFrame(X.astype(np.float32), schema=NAMES),
        pa.table(pd.DataFrame(X, columns=NAMES, dtype="float32")),
    ],
    ids=["pandas", "pandas-nullable", "polars", "pyarrow"],
)
def test_a_table_of_float32_stays_float32(frame):
    assert_groups(fit(frame), np.float32)


def with_wide_indices(rows):
    rows = rows.copy()
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


def with_reversed_rows(rows):
    """The entries of each row from the last column to the first."""
    back = rows[:, ::-1].tocsr()
    back.sort_indices()
    columns = rows.shape[1] - 1 - back.indices
    return sp.csr_array((back.data, columns, back.indptr), shape=rows.shape)


def with_halves_stored_twice(rows):
    return sp.csr_array(
        (np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), 2 * rows.indptr), shape=rows.shape
    )


def with_zeros_stored(rows):
    n, d = rows.shape
    every = rows.toarray().ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)
    return sp.csr_array(every, shape=rows.shape)


def read_only_parts(rows):
    return sp.csr_array(tuple(map(read_only, (rows.data, rows.indices, rows.indptr))), rows.shape)


@pytest.mark.parametrize(
    "change",
    [
        sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array, sp.lil_array, sp.bsr_array,
        with_wide_indices, with_reversed_rows, with_halves_stored_twice, with_zeros_stored,
        read_only_parts, lambda x: x.astype(np.int32), lambda x: x.astype(np.uint8),
    ],
    ids=[
        "csr_matrix", "csc_array", "csc_matrix", "coo", "lil", "bsr", "int64-indices", "unsorted",
        "duplicates", "explicit-zeros", "read-only", "int32", "uint8",
    ],
)  # fmt: skip
def test_every_sparse_form_gives_the_answer_of_the_dense_array_and_is_left_alone(change):
    rows = change(sp.csr_array(X))
    before = rows.copy()
    model = fit(rows)
    assert_groups(model)
    np.testing.assert_array_equal(model.predict(rows), GROUPS)
    np.testing.assert_allclose(model.transform(rows), fit(X).transform(X), rtol=1e-12)
    assert rows.nnz == before.nnz
    if rows.format in ("csr", "csc", "bsr"):
        np.testing.assert_array_equal(rows.data, before.data)
        np.testing.assert_array_equal(rows.indices, before.indices)


def test_a_sparse_matrix_without_entries_is_one_point():
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(1\)"):
        model = KMeans(2, random_state=0).fit(sp.csr_array((5, 3)))
    assert model.inertia_ == 0
    np.testing.assert_array_equal(model.labels_, np.zeros(5))


CORRUPT = """
import numpy as np, scipy.sparse as sp
from partita import KMeans
indptr = np.arange(4, dtype=np.int32)
rows = sp.csr_array((np.ones(3), np.array([0, 1, {column}], np.int32), indptr), shape=(3, 3))
try:
    KMeans(2, init=np.eye(3)[:2]).fit(rows)
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("column", [3, 10**6, -1])
def test_a_sparse_matrix_with_a_column_out_of_range_is_refused(column):
    """In another process, for it used to end the interpreter."""
    code = CORRUPT.format(column=column)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "out of range" in done.stdout


# --- few rows, few values ------------------------------------------------------------------------


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("init", STARTS)
def test_more_clusters_than_distinct_rows_give_them_all_and_a_warning(make, init):
    rows = np.repeat(X[[0, 10]], 5, axis=0)
    said = r"Number of distinct clusters \(2\) found smaller than n_clusters \(3\)"
    with pytest.warns(ConvergenceWarning, match=said):
        model = KMeans(3, init=init, random_state=0).fit(make(rows))
    assert model.inertia_ == 0
    assert model.cluster_centers_.shape == (3, 3)
    assert np.isfinite(model.cluster_centers_).all()
    assert len(set(model.labels_[:5])) == len(set(model.labels_[5:])) == 1
    np.testing.assert_array_equal(model.predict(make(rows)), model.labels_)


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("value", [0.0, 1.0, -1e6, 0.1])
@pytest.mark.parametrize("init", STARTS)
def test_rows_that_are_all_alike_are_one_cluster_without_inertia(make, value, init):
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(1\)"):
        model = KMeans(2, init=init, random_state=0).fit(make(np.full((6, 2), value)))
    assert model.inertia_ == 0
    np.testing.assert_array_equal(model.labels_, np.full(6, model.labels_[0]))
    np.testing.assert_array_equal(model.cluster_centers_[model.labels_[0]], [value, value])


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("init", STARTS)
def test_one_cluster_is_the_mean_and_its_inertia_the_total_variance(make, init):
    model = KMeans(1, init=init, random_state=0).fit(make(X))
    np.testing.assert_allclose(model.cluster_centers_, X.mean(axis=0)[None], rtol=1e-14)
    assert model.inertia_ == pytest.approx(X.var(axis=0).sum() * len(X), rel=1e-12)
    np.testing.assert_array_equal(model.labels_, np.zeros(30))


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("init", STARTS)
def test_as_many_clusters_as_distinct_rows_leave_no_inertia(make, init):
    rows = np.unique(X, axis=0)
    model = KMeans(len(rows), init=init, random_state=0).fit(make(rows))
    assert model.inertia_ == 0
    np.testing.assert_array_equal(np.sort(model.labels_), np.arange(len(rows)))
    np.testing.assert_array_equal(model.cluster_centers_[model.labels_], rows)


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("init", STARTS)
def test_a_single_row_is_its_own_center(make, init):
    model = KMeans(1, init=init, random_state=0).fit(make(X[:1]))
    np.testing.assert_array_equal(model.cluster_centers_, X[:1])
    assert model.inertia_ == 0
    np.testing.assert_array_equal(model.transform(make(X[:1])), [[0.0]])


@pytest.mark.parametrize("make", CONTAINERS)
def test_a_single_feature_is_enough(make):
    model = fit(make(X[:, :1]), init=START[:, :1])
    np.testing.assert_array_equal(model.labels_, GROUPS)


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6, -1e15])
def test_a_constant_feature_changes_no_label_and_keeps_its_value(make, value):
    def beside(rows):
        return np.column_stack([rows, np.full(len(rows), value)])

    model = fit(make(beside(X)), init=beside(START))
    np.testing.assert_array_equal(model.labels_, GROUPS)
    np.testing.assert_allclose(model.cluster_centers_[:, 3], value, rtol=1e-15)
    assert model.inertia_ == pytest.approx(fit(X).inertia_, rel=1e-9)


# --- very large and very small numbers -----------------------------------------------------------


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("power", [-1060, -1000, -500, 500, 1000])
def test_scaling_by_a_power_of_two_changes_no_label(make, power):
    model = fit(make(np.ldexp(X, power)), init=np.ldexp(START, power))
    np.testing.assert_array_equal(model.labels_, GROUPS)
    np.testing.assert_array_equal(model.predict(make(np.ldexp(X, power))), GROUPS)
    np.testing.assert_allclose(
        np.ldexp(model.cluster_centers_, -power), fit(X).cluster_centers_, rtol=0.03
    )


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-160, 1e160, 1e300, 1e306])
@pytest.mark.parametrize("init", STARTS)
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_doubles_near_their_limits_give_finite_centers_without_a_crash(make, scale, init):
    model = KMeans(3, init=init, n_init=2, random_state=0).fit(make(X * scale))
    assert np.isfinite(model.cluster_centers_).all()
    assert not np.isnan(model.inertia_)
    np.testing.assert_array_equal(model.predict(make(X * scale)), model.labels_)
    assert not np.isnan(model.transform(make(X * scale))).any()


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("power", [-1000, -500, 500, 1000])
def test_scaling_by_a_power_of_two_changes_no_choice_of_kmeans_plusplus(make, power):
    _, at_one = kmeans_plusplus(make(X), 3, random_state=0)
    _, scaled = kmeans_plusplus(make(np.ldexp(X, power)), 3, random_state=0)
    np.testing.assert_array_equal(scaled, at_one)


@pytest.mark.parametrize("make", CONTAINERS)
def test_the_largest_doubles_of_both_signs_are_told_apart(make):
    most = np.finfo(np.float64).max
    model = KMeans(2, init=[[-most], [most]]).fit(make(np.array([[-most], [-most], [most]])))
    np.testing.assert_array_equal(model.labels_, [0, 0, 1])
    np.testing.assert_array_equal(model.cluster_centers_, [[-most], [most]])


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_the_smallest_doubles_are_no_nan(make):
    least = np.array([[0.0], [0.0], [5e-324], [5e-324]])
    model = KMeans(2, init=[[0.0], [5e-324]]).fit(make(least))
    assert model.inertia_ == 0
    assert np.isin(model.cluster_centers_, least).all()


CLOUD = np.random.default_rng(1).normal(size=(500, 4)).astype(np.float32)


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("scale", [1e-19, 1e19, 1e-30, 1e30])
def test_float32_at_any_scale_has_the_labels_of_scale_one(make, scale):
    rows = CLOUD * np.float32(scale)
    at_one = fit(make(CLOUD), init=CLOUD[:3], tol=0)
    scaled = fit(make(rows), init=rows[:3], tol=0)
    np.testing.assert_array_equal(scaled.labels_, at_one.labels_)
    np.testing.assert_array_equal(scaled.predict(make(rows)), at_one.labels_)
    np.testing.assert_allclose(
        scaled.transform(make(rows)), at_one.transform(make(CLOUD)) * np.float32(scale), rtol=1e-5
    )
    assert scaled.inertia_ == pytest.approx(at_one.inertia_ * scale**2, rel=1e-5)


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("power", [-63, 63])
def test_float32_scaled_by_a_power_of_two_makes_the_same_random_choices(make, power):
    at_one = KMeans(5, random_state=0).fit(make(CLOUD))
    scaled = KMeans(5, random_state=0).fit(make(np.ldexp(CLOUD, power)))
    np.testing.assert_array_equal(scaled.labels_, at_one.labels_)
    assert scaled.n_iter_ == at_one.n_iter_


@pytest.mark.parametrize("halt", [None, MaxIter(5)])
def test_an_infinite_tolerance_stops_after_one_iteration_unless_replaced(halt):
    model = fit(X, init=X[:3], tol=np.inf, halt=halt)
    assert (model.n_iter_ == 1) == (halt is None)

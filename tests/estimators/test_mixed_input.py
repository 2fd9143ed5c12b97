"""Tables of numbers and categories: the same rows from every container, clear errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator

from partita._common.errors import ParameterError
from partita.estimators.mixed_input import (
    check_complete_numbers,
    check_mixed_fit,
    check_mixed_rows,
    features_state,
    restored_features,
)
from partita.model_file.loading import CheckedFields

FRAME = pd.DataFrame(
    {
        "age": [31, 22.5, None],
        "plan": ["b", "a", None],
        "active": [True, False, True],
        "size": pd.Categorical(["M", "S", "M"], ["S", "M", "L"], ordered=True),
        "zip": [1010, 1020, 1010],
    }
)
CONTAINERS = {
    "pandas": lambda: FRAME,
    "pandas objects": lambda: FRAME.astype({"plan": object, "active": object}),
    "polars": lambda: pl.from_pandas(FRAME).with_columns(pl.col("size").cast(pl.Enum("SML"))),
    "pyarrow": lambda: pa.Table.from_pandas(FRAME, preserve_index=False),
    "record batch": lambda: pa.RecordBatch.from_pandas(FRAME, preserve_index=False),
}


class Reader(BaseEstimator):
    """An estimator that only reads its rows."""

    def fit(self, X, categorical="auto"):
        self.rows, self.features, attributes = check_mixed_fit(self, X, categorical)
        vars(self).update(attributes)
        return self

    def read(self, X):
        return check_mixed_rows(self, X, self.features)


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_dataframe_gives_the_same_rows(container):
    reader = Reader().fit(CONTAINERS[container](), categorical=["zip"])
    assert reader.features.number_names == ("age",)
    assert reader.features.category_names == ("plan", "active", "size", "zip")
    assert reader.features.categories == (("a", "b"), (False, True), ("S", "M", "L"), (1010, 1020))
    assert reader.features.ordered == (False, False, False, True, False)
    np.testing.assert_array_equal(reader.rows.numbers, [[31], [22.5], [np.nan]])
    np.testing.assert_array_equal(reader.rows.codes, [[1, 1, 1, 0], [0, 0, 0, 1], [-1, 1, 1, 0]])


@pytest.mark.parametrize("values", [FRAME.to_numpy(), FRAME.to_numpy().tolist()], ids=type)
def test_arrays_and_lists_of_objects_hold_numbers_and_categories(values):
    reader = Reader().fit(values, categorical=[-1])
    assert reader.features.names[0] == "feature 0"
    assert reader.features.categories[-1] == (1010, 1020)
    np.testing.assert_array_equal(reader.rows.codes[:, 0], [1, 0, -1])
    np.testing.assert_array_equal(reader.rows.numbers[:, 0], [31, 22.5, np.nan])


def test_arrays_of_numbers_are_numbers_unless_chosen():
    values = np.array([[1, 2], [3, 2]], dtype=np.float32)
    rows = Reader().fit(values).rows
    assert rows.numbers.dtype == np.float64
    assert rows.codes.shape == (2, 0)
    reader = Reader().fit(values, categorical=[0])
    assert reader.features.categories == ((1, 3),)
    np.testing.assert_array_equal(reader.rows.numbers, [[2], [2]])


def test_new_rows_have_the_codes_of_the_fit_and_one_for_the_unseen():
    reader = Reader().fit(FRAME, categorical=["zip"])
    new = FRAME.assign(plan=["c", None, "b"], zip=[1020, 1.5, np.nan])
    codes = reader.read(new).codes
    np.testing.assert_array_equal(codes[:, 0], [2, -1, 1])
    np.testing.assert_array_equal(codes[:, 3], [1, 2, -1])
    view = reader.features.view(reader.read(new))
    assert view.categories["active"].values == ("no", "yes")
    np.testing.assert_array_equal(view.categories["plan"].codes, [-1, -1, 1])


def test_columns_of_a_model_file_are_those_of_the_fit():
    features = Reader().fit(FRAME, categorical=["zip"]).features
    assert restored_features(CheckedFields(features_state(features)), 5) == features


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("names", ["age"]),
        ("categories", {"7": ["a"]}),
        ("categories", {"1": ["a", "a"]}),
        ("categories", {"1": ["a", 1]}),
        ("categories", {"1": [None]}),
        ("categories", {"1": "ab"}),
        ("ordered", [1, 0, 0, 0, 0]),
        ("ordered", None),
    ],
)
def test_damaged_columns_of_a_model_file_are_refused(field, value):
    state = features_state(Reader().fit(FRAME, categorical=["zip"]).features)
    with pytest.raises(ValueError, match=r"names|categories|ordered"):
        restored_features(CheckedFields({**state, field: value}), 5)


BAD = {
    "dates": (pd.DataFrame({"since": pd.to_datetime(["2020-01-01"])}), "'since' .dates"),
    "dates of objects": (np.array([[np.datetime64("2020-01-01")]]), "dates"),
    "lists": (pl.DataFrame({"tags": [[1, 2]]}), "'tags' .lists"),
    "dictionaries": (np.array([[{}]], dtype=object), "objects"),
    "two kinds": (pd.DataFrame({"a": ["x", 1]}), "numbers mixed with text"),
    "one name twice": (pd.DataFrame([[1, 2]], columns=["a", "a"]), "unique column names"),
    "infinity": (pd.DataFrame({"a": [1.0, np.inf]}), "infinity.*'a'"),
    "huge integers": (np.array([[10**400]], dtype=object), "beyond"),
    "a lazy frame": (pl.DataFrame({"a": [1]}).lazy(), "collect"),
    "complex numbers": (np.array([[1j]]), "[Cc]omplex"),
    "no rows": (pd.DataFrame({"a": []}), "0 sample"),
    "no columns": (pd.DataFrame(index=[0, 1]), "0 feature"),
    "one dimension": (["a", "b"], "1D"),
    "ragged lists": ([[1, "a"], [2]], "one row per sample"),
    "nothing": (None, "got None"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_say_what_is_wrong(case):
    values, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        Reader().fit(values)


@pytest.mark.parametrize("chosen", ["plan", 7, {"zip"}, ["zap"], [5], [1.0], [None], [True]])
def test_categorical_names_columns(chosen):
    with pytest.raises(ParameterError, match="categorical"):
        Reader().fit(FRAME, categorical=chosen)


def test_numbers_stay_numbers_and_texts_stay_texts():
    reader = Reader().fit(FRAME, categorical=["zip"])
    with pytest.raises(ParameterError, match=r"X\['age'\].*numbers"):
        reader.read(FRAME.assign(age=["a", "b", "c"]))
    with pytest.raises(ParameterError, match=r"X\['plan'\].*texts, as in the fit, got numbers"):
        reader.read(FRAME.assign(plan=[1, 2, 3]))
    with pytest.raises(ValueError, match="feature names"):
        reader.read(FRAME[FRAME.columns[::-1]])


def test_missing_numbers_are_named():
    reader = Reader().fit(FRAME)
    with pytest.raises(ParameterError, match="NaN: 1 of 3 rows, in column 'age'"):
        check_complete_numbers(reader.rows, reader.features)


def test_missing_values_of_all_kinds_are_missing():
    cells = np.array([["a", None, np.nan, pd.NA, pd.NaT, "a"]], dtype=object).T
    np.testing.assert_array_equal(Reader().fit(cells).rows.codes[:, 0], [0, -1, -1, -1, -1, 0])


def test_intervals_are_categories_in_their_order():
    bins = pd.cut(pd.Series([10.0, 1.0, 5.0]), [0, 2, 6, 20])
    reader = Reader().fit(pd.DataFrame({"bin": bins}))
    assert reader.features.categories == (("(0, 2]", "(2, 6]", "(6, 20]"),)
    assert reader.rows.codes.ravel().tolist() == [2, 0, 1]

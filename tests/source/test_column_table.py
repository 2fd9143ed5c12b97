"""`ColumnTable`: rows of numbers and categories that consumers slice as they slice arrays."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita import KMedoids, KPrototypes
from partita.source.column_table import ColumnTable, as_texts, column_table
from partita.source.mixed_columns import Factor

FRAME = pd.DataFrame({
    "x": [1.0, 2.0, np.nan, 9.0, 8.0, 9.5],
    "art": ["a", "b", None, "c", "c", "b"],
    "flag": [True, False, True, True, False, True],
    "code": [7, 8, 7, 9, 9, 8],
})  # fmt: skip
COMPLETE = FRAME.assign(x=FRAME["x"].fillna(3.0))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9))
def test_rows_of_a_table_are_those_of_its_frame(rows):
    taken, expected = column_table(FRAME)[rows], column_table(FRAME.iloc[rows])
    assert taken.shape == (len(rows), 4)
    for one, other in zip(taken.columns, expected.columns, strict=True):
        if isinstance(one, Factor):
            texts = [(*one.levels, None)[code] for code in one.codes]
            assert texts == [(*other.levels, None)[code] for code in other.codes]
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("model", "frame"),
    [
        (KMedoids(2, metric="gower", random_state=0), FRAME),
        (KMedoids(2, metric="gower", metric_params={"categorical": ["code"]}), FRAME),
        (KPrototypes(2, categorical=["code"], random_state=0), COMPLETE),
    ],
    ids=["gower", "gower with a code", "prototypes"],
)
def test_members_take_a_table_as_they_take_its_frame(model, frame):
    by_frame = model.fit(frame)
    labels, J = by_frame.labels_, by_frame.inertia_
    table = column_table(frame)
    np.testing.assert_array_equal(by_frame.predict(table), labels)
    again = model.fit(table)
    np.testing.assert_array_equal(again.labels_, labels)
    assert again.inertia_ == J
    np.testing.assert_array_equal(again.feature_names_in_, frame.columns)
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.predict(ColumnTable(table.columns[:2], table.names[:2]))
    with pytest.raises(ValueError, match="columns of the fit"):
        model.predict(ColumnTable(table.columns, ("y", *table.names[1:])))


def test_categories_as_texts_keep_their_rows():
    factor = Factor((True, 2.0, 10), np.array([2, 0, -1, 1], np.int32))
    texts = as_texts(factor)
    assert texts.levels == ("10", "2", "yes")
    assert [(*texts.levels, None)[code] for code in texts.codes] == ["10", "yes", None, "2"]


@given(st.permutations(range(6)))
def test_cells_as_objects_are_read_again_as_the_same_table(rows):
    table = column_table(FRAME)[rows]
    again = column_table(table.as_objects())
    for one, other in zip(table.columns, again.columns, strict=True):
        if isinstance(one, Factor):
            texts = [(*one.levels, None)[code] for code in one.codes]
            assert texts == [(*other.levels, None)[code] for code in other.codes]
        else:
            np.testing.assert_array_equal(one, other)

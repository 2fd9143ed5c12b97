"""Columns of categories: which they are, and their codes."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.table_files import table_of, write_file

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import read_table  # noqa: E402
from partita.tables.category_columns import category_columns, encode_categories  # noqa: E402


def decoded(column):
    return [None if code < 0 else column.values[code] for code in column.codes]


def test_text_flags_and_numbers_of_few_values_are_categories():
    n = 60
    table = table_of(
        city=["Wien", " Graz", None] * 20,
        flag=[True, False, None] * 20,
        size=[1, 2, 2] * 20,
        coin=[0.0, float("nan"), 1.0] * 20,
        name=[f"p{i}" for i in range(n)],
        pair=[f"p{i // 2}" for i in range(n)],
        x=np.arange(n) * 0.5,
        one=["same"] * n,
        gap=["-", "n.a.", "x"] * 20,
        day=["2024-01-01", "2024-01-02", "2024-01-03"] * 20,
        parts=[[1], [2], [3]] * 20,
    )
    found = category_columns(table, table.names, np.arange(n))
    assert list(found) == ["city", "flag", "size", "coin"]
    assert decoded(found["city"])[:3] == ["Wien", "Graz", None]
    assert decoded(found["flag"])[:3] == ["yes", "no", None]
    assert decoded(found["size"])[:3] == ["1", "2", "2"]
    assert decoded(found["coin"])[:3] == ["0", None, "1"]


def test_only_the_rows_that_were_kept_count(tmp_path):
    table = read_table(write_file(tmp_path, "c,x\n" + "a,1\nb,2\nz,3\n" * 4))
    kept = np.array([i for i in range(12) if i % 3 < 2])
    found = category_columns(table, ["c"], kept)
    assert found["c"].values == ("a", "b")
    assert len(found["c"].codes) == 8


def test_large_columns_of_categories_are_encoded():
    names = pa.chunked_array([["a", "b"] * 10, ["c", "a"] * 10]).dictionary_encode()
    found = category_columns(table_of(c=names), ["c"], np.arange(40))
    assert found["c"].values == ("a", "b", "c")


def test_values_of_python_are_encoded_alike():
    import pandas as pd

    values = ["a", None, float("nan"), True, np.False_, 7, pd.NaT, pd.NA, "?"]
    column = encode_categories(values)
    assert decoded(column) == ["a", None, None, "yes", "no", "7", None, None, None]

"""The rules for cells: missing, numbers, decimal commas, booleans, dates."""

from __future__ import annotations

import pytest
from helpers.table_files import growth, read_columns, write_file

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import (  # noqa: E402
    read_table,
    select,
)
from partita.tables.cell_types import is_number  # noqa: E402


def test_decimal_commas_go_with_semicolons(tmp_path):
    assert read_columns(write_file(tmp_path, "a;b\n1,5;-2e1\n,5;3\n")) == {
        "a": [1.5, 0.5],
        "b": [-20, 3],
    }
    assert read_columns(write_file(tmp_path, "1,5;2,5\n3,5;4,5\n")) == {
        "c0": [1.5, 3.5],
        "c1": [2.5, 4.5],
    }
    # each column is read by itself
    assert read_columns(write_file(tmp_path, "a;b\n1,5;2.5\n")) == {"a": [1.5], "b": [2.5]}


@pytest.mark.parametrize("cell", ["3.5 kg", "1_000", "0x10", "1e", "--1", "٣", "1.2.3"])
def test_what_only_looks_like_a_number_is_text(tmp_path, cell):
    found = select(read_table(write_file(tmp_path, f"a,b\n1,{cell}\n2,{cell}\n")))
    assert found.names == ("a",)
    assert found.left_out["b"] == f"text, as {cell!r} in line 2"


def test_numbers_are_read_as_python_reads_them(tmp_path):
    cells = ["1.5", "+2", "-3e-5", ".5", "7.", " 8 ", "1E3", "0.1", "123456789.123456789"]
    column = read_columns(write_file(tmp_path, "a\n" + "\n".join(cells)))["a"]
    assert column == [float(cell) for cell in cells]


@pytest.mark.parametrize("word", ["", "NA", "n/a", "NaN", "nan", "NULL", "None", "?", " "])
def test_words_for_missing_values(tmp_path, word):
    assert read_columns(write_file(tmp_path, f"a,b\n1,2\n{word},3\n"))["a"] == [1, None]


def test_booleans_are_numbers_and_dates_are_not(tmp_path):
    text = "t,d,s\nTrue,2024-01-02,2024-01-02 10:00\nfalse,2024-03-04,2024-03-04 11:30\n"
    found = select(read_table(write_file(tmp_path, text)))
    assert found.X.tolist() == [[1], [0]]
    assert found.left_out == {"d": "dates", "s": "dates"}


@pytest.mark.parametrize("cell", ["1{}x", "1,{}x", "1.{}x", "1e{}x", ".{}x", "{}"])
def test_long_cells_are_tried_in_linear_time(cell, monkeypatch):
    monkeypatch.setattr("partita.tables.cell_types.MAX_NUMBER_CHARACTERS", 10**9)
    assert growth(lambda n: is_number(cell.format("1" * n)), 500) < 32


def test_cells_longer_than_any_double_are_no_numbers():
    assert is_number("-0." + "0" * 323 + "5")
    assert not is_number("1" * 5000)


def test_hexadecimal_and_nan_with_a_payload_are_text(tmp_path):
    path = write_file(tmp_path, "a,b,c\n1,1.5,5\n0x1F,nan(7),-nan\n")
    assert read_columns(path) == {"a": ["1", "0x1F"], "b": ["1.5", "nan(7)"], "c": [5, None]}


@pytest.mark.parametrize("cell", ["9007199254740993", "12345678901234567890", "9" * 400])
def test_whole_numbers_that_no_double_holds_are_left_out_however_long(tmp_path, cell):
    table = read_table(write_file(tmp_path, f"id,x\n1,1\n-{cell},2\n"))
    why = select(table).left_out["id"]
    assert why == "integers beyond 2^53, as in line 3, which no double holds"
    assert str(table.data["id"][1]) == f"-{cell}"
    assert select(table).nearly == ()


def test_whole_numbers_that_a_double_holds_are_features_however_long(tmp_path):
    table = read_table(write_file(tmp_path, f"a,b\n{10**20},1.5\n1,{10**20 + 1}\n"))
    assert select(table).X.tolist() == [[1e20, 1.5], [1, 1e20]]  # beside 1.5, b is of doubles


@pytest.mark.parametrize("delimiter", [";", "\t", "|", " "])
def test_decimal_commas_go_with_every_delimiter_but_the_comma(tmp_path, delimiter):
    for header in ("a{}b\n", ""):
        text = (header + "1,5{}2,25\n3,5{}4,5\n").replace("{}", delimiter)
        table = read_table(write_file(tmp_path, text))
        assert list(table.data.to_pydict().values()) == [[1.5, 3.5], [2.25, 4.5]]
        assert (table.delimiter, table.decimal) == (delimiter, ",")
        assert table.named == bool(header)


def test_a_comma_that_may_part_thousands_is_decimal_only_beside_another(tmp_path):
    assert read_columns(write_file(tmp_path, "a\tb\n1,234\t2\n"))["a"] == [1234]
    assert read_columns(write_file(tmp_path, "a\tb\n1,234\t0,125\n"))["a"] == [1.234]
    assert read_columns(write_file(tmp_path, "a;b\n1,234;2\n"))["a"] == [1.234]


def test_points_between_thousands_do_not_make_commas_text(tmp_path):
    rows = "".join(f"1.{i:03};{i},5\n" for i in range(40))
    (tmp_path / "a.csv").write_text("x;y\n" + rows)
    found = select(read_table(tmp_path / "a.csv"))
    assert found.names == ("x", "y")
    assert found.X[1].tolist() == [1001, 1.5]
    (tmp_path / "b.csv").write_text("x;y\n1.5;0,5\n2.25;1,5\n")
    assert select(read_table(tmp_path / "b.csv")).X.tolist() == [[1.5, 0.5], [2.25, 1.5]]

"""Delimiters, headers, byte order marks and line endings are detected, and kept in copies."""

from __future__ import annotations

import pytest
from helpers.table_files import growth, read_columns, write_file

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import (  # noqa: E402
    read_table,
    select,
    write_table,
)
from partita.tables.text_layout import detect_delimiter  # noqa: E402


@pytest.mark.parametrize("first", ["1,NA,3", "1,,3", "?,2,3", ",,3", "-1e5, ,inf"])
def test_numbers_and_gaps_are_no_header(tmp_path, first):
    table = read_table(write_file(tmp_path, f"{first}\n4,5,6\n"))
    assert table.names == ("c0", "c1", "c2")
    assert table.data.num_rows == 2
    assert "no header (the first line holds numbers and gaps)" in table.notes[1]


@pytest.mark.parametrize("first", ["NA,,", "x,,3", ",0,1"])
def test_names_are_a_header(tmp_path, first):
    """Also gaps alone, and what pandas writes for columns without names."""
    assert read_table(write_file(tmp_path, f"{first}\n4,5,6\n")).data.num_rows == 1


def test_a_header_that_was_denied_is_not_said_to_hold_numbers(tmp_path):
    path = write_file(tmp_path, "a,b\n3,4\n")
    assert "no header (as requested)" in read_table(path, header=False).notes[1]
    path = write_file(tmp_path, "1,2\n3,4\n")
    assert "(the first line holds numbers):" in read_table(path).notes[1]


def test_commas_with_spaces_after_them_are_delimiters():
    assert detect_delimiter(b"x, y, z\n1, 2, 3\n4, 5, 6\n") == ","
    assert detect_delimiter(b"1, 2, 3\n4, 5, 6\n") == ","


def test_a_delimiter_by_which_a_quote_has_no_end_is_less_likely():
    assert detect_delimiter(b'a,b;c\nx,"y;z\nu;v\n') == ";"


@pytest.mark.parametrize(("start", "end"), [(";", "tsv"), ("\t", "csv"), (";", "csv")])
def test_copies_of_decimal_commas_are_read_back_as_numbers(tmp_path, start, end):
    table = read_table(write_file(tmp_path, f"who{start}x\r\nann{start}1,5\r\nbob{start}2,5\r\n"))
    copy = tmp_path / f"copy.{end}"
    write_table(table.text, copy, **table.layout(end))
    assert read_columns(copy) == table.data.to_pydict()
    assert copy.read_bytes().count(b"\r\n") == 3


@pytest.mark.parametrize("given", [None, "utf-8", "UTF8", "utf_8_sig"])
def test_a_mark_is_no_letter_of_the_first_name(tmp_path, given):
    table = read_table(write_file(tmp_path, "\ufeffé,y\n1,2\n"), encoding=given)
    assert table.names == ("é", "y")
    assert table.encoding == "utf-8-sig"  # so a copy has it again
    path = write_file(tmp_path, "\ufeffx,y\n1,2\n".encode("utf-16-le"))
    assert read_table(path, encoding="utf-16-le").names == ("x", "y")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_end_of_lines_is_that_of_the_first_record(tmp_path, end):
    inner = "\r\n" if end == "\n" else "\n"
    table = read_table(write_file(tmp_path, f'"a{inner}b",c{end}1,2{end}'))
    assert table.newline == end
    copy = tmp_path / "copy.csv"
    write_table(table.text, copy, **table.layout("csv"))
    assert copy.read_bytes() == f'"a{inner}b",c{end}1,2{end}'.encode()


@pytest.mark.heavy
def test_many_columns_take_linear_time(tmp_path):
    def work(n):
        text = ",".join(f"x{i}" for i in range(n)) + "\n" + (",".join(["1"] * n) + "\n") * 3
        table = read_table(write_file(tmp_path, text))
        assert select(table).X.shape == (3, n)
        assert select(table, columns=table.names, exclude=table.names[::2]).X.shape == (3, n // 2)

    assert growth(work, 1000) < 32


def test_the_delimiter_is_found_by_few_cells(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "partita.tables.text_layout.is_number", lambda *cell: asked.append(cell) is None
    )
    row = b",".join([b"1"] * 50_000) + b"\n"
    assert detect_delimiter(row * 20) == ","
    assert len(asked) < 5000


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_tabs_under_the_name_of_csv_stay_tabs(tmp_path, encoding):
    data, copy = tmp_path / "a.csv", tmp_path / "b.csv"
    data.write_bytes("who\tx\r\nä\t1\r\nb\t2\r\n".encode(encoding))
    table = read_table(data)
    assert table.format == "tsv"
    write_table(table.text, copy, **table.layout("csv"))
    assert copy.read_bytes() == data.read_bytes()
    real = tmp_path / "a.tsv"
    real.write_bytes(data.read_bytes())
    assert read_table(real).layout("csv")["delimiter"] is None

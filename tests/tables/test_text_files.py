"""Text files: what is written is read, and no bytes break the reader."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.table_files import read_columns, write_file
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import (  # noqa: E402
    TableError,
    read_table,
    select,
    write_table,
)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_delimiter_and_encoding_are_detected_and_said(tmp_path, delimiter, encoding):
    rows = [["größe", "b", "wer"], ["1", "2", "é"], ["3", "4", "y"], ["5", "6", "z"]]
    text = "\n".join(delimiter.join(row) for row in rows)
    table = read_table(write_file(tmp_path, text.encode(encoding)))
    assert table.data.to_pydict() == {"größe": [1, 3, 5], "b": [2, 4, 6], "wer": ["é", "y", "z"]}
    assert (table.delimiter, table.encoding) == (delimiter, encoding)
    assert table.format == ("tsv" if delimiter == "\t" else "csv")
    assert "delimiter" in table.notes[0]


def test_bytes_that_windows_does_not_know_are_latin_1(tmp_path):
    assert read_table(write_file(tmp_path, b"a\x81,b\n1,2\n")).encoding == "latin-1"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_in_any_way(tmp_path, end):
    assert read_columns(write_file(tmp_path, f"a,b{end}1,2{end}3,4{end}")) == {
        "a": [1, 3],
        "b": [2, 4],
    }


def test_a_first_line_of_numbers_is_no_header(tmp_path):
    path = write_file(tmp_path, "1,2\n3,4\n")
    table = read_table(path)
    assert not table.named
    assert table.data.to_pydict() == {"c0": [1, 3], "c1": [2, 4]}
    assert read_columns(path, header=True) == {"1": [3], "2": [4]}
    assert read_columns(write_file(tmp_path, "a,b\n3,4\n"), header=False) == {
        "c0": ["a", "3"],
        "c1": ["b", "4"],
    }


def test_quoted_cells_may_hold_anything(tmp_path):
    path = write_file(tmp_path, 'a,b\n"x\ny, ""z""",1\n\n"it\'s",2\n5" disk,3\n')
    table = read_table(path)
    assert table.data.to_pydict() == {"a": ['x\ny, "z"', "it's", '5" disk'], "b": [1, 2, 3]}
    assert [table.where(i) for i in range(3)] == ["line 2", "line 5", "line 6"]


def test_columns_of_the_same_name_become_different_and_that_is_said(tmp_path):
    table = read_table(write_file(tmp_path, "x,x,x_2,,x\n1,2,3,4,5\n"))
    assert table.names == ("x", "x_3", "x_2", "c3", "x_4")
    assert any("duplicate column names" in note for note in table.notes)


def test_empty_lines_before_the_header_do_not_shift_it(tmp_path):
    table = read_table(write_file(tmp_path, "\n\na,b\n1,x\n"))
    assert table.data.to_pydict() == {"a": [1], "b": ["x"]}
    assert table.where(0) == "line 4"


@pytest.mark.heavy
def test_very_many_columns_and_very_long_cells(tmp_path):
    wide = ",".join(f"x{i}" for i in range(5000)) + "\n" + ",".join(["1.5"] * 5000)
    assert select(read_table(write_file(tmp_path, wide))).X.shape == (1, 5000)
    long = read_table(write_file(tmp_path, f'a,b\n1,"{"y" * (17 << 20)}"\n2,z\n'))
    assert long.data["a"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"a,b\n", "no rows"),
        (b"a,b\n1,2\n3\n", "line 3: 1 cell found, but the first line has 2 columns"),
        (b'a,b\n"x\ny",2\n\n3,4,5\n', "line 5: 3 cells found, but the first line has 2 columns"),
        (b"a,b\n1,\x002\n", "line 2: there is a NUL byte"),
        (b'a,b\n1,"x\n2,y\n', "line 2: a quote opens here and is never closed"),
        (b"\x1f\x8b\x08", "compressed by gzip, but cannot be decompressed"),
        (b"\x28\xb5\x2f\xfd", "compressed by zstd, which is not supported"),
        (b"PAR1....", "not a parquet file"),
        (b"ARROW1\0\0....", "not a feather file"),
        (b"\x93NUMPY\x01\x00", "not a .npy file"),
        (b"PK\x03\x04....", "not a .npz file"),
    ],
)
def test_a_damaged_file_is_named_with_the_place_of_the_damage(tmp_path, content, words):
    path = write_file(tmp_path, content)
    with pytest.raises(TableError) as caught:
        read_table(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_wrong_encodings_and_delimiters_that_were_given(tmp_path):
    path = write_file(tmp_path, "a,b\n1,é\n".encode("latin-1"))
    with pytest.raises(TableError, match="line 2: this is not utf-8"):
        read_table(path, encoding="utf-8")
    with pytest.raises(
        TableError, match="`encoding` must be the name of a text encoding, got 'utf-99'"
    ):
        read_table(path, encoding="utf-99")
    with pytest.raises(TableError, match="`delimiter` must be a single ASCII character"):
        read_table(path, delimiter=",,")
    with pytest.raises(TableError, match="`delimiter` must be a single ASCII character"):
        read_table(path, delimiter="·")


def reads_or_says_why(path):
    """Check that a file gives a whole table, or an error that names it; return whether it did."""
    fault = ""
    try:
        table = read_table(path)
        selection = select(table)
    except TableError as error:
        fault = str(error)
    if fault:
        assert str(path) in fault
        return False
    assert table.data.num_rows > 0
    assert len(set(table.names)) == len(table.names)
    assert selection.X.shape == (table.data.num_rows, len(selection.names))
    assert np.isfinite(selection.X).all()
    assert set(selection.names).isdisjoint(selection.left_out)
    return True


def test_the_check_of_broken_files_sees_both_outcomes(tmp_path):
    assert reads_or_says_why(write_file(tmp_path, "a,b\n1,x\n"))
    assert not reads_or_says_why(write_file(tmp_path, '"'))


cell_texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@pytest.mark.heavy
@given(
    rows=st.lists(st.lists(cell_texts, min_size=3, max_size=3), min_size=1, max_size=8),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
)
def test_text_that_is_written_is_read_back_cell_by_cell(tmp_path_factory, rows, delimiter):
    data = pa.table([pa.array(column) for column in zip(*rows, strict=True)], names=["a", "b", "c"])
    path = tmp_path_factory.mktemp("t") / "a.csv"
    write_table(data, path, "csv", delimiter=delimiter)
    back = read_table(path, delimiter=delimiter, encoding="utf-8", header=True)
    assert back.text.to_pydict() == data.to_pydict()


@given(st.lists(st.sampled_from(['"', "a", ",", "\n", "\r", ";", " ", "1"]), max_size=30))
def test_no_text_breaks_the_reader(tmp_path_factory, letters):
    path = write_file(tmp_path_factory.mktemp("t"), "".join(letters))
    reads_or_says_why(path)


@given(
    st.binary(max_size=60),
    st.sampled_from(["", "PAR1", "ARROW1", "\x93NUMPY\x01\x00", "PK\x03\x04"]),
)
def test_no_bytes_break_the_reader(tmp_path_factory, content, magic):
    path = write_file(tmp_path_factory.mktemp("t"), magic.encode("latin-1") + content)
    reads_or_says_why(path)

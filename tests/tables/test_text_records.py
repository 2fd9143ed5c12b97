"""Records of text: where they begin and end, in linear time."""

from __future__ import annotations

import pytest
from helpers.table_files import growth, read_columns, write_file
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import (  # noqa: E402
    TableError,
    read_table,
)
from partita.tables.file_options import FileOptions  # noqa: E402
from partita.tables.text_files import read_text  # noqa: E402
from partita.tables.text_layout import detect_delimiter  # noqa: E402
from partita.tables.text_records import LineNumbers, iter_records, split_record  # noqa: E402


@pytest.mark.heavy
def test_a_stray_quote_in_a_large_file_takes_linear_time():
    body = b'a,b\n1,"x\n' + b"1,2\n" * 200_000
    assert len(list(iter_records(body))) == 2


def test_pieces_of_a_record():
    assert split_record('a,"b,""c""",d', ",") == ["a", 'b,"c"', "d"]
    assert split_record("a,,", ",") == ["a", "", ""]
    assert detect_delimiter(b"a b,c\nd e,f\ng h,i,j\n") == ","  # words, and one line too long
    assert detect_delimiter(b"name,x\nJohn Smith,1\nAnn Lee,2\n") == ","


def test_two_quotes_at_the_end_of_a_line_do_not_close_a_cell():
    assert len(list(iter_records(b'a,b\n"x""\ny",1\n'))) == 2
    assert len(list(iter_records(b'a,b\n"x"""\ny,1\n'))) == 3


@pytest.mark.parametrize(
    ("body", "size"),
    [
        (lambda n: b'"' + b"x" * n + b'\n"' + b'""' * n + b'\ny",1\n', 4000),
        (lambda n: b"x" * n + b',"a"' * (n // 8) + b"\n", 32_000),  # quotes after a long cell
        (lambda n: b'"' + b'x""' * n + b"\n" + b'y"",1\n' * n, 4000),
    ],
)
def test_records_are_found_in_linear_time(body, size):
    assert growth(lambda n: list(iter_records(body(n))), size) < 32


def test_quotes_open_at_the_start_of_a_cell_only(tmp_path):
    path = write_file(tmp_path, 'name,x\n3 "disk,5\n4|"tape;"reel,6\n5;"drum,7\n')
    assert read_columns(path) == {"name": ['3 "disk', '4|"tape;"reel', '5;"drum'], "x": [5, 6, 7]}
    table = read_table(write_file(tmp_path, 'name|x\n"a\nb"|5\n3 "disk|6\n'))
    assert table.data.to_pydict() == {"name": ["a\nb", '3 "disk'], "x": [5, 6]}
    assert table.where(1) == "line 4"
    with pytest.raises(TableError, match="line 2: a quote opens here and is never closed"):
        read_table(write_file(tmp_path, 'name;x\n"disk;5\n'))


@given(
    st.lists(st.sampled_from(['"', '"', "a", "{}", "{}", "\n", "\r", ";", " "]), max_size=25),
    st.sampled_from([",", ";", "|", "\t"]),
)
def test_records_are_the_rows_that_are_parsed(letters, delimiter):
    body = "".join(letters).replace("{}", delimiter).encode()
    try:
        found = read_text(body, "here", FileOptions(delimiter, "utf-8", header=False))
    except TableError:
        return
    assert len(list(iter_records(body, delimiter))) == found.data.num_rows


def test_lines_of_records_are_looked_for_once(tmp_path):
    text = 'a\n\n"x\ny"\n' + "z\n" * 5
    lines = LineNumbers(text.encode(), ",")
    assert [lines.of(i) for i in (6, 0, 1, 2)] == [9, 1, 3, 5]
    assert lines.of(99) == 100  # there is none: as good a guess as any

    def places(n):
        found = LineNumbers(b'"a"\n' * n, ",")
        assert [found.of(n - 1) for _ in range(n)] == [n] * n

    assert growth(places, 500) < 32


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_without_quotes_and_gaps_are_records(end):
    body = end.join(["a", "1", "2", "3"]).encode()
    assert [LineNumbers(body, ",").of(i) for i in range(4)] == [1, 2, 3, 4]
    assert [LineNumbers(end.encode() * 2 + body, ",").of(i) for i in range(4)] == [3, 4, 5, 6]
    gap = body.replace(b"2", b"")
    assert [LineNumbers(gap, ",").of(i) for i in range(3)] == [1, 2, 4]

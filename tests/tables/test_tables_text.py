"""Text is read as it was meant: quotes, headers, decimal commas, marks; and in linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import TableError, read_table, select, write_table  # noqa: E402
from partita.tables.cell_types import is_number  # noqa: E402
from partita.tables.text_files import TextOptions, read_cells  # noqa: E402
from partita.tables.text_layout import detect_delimiter  # noqa: E402
from partita.tables.text_records import LineNumbers, iter_records  # noqa: E402


def file_of(folder, content, name="a.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def columns_of(path, **options):
    return read_table(path, **options).data.to_pydict()


def growth(work, size):
    """How much longer eight times the size takes: 8 if time is linear, 64 if it is quadratic."""

    def seconds(n):
        spent = []
        for _ in range(3):
            start = time.perf_counter()
            work(n)
            spent.append(time.perf_counter() - start)
        return min(spent)

    return seconds(8 * size) / seconds(size)


# --- quotes ---------------------------------------------------------------------------------------


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
    path = file_of(tmp_path, 'name,x\n3 "disk,5\n4|"tape;"reel,6\n5;"drum,7\n')
    assert columns_of(path) == {"name": ['3 "disk', '4|"tape;"reel', '5;"drum'], "x": [5, 6, 7]}
    table = read_table(file_of(tmp_path, 'name|x\n"a\nb"|5\n3 "disk|6\n'))
    assert table.data.to_pydict() == {"name": ["a\nb", '3 "disk'], "x": [5, 6]}
    assert table.where(1) == "line 4"
    with pytest.raises(TableError, match="line 2: a quote opens here and is never closed"):
        read_table(file_of(tmp_path, 'name;x\n"disk;5\n'))


@given(
    st.lists(st.sampled_from(['"', '"', "a", "{}", "{}", "\n", "\r", ";", " "]), max_size=25),
    st.sampled_from([",", ";", "|", "\t"]),
)
def test_records_are_the_rows_that_are_parsed(letters, delimiter):
    body = "".join(letters).replace("{}", delimiter).encode()
    try:
        found = read_cells(body, "here", TextOptions(delimiter, "utf-8", header=False))
    except TableError:
        return
    assert len(list(iter_records(body, delimiter))) == found.columns.num_rows


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


# --- cells ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["1{}x", "1,{}x", "1.{}x", "1e{}x", ".{}x", "{}"])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_long_cells_are_tried_in_linear_time(cell, delimiter, monkeypatch):
    monkeypatch.setattr("partita.tables.cell_types.MAX_NUMBER_CHARACTERS", 10**9)
    assert growth(lambda n: is_number(cell.format("1" * n), delimiter), 500) < 32


def test_cells_longer_than_any_double_are_no_numbers():
    assert is_number("-0." + "0" * 323 + "5")
    assert not is_number("1" * 5000)


def test_hexadecimal_and_nan_with_a_payload_are_text(tmp_path):
    path = file_of(tmp_path, "a,b,c\n1,1.5,5\n0x1F,nan(7),-nan\n")
    assert columns_of(path) == {"a": ["1", "0x1F"], "b": ["1.5", "nan(7)"], "c": [5, None]}


@pytest.mark.parametrize("cell", ["9007199254740993", "12345678901234567890", "9" * 400])
def test_whole_numbers_that_no_double_holds_are_left_out_however_long(tmp_path, cell):
    table = read_table(file_of(tmp_path, f"id,x\n1,1\n-{cell},2\n"))
    why = select(table).left_out["id"]
    assert why == "integers beyond 2^53, as in line 3, which no double holds"
    assert str(table.data["id"][1]) == f"-{cell}"
    assert select(table).nearly == ()


def test_whole_numbers_that_a_double_holds_are_features_however_long(tmp_path):
    table = read_table(file_of(tmp_path, f"a,b\n{10**20},1.5\n1,{10**20 + 1}\n"))
    assert select(table).X.tolist() == [[1e20, 1.5], [1, 1e20]]  # beside 1.5, b is of doubles


# --- headers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["1,NA,3", "1,,3", "?,2,3", ",,3", "-1e5, ,inf"])
def test_numbers_and_gaps_are_no_header(tmp_path, first):
    table = read_table(file_of(tmp_path, f"{first}\n4,5,6\n"))
    assert table.names == ("c0", "c1", "c2")
    assert table.data.num_rows == 2
    assert "no header (the first line holds numbers and gaps)" in table.notes[1]


@pytest.mark.parametrize("first", ["NA,,", "x,,3", ",0,1"])
def test_names_are_a_header(tmp_path, first):
    """Also gaps alone, and what pandas writes for columns without names."""
    assert read_table(file_of(tmp_path, f"{first}\n4,5,6\n")).data.num_rows == 1


def test_a_header_that_was_denied_is_not_said_to_hold_numbers(tmp_path):
    path = file_of(tmp_path, "a,b\n3,4\n")
    assert "no header (as requested)" in read_table(path, header=False).notes[1]
    path = file_of(tmp_path, "1,2\n3,4\n")
    assert "(the first line holds numbers):" in read_table(path).notes[1]


# --- decimal commas -------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [";", "\t", "|", " "])
def test_decimal_commas_go_with_every_delimiter_but_the_comma(tmp_path, delimiter):
    for header in ("a{}b\n", ""):
        text = (header + "1,5{}2,25\n3,5{}4,5\n").replace("{}", delimiter)
        table = read_table(file_of(tmp_path, text))
        assert list(table.data.to_pydict().values()) == [[1.5, 3.5], [2.25, 4.5]]
        assert (table.delimiter, table.decimal) == (delimiter, ",")
        assert table.named == bool(header)


def test_a_comma_that_may_part_thousands_is_decimal_only_beside_another(tmp_path):
    assert columns_of(file_of(tmp_path, "a\tb\n1,234\t2\n"))["a"] == ["1,234"]
    assert columns_of(file_of(tmp_path, "a\tb\n1,234\t0,125\n"))["a"] == [1.234]
    assert columns_of(file_of(tmp_path, "a;b\n1,234;2\n"))["a"] == [1.234]


def test_commas_with_spaces_after_them_are_delimiters():
    assert detect_delimiter(b"x, y, z\n1, 2, 3\n4, 5, 6\n") == ","
    assert detect_delimiter(b"1, 2, 3\n4, 5, 6\n") == ","


def test_a_delimiter_by_which_a_quote_has_no_end_is_less_likely():
    assert detect_delimiter(b'a,b;c\nx,"y;z\nu;v\n') == ";"


@pytest.mark.parametrize(("start", "end"), [(";", "tsv"), ("\t", "csv"), (";", "csv")])
def test_copies_of_decimal_commas_are_read_back_as_numbers(tmp_path, start, end):
    table = read_table(file_of(tmp_path, f"who{start}x\r\nann{start}1,5\r\nbob{start}2,5\r\n"))
    copy = tmp_path / f"copy.{end}"
    write_table(table.text, copy, **table.layout(end))
    assert columns_of(copy) == table.data.to_pydict()
    assert copy.read_bytes().count(b"\r\n") == 3


# --- marks and ends of lines ----------------------------------------------------------------------


@pytest.mark.parametrize("given", [None, "utf-8", "UTF8", "utf_8_sig"])
def test_a_mark_is_no_letter_of_the_first_name(tmp_path, given):
    table = read_table(file_of(tmp_path, "\ufeffé,y\n1,2\n"), encoding=given)
    assert table.names == ("é", "y")
    assert table.encoding == "utf-8-sig"  # so a copy has it again
    path = file_of(tmp_path, "\ufeffx,y\n1,2\n".encode("utf-16-le"))
    assert read_table(path, encoding="utf-16-le").names == ("x", "y")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_end_of_lines_is_that_of_the_first_record(tmp_path, end):
    inner = "\r\n" if end == "\n" else "\n"
    table = read_table(file_of(tmp_path, f'"a{inner}b",c{end}1,2{end}'))
    assert table.newline == end
    copy = tmp_path / "copy.csv"
    write_table(table.text, copy, **table.layout("csv"))
    assert copy.read_bytes() == f'"a{inner}b",c{end}1,2{end}'.encode()


# --- many columns ---------------------------------------------------------------------------------


def test_many_columns_take_linear_time(tmp_path):
    def work(n):
        text = ",".join(f"x{i}" for i in range(n)) + "\n" + (",".join(["1"] * n) + "\n") * 3
        table = read_table(file_of(tmp_path, text))
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


def test_points_between_thousands_do_not_make_commas_text(tmp_path):
    rows = "".join(f"1.{i:03};{i},5\n" for i in range(40))
    (tmp_path / "a.csv").write_text("x;y\n" + rows)
    table = read_table(tmp_path / "a.csv")
    found = select(table)
    assert found.names == ("y",)
    assert found.nearly == ("x",)
    assert "thousands separators" in found.left_out["x"]
    (tmp_path / "b.csv").write_text("x;y\n1.5;0,5\n2.25;1,5\n")
    assert select(read_table(tmp_path / "b.csv")).names == ("x",)


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

"""Lines above the header: titles, Excel's sep=; and lines that the user skips."""

from __future__ import annotations

import pytest
from helpers.table_files import read_columns, write_file

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import TableError, read_table, select, write_table  # noqa: E402

ROWS = "x;1;2\ny;3;4\nz;5;6\n"
COLUMNS = {"who": ["x", "y", "z"], "a": [1, 3, 5], "b": [2, 4, 6]}


@pytest.mark.parametrize(
    "title",
    [
        "Sales report\n\n",
        "Sales report\n",
        "Sales report;;\n;;\n",
        "Sales report\r\n\r\n\r\n",
        '"Sales; in ""thousands"""\n\n',
        "# exported in 2024\n# by nobody\n",
        "Region:\nNorth\n\n",
        "\n\nSales report\n\n",
    ],
)
@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
def test_titles_above_the_header_are_skipped_and_counted(tmp_path, title, delimiter):
    text = (title + "who;a;b\n" + ROWS).replace(";", delimiter)
    table = read_table(write_file(tmp_path, text))
    assert table.data.to_pydict() == COLUMNS
    n_lines = len(title.splitlines())
    assert f"{n_lines} title line{'s' * (n_lines > 1)} skipped" in table.notes
    assert table.where(0) == f"line {n_lines + 2}"


def test_years_may_be_names_below_a_title(tmp_path):
    path = write_file(tmp_path, "Sales\n\nwho;2019;2020\n" + ROWS)
    assert read_table(path).names == ("who", "2019", "2020")


@pytest.mark.parametrize("title", ["", "Sales\n\n", "Sales;;;;\n"])
@pytest.mark.parametrize("groups", [";2023;;2024;", ";Sales;;Cost;", ";;;Cost;"])
def test_names_of_groups_of_columns_are_skipped(tmp_path, title, groups):
    rows = "who;a;b;a;b\nx;1;2;3;4\ny;5;6;7;8\n"
    table = read_table(write_file(tmp_path, f"{title}{groups}\n{rows}"))
    assert table.names == ("who", "a", "b", "a_2", "b_2")
    assert table.data["b"].to_pylist() == [2, 6]
    n_lines = 1 + len(title.splitlines())
    assert f"{n_lines} title line{'s' * (n_lines > 1)} skipped" in table.notes


def test_names_with_gaps_above_data_are_a_header(tmp_path):
    for text in (";a;;b;\nx;1;2;3;4\ny;5;6;7;8\n", ";a;;b;\nx;;u;;v\ny;z;u;v;w\n"):
        assert read_table(write_file(tmp_path, text)).names == ("c0", "a", "c2", "b", "c4")


@pytest.mark.parametrize(
    "text",
    [
        "x\na;1\nb;2\n",  # a header of R: no name for the names of rows
        "a;b\nr1;1;2\nr2;3;4\n",
        "1;2\n3;4;5\n6;7;8\n",
        "1\n3;4;5\n6;7;8\n",
    ],
)
def test_a_short_line_above_data_is_no_title(tmp_path, text):
    with pytest.raises(TableError, match=r"line 2: . cells found, but the first line has"):
        read_table(write_file(tmp_path, text), delimiter=";")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (",city,x\na,Wien,1\nb,Graz,2\n", ("c0", "city", "x")),  # an index of pandas
        (",city\na,Wien\nb,Graz\n", ("c0", "city")),
        ("a,,\n1,2,3\n4,5,6\n", ("a", "c1", "c2")),
        ("1,,\n1,2,3\n4,5,6\n", ("c0", "c1", "c2")),
        ("name,value\nann,1\n", ("name", "value")),
        ("x\n1\n2\n", ("x",)),
    ],
)
def test_a_header_or_a_row_with_gaps_is_no_title(tmp_path, text, names):
    table = read_table(write_file(tmp_path, text))
    assert table.names == names
    assert not any("title" in note for note in table.notes)


@pytest.mark.parametrize("first", ["sep=;\n", '"sep=;"\r\n', "SEP=;\n", "sep=;\n\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_separator_line_of_excel_sets_the_delimiter(tmp_path, first, mark):
    table = read_table(write_file(tmp_path, f"{mark}{first}who;a,b\nx;1,5\n"))
    assert table.data.to_pydict() == {"who": ["x"], "a,b": [1.5]}
    assert table.delimiter == ";"
    assert table.where(0) == f"line {1 + len(first.splitlines()) + 1}"


def test_titles_may_follow_the_separator_line(tmp_path):
    path = write_file(tmp_path, "sep=,\nSales; 2024\n\nwho,a,b\n" + ROWS.replace(";", ","))
    assert read_columns(path) == COLUMNS


def test_lines_are_skipped_on_request(tmp_path):
    path = write_file(tmp_path, "1;2;3\nfirst;x;y\nwho;a;b\n" + ROWS)
    assert read_columns(path, skip_rows=2) == COLUMNS
    assert read_table(path, skip_rows=2).where(0) == "line 4"
    assert read_table(path, skip_rows=3, header=False).data.num_rows == 3
    with pytest.raises(TableError, match="nothing after the lines that are skipped"):
        read_table(path, skip_rows=99)


def test_no_title_is_looked_for_if_none_is_to_be_skipped(tmp_path):
    path = write_file(tmp_path, "Sales;;\nwho;a;b\n" + ROWS)
    assert read_table(path).names == ("who", "a", "b")
    assert read_table(path, skip_rows=0).names == ("Sales", "c1", "c2")
    assert read_table(path, header=False).names == ("c0", "c1", "c2")


def test_places_below_a_title_are_lines_of_the_file(tmp_path):
    text = "Sales\n\nwho;a;b\n" + ROWS * 10 + "x;1;?\nx;1;oops\n"
    found = select(read_table(write_file(tmp_path, text)))
    assert found.left_out["b"].endswith("but not 'oops' in line 35")
    with pytest.raises(TableError, match="line 7: 2 cells found"):
        read_table(write_file(tmp_path, "Sales\n\nwho;a;b\n" + ROWS + "x;1\n"))
    with pytest.raises(TableError, match="line 7: a quote opens here"):
        read_table(write_file(tmp_path, "Sales\n\nwho;a;b\n" + ROWS + 'x;1;"\n'))


def test_copies_have_no_titles(tmp_path):
    table = read_table(write_file(tmp_path, "Sales\n\nwho;a;b\n" + ROWS))
    write_table(table.text, tmp_path / "b.csv", **table.layout("csv"))
    assert (tmp_path / "b.csv").read_text() == "who;a;b\n" + ROWS


def test_options_of_other_formats_are_refused(tmp_path):
    lines = write_file(tmp_path, '{"a": 1}\n{"a": 2}\n', "a.jsonl")
    with pytest.raises(TableError, match=r"`skip_rows` must not be given for .*, got 2"):
        read_table(lines, skip_rows=2)
    assert read_table(lines, skip_rows=0).data.num_rows == 2
    with pytest.raises(TableError, match=r"`sheet` must not be given for .*, got 'Data'"):
        read_table(lines, sheet="Data")

"""Workbooks: sheets are read like text, and no archive breaks the reader."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import pytest
from helpers.table_files import peak_of, write_file
from helpers.workbooks import DATE, MOMENT, PERCENT, Fault, Styled, sheet_xml, workbook

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")
pytest.importorskip("python_calamine", reason="python-calamine is not installed: no workbooks")

from partita.tables import TableError, read_table, select, write_table  # noqa: E402

DAY, NOON = Styled((45000, DATE)), Styled((45000.5, MOMENT))
ROWS = [["who", "x", "y"], ["ann", 1, 2.5], ["bob", 3, 4.5]]


def book(folder, sheets, name="a.xlsx", **more):
    sheets = {"Sheet1": sheets} if isinstance(sheets, list) else sheets
    return write_file(folder, workbook(sheets, **more), name)


def test_cells_have_their_types(tmp_path):
    rows = [
        ["n", "float", "date", "moment", "flag", "share", "fault", "text", "price"],
        [1, 0.1, DAY, NOON, True, Styled((0.12, PERCENT)), Fault("#DIV/0!"), "a & b", "1.234,50 €"],
        [2, None, Styled((45001, DATE)), None, False, 0.5, 3, "ü", "-"],
    ]
    table = read_table(book(tmp_path, rows))
    found = {name: values[0] for name, values in table.data.to_pydict().items()}
    assert found["n"] == 1
    assert found["float"] == 0.1
    assert str(found["date"]) == "2023-03-15 00:00:00"
    assert str(found["moment"]) == "2023-03-15 12:00:00"
    assert found["flag"] is True
    assert found["share"] == 0.12
    assert found["fault"] is None
    assert found["text"] == "a & b"
    assert found["price"] == 1234.5
    assert table.data["float"].to_pylist() == [0.1, None]
    selection = select(table, missing="mean")
    assert {"n", "float", "flag", "share", "price"} <= set(selection.names)
    assert "text" in selection.left_out


@pytest.mark.parametrize("fault", ["#SPILL!", "#CALC!", "#N/A", "#NAME?", "#WHATEVER!"])
def test_no_error_of_a_cell_stops_the_reader(tmp_path, fault):
    table = read_table(book(tmp_path, [["x", "y"], [Fault(fault), 1], [2, 3]]))
    assert table.text["x"].to_pylist() == [fault, "2"]


def test_titles_empty_rows_and_places(tmp_path):
    rows = [["Sales"], [], *ROWS, [], ["eve", "oops", 1]]
    table = read_table(book(tmp_path, rows))
    assert table.names == ("who", "x", "y")
    assert "2 title lines skipped" in table.notes
    assert [table.where(i) for i in range(3)] == ["row 4", "row 5", "row 7"]
    assert table.data["x"].to_pylist() == ["1", "3", "oops"]


def test_the_table_may_begin_anywhere(tmp_path):
    rows = [[], [], *([None, None, *row] for row in ROWS)]
    table = read_table(book(tmp_path, rows))
    assert table.names == ("who", "x", "y")
    assert table.where(0) == "row 4"


def test_header_and_rows_to_skip_are_set(tmp_path):
    path = book(tmp_path, [["junk", 1, 2], *ROWS])
    assert read_table(path, skip_rows=1).names == ("who", "x", "y")
    assert read_table(path, skip_rows=1).data.num_rows == 2
    assert read_table(path, header=False).names == ("c0", "c1", "c2")
    numbers = book(tmp_path, [[1, 2], [3, 4]], "b.xlsx")
    assert read_table(numbers).data.to_pydict() == {"c0": [1, 3], "c1": [2, 4]}


def test_the_first_visible_sheet_with_numbers_is_taken_and_said(tmp_path):
    sheets = {"About": [["made by"], ["nobody"]], "Old": ROWS[:2], "Data": ROWS, "None": []}
    table = read_table(book(tmp_path, sheets, hidden=("Old",)))
    assert table.data.num_rows == 2
    assert table.notes[0] == "sheet 'Data' of 4: 'About', 'Old', 'Data', 'None'"
    assert read_table(book(tmp_path, sheets), sheet="Old").data.num_rows == 1
    assert read_table(book(tmp_path, sheets), sheet=2).data.num_rows == 1
    assert read_table(book(tmp_path, sheets), sheet="3").data.num_rows == 2
    assert read_table(book(tmp_path, {"7": ROWS}), sheet="7").data.num_rows == 2
    for wrong in ("x", 9, "9"):
        with pytest.raises(TableError, match=r"has no sheet .* It has 'About', 'Old'"):
            read_table(book(tmp_path, sheets), sheet=wrong)
    with pytest.raises(TableError, match="sheet 'None' is empty"):
        read_table(book(tmp_path, sheets), sheet="None")
    with pytest.raises(TableError, match="no sheet with a table"):
        read_table(book(tmp_path, {"a": [], "b": [["x"]]}))


def test_several_workbooks_are_one_table(tmp_path):
    book(tmp_path, ROWS, "a.xlsx")
    book(tmp_path, [["who", "x", "y"], ["eve", "-", "$5"]], "b.xlsx")
    table = read_table(tmp_path)
    assert table.data["x"].to_pylist() == [1, 3, None]
    assert table.data["y"].to_pylist() == [2.5, 4.5, 5]
    assert table.where(2) == f"row 2 of {tmp_path / 'b.xlsx'}"


def test_in_a_folder_other_tables_come_first(tmp_path):
    book(tmp_path, ROWS, "a.xlsx")
    write_file(tmp_path, '{"a": 1}', "settings.json")
    write_file(tmp_path, "x\n1\n", "a.csv")
    assert read_table(tmp_path).names == ("x",)


def test_copies_are_written_in_other_formats(tmp_path):
    table = read_table(book(tmp_path, ROWS))
    write_table(table.copy_as("csv"), tmp_path / "b.csv", **table.layout("csv"))
    assert (tmp_path / "b.csv").read_text() == "who,x,y\nann,1,2.5\nbob,3,4.5\n"
    with pytest.raises(TableError, match=r"got 'xlsx'\. Spreadsheets open \.csv files"):
        write_table(table.data, tmp_path / "b.xlsx")


def test_other_attributes_are_no_places_of_cells(tmp_path):
    more = '<dataValidation operator="lessThan1" sqref="A1:XFD1048576"/><pageMargins header="0.3"/>'
    sheet = sheet_xml(ROWS).replace("</sheetData>", f"</sheetData>{more}")
    assert read_table(book(tmp_path, {"a": sheet})).data.num_rows == 2


@pytest.mark.parametrize(
    "row", ['<row r="1048576"><c r="XFD1048576" s="1"/></row>', '<row r="1048576" s="1"/>']
)
def test_empty_cells_with_a_format_do_not_count(tmp_path, row):
    wide = [[f"c{i}" for i in range(20)], list(range(20))]
    sheet = sheet_xml(wide).replace("</sheetData>", f"{row}</sheetData>")
    table = read_table(book(tmp_path, {"a": sheet}))
    assert (table.data.num_rows, table.data.num_columns) == (1, 20)


def far_apart(reference):
    return sheet_xml([[1], [2]]).replace('r="A2"', reference)


@pytest.mark.parametrize(
    ("sheet", "words"),
    [
        (far_apart('r="XFD1048576"'), "its cells are far apart"),
        (far_apart("r='XFD1048576'"), "its cells are far apart"),
        (far_apart('r = "XFD1048576"'), "its cells are far apart"),
        (far_apart('\nr="XFD1048576"'), "its cells are far apart"),
        (far_apart('s="0"r="XFD1048576"'), "its cells are far apart"),
        (far_apart('r="XFE1"'), "its cells are far apart"),
        (far_apart('r="A1048577"'), "its cells are far apart"),
        (far_apart('r="ZZZZZZZZZZZ99999999999999999999999999"'), "its cells are far apart"),
    ],
)
def test_cells_far_apart_are_refused_before_they_fill_the_memory(tmp_path, sheet, words):
    path = book(tmp_path, {"a": sheet})
    with pytest.raises(TableError, match=words) as caught:
        read_table(path)
    assert str(path) in str(caught.value)


def test_claims_about_sizes_reserve_no_memory(tmp_path):
    """The parser would end the process."""
    claims = '<sst count="4294967295" uniqueCount=\'4294967295\'><si><t>count="5"</t></si></sst>'
    sheet = sheet_xml(ROWS).replace("<sheetData>", '<dimension ref="A1:XFD1048576"/><sheetData>')
    sheet = sheet.replace('r="B2">', 'r="B2" t="s">').replace("<v>1</v>", "<v>0</v>")
    path = book(tmp_path, {"a": sheet}, **{"xl/sharedStrings.xml": claims})
    assert read_table(path).text["x"].to_pylist() == ['count="5"', "3"]


def test_an_archive_that_unpacks_without_end_is_refused_by_its_directory(tmp_path, monkeypatch):
    monkeypatch.setattr("partita.tables.workbook_archive.UNPACKED_BYTES_ALLOWED", 1 << 20)
    path = book(tmp_path, {"a": ROWS}, **{"xl/more.xml": bytes(1 << 24)})

    def read():
        with pytest.raises(TableError, match="which is unlikely for a workbook"):
            read_table(path)

    assert peak_of(read) < 1 << 20


def test_an_archive_may_not_lie_about_its_sizes(tmp_path):
    raw = workbook({"a": ROWS}, **{"xl/more.xml": bytes(10**6)})
    true, claimed = struct.pack("<I", 10**6), struct.pack("<I", 10)
    assert raw.count(true) == 2
    path = write_file(tmp_path, raw.replace(true, claimed), "b.xlsx")
    with pytest.raises(TableError, match=r"is not an \.xlsx file that can be read"):
        read_table(path)


def reads_or_names(path):
    """Return whether a file gives a table, or an error that names it."""
    try:
        return read_table(path).data.num_columns > 0
    except TableError as error:
        return str(error).startswith(str(path))


@pytest.mark.parametrize(
    "members",
    [
        {"xl/workbook.xml": "<nothing"},
        {"xl/workbook.xml": ""},
        {"xl/_rels/workbook.xml.rels": "<a/>"},
        {"xl/styles.xml": "<styleSheet><cellXfs><xf"},
        {"xl/worksheets/sheet1.xml": "<worksheet><sheetData><row><c r='A1'><v>x"},
        {"xl/worksheets/sheet1.xml": "<!DOCTYPE a [<!ENTITY b 'c'>]><worksheet>&b;</worksheet>"},
        {"xl/sharedStrings.xml": "<sst><si>"},
        {"xl/worksheets/sheet1.xml": far_apart('r="XFD1048576"').encode("utf-16")},
    ],
)
def test_damaged_members_are_an_error_or_read(tmp_path, members):
    path = book(tmp_path, ROWS, **members)
    assert reads_or_names(path)


def test_no_wrong_byte_breaks_the_reader(tmp_path):
    rng = np.random.default_rng(0)
    rows = [["who", "x"], *([f"p{i}", float(i)] for i in range(5)), [Styled((45000, DATE)), True]]
    with zipfile.ZipFile(io.BytesIO(workbook({"a": rows}))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    names = sorted(members)
    for _ in range(150):
        damaged = dict(members)
        name = names[rng.integers(len(names))]
        part = bytearray(damaged[name])
        for _ in range(rng.integers(1, 4)):
            part[rng.integers(len(part))] = rng.integers(256)
        damaged[name] = bytes(part)
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for member, content in damaged.items():
                archive.writestr(member, content)
        assert reads_or_names(write_file(tmp_path, file.getvalue(), "b.xlsx"))

"""Read workbooks (.xlsx): one sheet of them is a table."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

from partita._common.errors import TableError
from partita._common.optional_imports import require
from partita._common.parameters import describe_value
from partita._common.text import listed, one_line, plural
from partita.tables.file_options import FileOptions
from partita.tables.table import Table, TableFile, arrow, first_line
from partita.tables.text_files import column_names
from partita.tables.text_layout import SAMPLE_RECORDS, count_title_rows, is_header
from partita.tables.value_columns import value_column, value_text
from partita.tables.workbook_archive import safe_archive

_PANIC_MODULE = "pyo3_runtime"  # of the exception for a parser's own fault, which is no Exception


class _Sheet(NamedTuple):
    name: str
    rows: list[list[Any]]  # without empty ones; all of the same length
    numbers: list[int]  # of the rows in the sheet, from 1

    @property
    def has_numbers(self) -> bool:
        return any(type(value) is float for row in self.rows[1:] for value in row)


def read_workbook(raw: bytes, name: str, options: FileOptions) -> Table:
    """Read a sheet: the one in the options, else the first that has a table with numbers."""
    archive = safe_archive(raw, name)
    calamine = require("python_calamine", "reading of workbooks", "cli")
    try:
        workbook = calamine.CalamineWorkbook.from_filelike(io.BytesIO(archive))
        sheet, notes = _choose_sheet(workbook, name, options)
    except TableError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__module__ != _PANIC_MODULE:
            raise
        raise TableError(
            f"{name} is not an .xlsx file that can be read ({first_line(error)}). Save it again."
        ) from None
    return _table(sheet, name, options, notes)


def _choose_sheet(workbook: Any, name: str, options: FileOptions) -> tuple[_Sheet, list[str]]:
    """Return a sheet, and a note if there was a choice."""
    sheets = [sheet for sheet in workbook.sheets_metadata if str(sheet.typ).endswith("WorkSheet")]
    names = [sheet.name for sheet in sheets]
    if options.sheet is not None:
        chosen = _find_sheet(names, options.sheet, name)
        return _read_sheet(workbook, chosen, options.skip_rows), []
    visible = [sheet.name for sheet in sheets if str(sheet.visible).endswith(".Visible")]
    best: _Sheet | None = None
    for sheet_name in visible or names:
        sheet = _read_sheet(workbook, sheet_name, options.skip_rows)
        if len(sheet.rows) > 1 and (best is None or sheet.has_numbers):
            best = sheet
        if best is not None and best.has_numbers:
            break
    if best is None:
        raise TableError(f"{name} has no sheet with a table of several rows.")
    note = f"sheet {one_line(best.name, 40)!r} of {len(names)}: {_listed_sheets(names)}"
    return best, [note] if len(names) > 1 else []


def _find_sheet(names: list[str], wanted: str | int, name: str) -> str:
    """Return the sheet of this name, else of this number."""
    if wanted in names:
        return str(wanted)
    if str(wanted).isdecimal() and 1 <= int(wanted) <= len(names):
        return names[int(wanted) - 1]
    raise TableError(
        f"{name} has no sheet {describe_value(wanted)}. It has {_listed_sheets(names)}.",
        parameter="sheet",
    )


def _listed_sheets(names: list[str]) -> str:
    return listed([one_line(name, 40) for name in names])


def _read_sheet(workbook: Any, name: str, skip_rows: int | None) -> _Sheet:
    sheet = workbook.get_sheet_by_name(name)
    first = 1 + (sheet.start[0] if sheet.start else 0)
    rows: list[list[Any]] = []
    numbers: list[int] = []
    for number, row in enumerate(sheet.to_python(skip_empty_area=True), first):
        values = [None if isinstance(v, str) and not v.strip() else v for v in row]
        if number > (skip_rows or 0) and any(value is not None for value in values):
            rows.append(values)
            numbers.append(number)
    return _Sheet(name, rows, numbers)


def _table(sheet: _Sheet, name: str, options: FileOptions, notes: list[str]) -> Table:
    if not sheet.rows:
        raise TableError(f"{name}: sheet {sheet.name!r} is empty. Choose another one.")
    rows, numbers = sheet.rows, sheet.numbers
    if options.skip_rows is None and options.header is not False:
        sample = [[value_text(value) for value in row] for row in rows[:SAMPLE_RECORDS]]
        n_titles = count_title_rows(sample, len(rows[0]))
        rows, numbers = rows[n_titles:], numbers[n_titles:]
        if n_titles:
            notes = [*notes, f"{plural(numbers[0] - 1, 'title line')} skipped"]
    first_row = [value_text(value) for value in rows[0]]
    header = is_header(first_row) if options.header is None else options.header
    names, more_notes = column_names(first_row, header, detected=options.header is None)
    rows, numbers = rows[header:], numbers[header:]
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    arrays, pa = [value_column(column) for column in columns], arrow()
    return Table(
        data=pa.table([array.typed for array in arrays], names=names),
        name=name,
        format="xlsx",
        notes=(*notes, *more_notes),
        parts=(TableFile(name, len(rows), lambda row: numbers[row], "row"),),
        text=pa.table([array.text for array in arrays], names=names),
        named=header,
    )

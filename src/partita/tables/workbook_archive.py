"""Safe archives of workbooks: an .xlsx file is a zip of XML, which may be damaged or hostile.

The XML is unpacked here, within limits, and packed again without compression. The parser then sees
exactly what was checked: its own errors on sizes would end the process.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib

from partita._common.errors import TableError
from partita.tables.table import first_line

UNPACKED_BYTES_ALLOWED = 1 << 28  # for a workbook of any size
MAX_UNPACKED_RATIO = 100  # for larger ones
MAX_EMPTY_AREA = 10_000_000  # cells of the rectangle around all cells; the parser stores it
MAX_AREA_PER_CELL = 4  # in larger rectangles
MAX_COLUMNS, MAX_ROWS = 16_384, 1_048_576  # of Excel
CHUNK_BYTES = 1 << 24  # of XML, searched at once
# the column and the row of a reference, like B7; not operator="lessThan"
_REFERENCES = (
    re.compile(rb'r="(?<=\Wr=")([A-Za-z]+)[0-9]'),
    re.compile(rb'r="(?<=\Wr=")[A-Za-z]*([0-9]+)'),
)
_ODD_REFERENCES = (
    re.compile(rb"\br\s*=\s*[\"']([A-Za-z]+)[0-9]"),
    re.compile(rb"\br\s*=\s*[\"'][A-Za-z]*([0-9]+)"),
)  # slower
_ODD_SPACING = re.compile(rb"r(?:=['\s]|\s+=)")
_TAG_WITH_COUNT = re.compile(rb"<[^<>]*\b(?:unique)?[cC]ount\s*=[^<>]*>")
_COUNT = re.compile(rb"\b(?:unique)?[cC]ount\s*=\s*(\"[^\"]*\"|'[^']*')")
_DIMENSION = re.compile(rb"(<(?:\w+:)?dimension\b)[^>]*?(/?>)")
_EMPTY_CELL = re.compile(rb"<(?:\w+:)?c\b[^<>]*/>")
_EMPTY_ROW = re.compile(rb"<(?:\w+:)?row\b[^<>]*(?:/>|>\s*</(?:\w+:)?row>)")
_READ_ERRORS = (
    zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, LookupError, RuntimeError,
    NotImplementedError, MemoryError,
)  # fmt: skip


def safe_archive(raw: bytes, name: str) -> bytes:
    """Return the XML of a workbook in an archive without compression, if it is plausible."""
    copy = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive, zipfile.ZipFile(copy, "w") as out:
            members = {info.filename: info for info in archive.infolist() if _is_needed(info)}
            _check_size(sum(info.file_size for info in members.values()), len(raw), name)
            for member, info in members.items():
                xml = archive.read(info)  # no more than its file_size, else an error
                out.writestr(zipfile.ZipInfo(member), _checked_sheet(xml, f"{name}, {member}"))
    except TableError:
        raise
    except _READ_ERRORS as error:
        raise TableError(
            f"{name} is not an .xlsx file that can be read ({first_line(error)}). Save it again."
        ) from None
    return copy.getvalue()


def _check_size(size: int, packed_size: int, name: str) -> None:
    limit = max(UNPACKED_BYTES_ALLOWED, MAX_UNPACKED_RATIO * packed_size)
    if size > limit:
        raise TableError(
            f"{name}: {packed_size} compressed bytes become {size}, which is unlikely for a "
            "workbook. If it is one, save the sheet as CSV."
        )


def _is_needed(info: zipfile.ZipInfo) -> bool:
    """Return whether a member is XML; pictures and macros are left out."""
    return info.filename.lower().endswith((".xml", ".rels"))


def _checked_sheet(xml: bytes, name: str) -> bytes:
    """Refuse a sheet whose few cells are far apart, and turn its errors into text.

    The parser stops at errors that it does not know, like #SPILL!. It reserves memory for as many
    cells and texts as a sheet or a list of texts claims to have, so these claims are removed.
    """
    if b"\0" in xml:
        raise TableError(f"{name} is not UTF-8. Save the workbook again.")
    if b"sheetData" not in xml:
        return _TAG_WITH_COUNT.sub(lambda tag: _COUNT.sub(b"", tag[0]), xml)
    if not _is_compact(xml):  # perhaps by the format of empty cells
        xml = _EMPTY_ROW.sub(b"", _EMPTY_CELL.sub(b"", xml))
    if not _is_compact(xml):
        columns, rows = _extent(xml)
        raise TableError(
            f"{name}: its cells are far apart, with up to {columns} columns and {rows} rows. Leave "
            "out the cells far from the table, or save the table as CSV."
        )
    xml = _DIMENSION.sub(rb'\1 ref="A1"\2', xml, count=1)
    is_faulty = b't="e"' in xml or b"t='e'" in xml
    return re.sub(rb"\bt=([\"'])e\1", rb't="str"', xml) if is_faulty else xml


def _is_compact(xml: bytes) -> bool:
    """Return whether the rectangle around all cells is within the limits."""
    columns, rows = _extent(xml)
    n_cells = xml.count(b"</c>") + xml.count(b":c>")
    is_within = columns <= MAX_COLUMNS and rows <= MAX_ROWS
    return is_within and columns * rows <= max(MAX_EMPTY_AREA, MAX_AREA_PER_CELL * n_cells)


def _extent(xml: bytes) -> tuple[int, int]:
    """Return the largest number of a column and of a row."""
    is_odd = _ODD_SPACING.search(xml) is not None
    of_column, of_row = _ODD_REFERENCES if is_odd else _REFERENCES
    column = row = 1
    for start in range(0, len(xml), CHUNK_BYTES):
        part = xml[start : start + CHUNK_BYTES + 64]
        column = max(column, *map(_column_number, set(of_column.findall(part))), 0)
        row = max(row, *(int(digits[:20]) for digits in set(of_row.findall(part))), 0)
    return column, row


def _column_number(letters: bytes) -> int:
    """Return 1 for A, 27 for AA."""
    number = 0
    for letter in letters.upper()[:8]:
        number = 26 * number + letter - 64
    return number

"""Read text files: detect encoding, delimiter, titles and header, then split into cells of text.

`cell_types` converts whole columns afterwards, once all files are read.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from partita._common.errors import TableError
from partita._common.text import listed, plural, quoted
from partita.tables.cell_types import is_missing
from partita.tables.encodings import to_utf8
from partita.tables.file_options import FileOptions
from partita.tables.table import Table, TableFile, arrow
from partita.tables.text_layout import (
    DELIMITER_NAMES,
    SAMPLE_RECORDS,
    count_title_rows,
    detect_delimiter,
    first_lines,
    is_header,
    table_width,
)
from partita.tables.text_records import (
    LineNumbers,
    check_quotes_closed,
    collapse_spaces,
    iter_records,
    split_record,
)

PARSE_BLOCK_BYTES = 1 << 22
_SEPARATOR_LINE = re.compile(rb'"?sep=([,;\t|: ])"?[ \t;,]*(?:\r\n|\r|\n)', re.IGNORECASE)
_ONE_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of a table, from its first line on, and how it is delimited."""

    body: bytes  # UTF-8
    name: str
    delimiter: str
    first_line: int = 1  # its number in the file
    notes: tuple[str, ...] = ()


def read_text(raw: bytes, name: str, options: FileOptions) -> Table:
    """Read a text file; all its cells are text, in `data` and in `text`."""
    body, encoding = to_utf8(raw, options.encoding, name)
    if not body or body.isspace():
        raise TableError(f"{name} is empty. A table needs at least one row.")
    if b"\0" in body:
        line = body[: body.index(b"\0")].count(b"\n") + 1
        raise TableError(
            f"{name}, line {line}: there is a NUL byte, so this is not text, or it is damaged. Set "
            "the encoding if you know it, or save the file again."
        )
    text = _table_of(body, name, options)
    delimiter, record = text.delimiter, next(iter_records(text.body, text.delimiter))
    first_row = split_record(record.text.decode(), delimiter)
    header = is_header(first_row) if options.header is None else options.header
    names, notes = column_names(first_row, header, detected=options.header is None)
    if not record.end:  # the only line: pyarrow looks for the end of a header
        text = replace(text, body=text.body + b"\n")
    lines = LineNumbers(text.body, delimiter, text.first_line)
    cells = _parse(text, names, header)
    file = TableFile(name, cells.num_rows, lambda row: lines.of(row + header))
    layout = layout_note(encoding, DELIMITER_NAMES.get(delimiter, repr(delimiter)))
    return Table(
        data=cells,
        name=name,
        format="tsv" if delimiter == "\t" else "csv",
        delimiter=delimiter,
        encoding=encoding,
        newline=record.end.decode() or "\n",
        notes=(layout, *text.notes, *notes),
        parts=(file,),
        text=cells,
        named=header,
    )


def _table_of(body: bytes, name: str, options: FileOptions) -> _Text:
    """Find the delimiter and the first line of the table."""
    start, first_line = 0, 1
    for _ in range(options.skip_rows or 0):
        start, first_line = _ONE_LINE.match(body, start).end(), first_line + 1  # type: ignore[union-attr]
        if start >= len(body):
            break
    separator_line = _SEPARATOR_LINE.match(body, start)  # Excel's own, above the table
    delimiter = options.delimiter
    if separator_line is not None:
        start, first_line = separator_line.end(), first_line + 1
        delimiter = delimiter or separator_line[1].decode()
    body = body[start:] if start else body
    if not body or body.isspace():
        raise TableError(f"{name} has nothing after the lines that are skipped.")
    delimiter = delimiter or detect_delimiter(body)
    check_quotes_closed(body, delimiter, name, first_line)
    if delimiter == " ":
        body = collapse_spaces(body)
    text = _Text(body, name, delimiter, first_line)
    is_asked = options.skip_rows is None and options.header is not False
    return _without_titles(text) if is_asked else text


def _without_titles(text: _Text) -> _Text:
    """Leave out title lines above the header."""
    sample = iter_records(first_lines(text.body), text.delimiter, text.first_line)
    records = list(islice(sample, SAMPLE_RECORDS))
    rows = [split_record(record.text.decode(), text.delimiter) for record in records]
    count = count_title_rows(rows, table_width(rows))
    if count == 0:
        return text
    header = records[count]
    note = f"{plural(header.line - text.first_line, 'title line')} skipped"
    return replace(text, body=text.body[header.start :], first_line=header.line, notes=(note,))


def column_names(
    first_line: list[str], header: bool, detected: bool
) -> tuple[list[str], tuple[str, ...]]:
    """Return a distinct name for every column, and notes about them."""
    if header:
        return unique_names([cell.strip() or f"c{i}" for i, cell in enumerate(first_line)])
    gaps = " and gaps" if any(map(is_missing, first_line)) else ""
    why = f"the first line holds numbers{gaps}" if detected else "as requested"
    names = [f"c{i}" for i in range(len(first_line))]
    return names, (f"no header ({why}): columns are called c0, c1, …",)


def unique_names(names: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Make names distinct (x, x becomes x, x_2), with a note about the changes."""
    taken, unique, changes = set(names), [], []
    count: Counter[str] = Counter()
    for name in names:
        count[name] += 1
        new_name = name
        while count[name] > 1 and new_name in taken:
            new_name = f"{name}_{count[name]}"
            count[name] += new_name in taken
        if new_name != name:
            changes.append(f"{quoted(name)} to {quoted(new_name)}")
            taken.add(new_name)
        unique.append(new_name)
    note = f"duplicate column names were changed: {listed(changes, str)}"
    return unique, (note,) if changes else ()


def _parse(text: _Text, names: list[str], header: bool) -> Any:
    pa, csv, body = arrow(), arrow(".csv"), text.body
    ragged_rows: list[Any] = []

    def reject_row(row: Any) -> str:
        ragged_rows.append(row)
        return "error"

    def parse(block_bytes: int) -> Any:
        return csv.read_csv(
            pa.BufferReader(body.lstrip(b"\r\n")),  # an empty first line would be the header
            read_options=csv.ReadOptions(
                column_names=names, skip_rows_after_names=int(header), block_size=block_bytes
            ),
            parse_options=csv.ParseOptions(
                delimiter=text.delimiter, newlines_in_values=True, invalid_row_handler=reject_row
            ),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )

    try:
        try:
            return parse(PARSE_BLOCK_BYTES)
        except pa.ArrowInvalid:
            if ragged_rows or len(body) <= PARSE_BLOCK_BYTES:
                raise
            return parse(min(len(body) + 1, 2**31 - 1))  # a record may be longer than a block
    except pa.ArrowInvalid as error:
        raise TableError(_parse_error_text(text, len(names), error)) from None


def _parse_error_text(text: _Text, width: int, error: Exception) -> str:
    """Return what is wrong with a file that cannot be parsed: most often a ragged row."""
    delimiter, name = text.delimiter, text.name
    for record in iter_records(text.body, delimiter, text.first_line):
        n_cells = len(split_record(record.text.decode(), delimiter))
        if n_cells != width:
            between = DELIMITER_NAMES.get(delimiter, repr(delimiter))
            return (
                f"{name}, line {record.line}: {plural(n_cells, 'cell')} found, but the first line "
                f"has {plural(width, 'column')} (delimiter: {between}). Fix that line, or set the "
                "delimiter."
            )
    return f"{name} is not a table of text: {error}"


def layout_note(encoding: str, delimiter: str) -> str:
    """Return the note on the layout of a text file."""
    encoding = {"utf-8-sig": "UTF-8 with a byte order mark"}.get(encoding, encoding)
    return f"read as {encoding}, delimiter {delimiter}"

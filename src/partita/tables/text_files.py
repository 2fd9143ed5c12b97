"""Read text files: detect encoding, delimiter and header, then split into cells of text.

`cell_types` converts whole columns afterwards, once all files are read.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from partita._common.text import listed, plural
from partita.tables.cell_types import is_missing
from partita.tables.encodings import to_utf8
from partita.tables.table import Table, TableError, TableFile, arrow
from partita.tables.text_layout import DELIMITER_NAMES, detect_delimiter, is_header
from partita.tables.text_records import (
    LineNumbers,
    check_quotes_closed,
    collapse_spaces,
    iter_records,
    split_record,
)

PARSE_BLOCK_BYTES = 1 << 22


@dataclass(frozen=True, slots=True)
class TextOptions:
    """The layout of a text file as far as the user specified it; None: detect it."""

    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None

    def __post_init__(self) -> None:
        delimiter = "," if self.delimiter is None else self.delimiter
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
            raise TableError(
                f"`delimiter` must be a single ASCII character, got {delimiter!r}.",
                parameter="delimiter",
            )


def read_text(raw: bytes, name: str, options: TextOptions) -> Table:
    """Read a text file; all its cells are text, in `data` and in `text`."""
    body, encoding = to_utf8(raw, options.encoding, name)
    if not body.strip():
        raise TableError(f"{name} is empty. A table needs at least one row.")
    if b"\0" in body:
        line = body[: body.index(b"\0")].count(b"\n") + 1
        raise TableError(
            f"{name}, line {line}: there is a NUL byte, so this is not text, or it is damaged. Set "
            "the encoding if you know it, or save the file again."
        )
    delimiter = options.delimiter or detect_delimiter(body)
    check_quotes_closed(body, delimiter, name)
    if delimiter == " ":
        body = collapse_spaces(body)
    record = next(iter_records(body, delimiter))
    first_line = split_record(record.text.decode(), delimiter)
    header = is_header(first_line, delimiter) if options.header is None else options.header
    names, notes = _column_names(first_line, header, detected=options.header is None)
    lines = LineNumbers(body, delimiter)
    cells = _parse(body, names, delimiter, header, name)
    file = TableFile(name, cells.num_rows, lambda row: lines.of(row + header))
    return Table(
        data=cells,
        name=name,
        format="tsv" if delimiter == "\t" else "csv",
        delimiter=delimiter,
        encoding=encoding,
        newline=record.end.decode() or "\n",
        notes=(layout_note(encoding, DELIMITER_NAMES.get(delimiter, repr(delimiter))), *notes),
        parts=(file,),
        text=cells,
        named=header,
    )


def _column_names(
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
            changes.append(f"{name!r} to {new_name!r}")
            taken.add(new_name)
        unique.append(new_name)
    note = f"duplicate column names were changed: {listed(changes, str)}"
    return unique, (note,) if changes else ()


def _parse(body: bytes, names: list[str], delimiter: str, header: bool, name: str) -> Any:
    pa, csv = arrow(), arrow(".csv")
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
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=reject_row
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
        raise TableError(_parse_error_text(body, len(names), delimiter, name, error)) from None


def _parse_error_text(body: bytes, width: int, delimiter: str, name: str, error: Exception) -> str:
    """Return what is wrong with a file that cannot be parsed: most often a ragged row."""
    for record in iter_records(body, delimiter):
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

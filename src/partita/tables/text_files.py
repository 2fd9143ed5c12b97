"""Read text files: detect encoding, delimiter and header, then split into cells of text.

`cell_types` converts whole columns afterwards, once all files are read.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import Any

from partita._common.text import listed, plural
from partita.tables.cell_types import is_missing, is_number
from partita.tables.encodings import to_utf8
from partita.tables.table import Table, TableError, TableFile, arrow
from partita.tables.text_records import (
    LineNumbers,
    check_quotes_closed,
    collapse_spaces,
    iter_records,
    split_record,
)

PARSE_BLOCK_BYTES = 1 << 22
DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "space"}
# the sample by which delimiters are compared
SAMPLE_BYTES = 1 << 20  # and the rest of the line
SAMPLE_RECORDS = 100
SAMPLE_CELLS = 1000
_LINE_END = re.compile(rb"[\r\n]")
SPACE_RIVAL_MIN_SHARE = 0.5  # of records of one width, for a delimiter to compete with spaces


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


# --- layout ---------------------------------------------------------------------------------------


def detect_delimiter(body: bytes) -> str:
    """Return the delimiter that gives most records the same width, then the most numbers."""
    sample = _sample(body)
    scores = {delimiter: _score(sample, delimiter) for delimiter in DELIMITER_NAMES}
    best = max(scores, key=lambda delimiter: scores[delimiter])
    if best == " ":
        rivals = [d for d in scores if d != " " and scores[d][0] > SPACE_RIVAL_MIN_SHARE]
        # spaces between words lose to a rival, unless they separate more numbers: 1,5 2,5
        if rivals and scores[" "][1] <= max(scores[delimiter][1] for delimiter in rivals):
            best = max(rivals, key=lambda delimiter: scores[delimiter])
    return best if scores[best][0] > 0 else ","


def _sample(body: bytes) -> bytes:
    """Return the first lines, whole."""
    line_end = _LINE_END.search(body, SAMPLE_BYTES)
    return body if line_end is None else body[: line_end.end()]


def _score(sample: bytes, delimiter: str) -> tuple[float, float]:
    """Return the share of records with the same number of cells, and of cells with numbers."""
    records = list(islice(iter_records(sample, delimiter), SAMPLE_RECORDS))
    # a stray quote opens a cell without an end, whose content is not counted
    texts = [record.text.decode().strip(" ") for record in records if not record.is_open]
    rows = [split_record(text, delimiter) for text in texts]
    if delimiter == " ":
        rows = [[cell for cell in row if cell] for row in rows]
    width, n_rows = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
    if width < 2:
        return 0.0, 0.0
    cells_per_row = SAMPLE_CELLS // len(rows)
    cells: list[str] = []
    for number, row in enumerate(rows):
        step = max(1, len(row) // cells_per_row)
        cells += row[number % step :: step]  # other columns in each row
    numbers = sum(is_number(cell, delimiter) for cell in cells)
    return n_rows / len(records), numbers / len(cells)


def is_header(first_line: list[str], delimiter: str) -> bool:
    """Return whether the cells of a first line are names, not only numbers and gaps."""
    values = [cell for cell in first_line if not is_missing(cell)]
    if not values or not all(is_number(cell, delimiter) for cell in values):
        return True
    # pandas names columns 0, 1, … and leaves the cell above the index empty
    numbers = [str(i) for i in range(len(first_line) - 1)]
    return not first_line[0].strip() and first_line[1:] == numbers

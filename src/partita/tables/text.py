"""Text files: which encoding, which delimiter, whether there is a header; then their cells.

Cells are read as text. What they mean is decided for whole columns, in `cells`.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from partita.tables.cells import is_number
from partita.tables.record import TableError, arrow

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "space"}
_SAMPLE = 100  # records that are looked at
_BLOCK = 1 << 22  # bytes that pyarrow parses at once
_LINE = re.compile(rb"([^\r\n]*)(\r\n|\r|\n|\Z)")
_OPENING = re.compile(rb'(?:^|[,;\t| ])"')
_CLOSING = re.compile(rb'(?:[^"]|"")*+"')
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Layout:
    """How a text file is laid out."""

    encoding: str
    delimiter: str
    header: bool


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a text file, as they are written."""

    columns: Any  # pyarrow.Table of strings
    layout: Layout
    notes: tuple[str, ...]
    body: bytes  # the file, as UTF-8

    def line(self, row: int) -> int:
        """The line where a row begins."""
        return line_of(self.body, row + self.layout.header)


def read_cells(
    raw: bytes,
    name: str,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> Cells:
    """The cells of a file; what is not said about it is found out."""
    encoding = encoding or detect_encoding(raw)
    body = _as_utf8(raw, encoding, name)
    if not body.strip():
        raise TableError(f"{name} is empty: a table with at least one row is expected")
    if b"\0" in body:
        line = body[: body.index(b"\0")].count(b"\n") + 1
        raise TableError(
            f"{name}: line {line} holds a NUL byte, so this is not text, or it is damaged; give "
            "the encoding if you know it, or save the file anew"
        )
    _check_quotes(body, name)
    delimiter = delimiter or detect_delimiter(body)
    if delimiter == " ":
        body = _single_spaces(body)
    first = split(next(records(body))[1].decode(), delimiter)
    if header is None:
        header = not all(is_number(cell, delimiter) for cell in first)
    layout = Layout(encoding, delimiter, header)
    names, notes = _names(first, header)
    return Cells(_parse(body, names, layout, name), layout, (_said(layout), *notes), body)


def detect_encoding(raw: bytes) -> str:
    """The encoding: by its mark, else UTF-8 if that is possible, else Windows' or Latin-1."""
    for mark, encoding in _BOMS:
        if raw.startswith(mark):
            return encoding
    even, odd = raw[:4096:2].count(0), raw[1:4096:2].count(0)
    if max(even, odd) > len(raw[:4096]) // 5 and min(even, odd) == 0:
        return "utf-16-be" if even else "utf-16-le"
    for encoding in ("utf-8", "cp1252"):
        try:
            raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def _as_utf8(raw: bytes, encoding: str, name: str) -> bytes:
    if encoding == "utf-8" and raw.isascii():
        return raw
    try:
        text = raw.decode(encoding)
    except LookupError:
        raise TableError(
            f"{name}: encoding={encoding!r} was given, which is not known; give one like utf-8, "
            "latin-1 or utf-16"
        ) from None
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise TableError(
            f"{name}: line {line} is not {encoding} ({error.reason}); give another encoding, or "
            "none, so that it is detected"
        ) from None
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise TableError(f"{name} is not {encoding}: it holds half a character") from None


def records(body: bytes) -> Iterator[tuple[int, bytes]]:
    """The records of a file and the line (from 1) where each begins; empty lines are none."""
    return ((line, record) for line, record, _ in _scan(body))


def _scan(body: bytes) -> Iterator[tuple[int, bytes, bool]]:
    """Records, where they begin, and whether the file ends amid a quoted cell of it."""
    start, kept, quoted = 0, list[bytes](), False
    for number, match in enumerate(_LINE.finditer(body), 1):
        if not kept and not match[1]:
            continue
        start = start if kept else number
        quoted = _is_open(match[1], quoted)
        if quoted and match.end() < len(body):  # the cell goes on in the next line
            kept.append(match[0])
            continue
        yield start, b"".join([*kept, match[1]]), quoted
        kept = []


def _is_open(line: bytes, quoted: bool) -> bool:
    """Whether a quoted cell goes on after this line. Only at the start of a cell do quotes open."""
    at = 0
    while b'"' in line:
        found = (_CLOSING if quoted else _OPENING).search(line, at)
        if found is None:
            break
        at, quoted = found.end(), not quoted
    return quoted


def line_of(body: bytes, record: int) -> int:
    """The line where a record begins."""
    found = next(islice(records(body), record, None), None)
    return record + 1 if found is None else found[0]


def split(record: str, delimiter: str) -> list[str]:
    """The cells of one record."""
    if '"' not in record:
        return record.split(delimiter)
    cell = re.escape(delimiter)
    found = re.findall(rf'(?:^|{cell})("(?:[^"]|"")*"[^{cell}]*|[^{cell}]*)', record)
    return [c[1:-1].replace('""', '"') if c[:1] == c[-1:] == '"' else c for c in found]


def detect_delimiter(body: bytes) -> str:
    """The delimiter that gives the most records the same number of cells, and most numbers."""
    sample = [record.decode() for _, record in islice(records(body), _SAMPLE)]

    def score(delimiter: str) -> tuple[float, float]:
        rows = [split(record.strip(" "), delimiter) for record in sample]
        rows = [[cell for cell in row if cell] for row in rows] if delimiter == " " else rows
        width, times = Counter(len(row) for row in rows).most_common(1)[0]
        if width < 2:
            return 0.0, 0.0
        cells = [cell for row in rows for cell in row]
        numbers = sum(is_number(cell, delimiter) for cell in cells)
        return times / len(rows), numbers / len(cells)

    scores = {delimiter: score(delimiter) for delimiter in DELIMITERS}
    best = max(scores, key=lambda delimiter: scores[delimiter])
    if best == " " and max(s[0] for d, s in scores.items() if d != " ") > 0.5:
        del scores[" "]  # words between other delimiters
        best = max(scores, key=lambda delimiter: scores[delimiter])
    return best if scores[best][0] > 0 else ","


def _check_quotes(body: bytes, name: str) -> None:
    if body.count(b'"') % 2 == 0:
        return
    for line, _, quoted in _scan(body):
        if quoted:
            raise TableError(
                f"{name}: a cell that begins with a quote in line {line} goes on to the end of the "
                "file; close the quote, or take it away"
            )


def _single_spaces(body: bytes) -> bytes:
    """Columns that are aligned by several spaces, with one between them; lines stay as many."""
    if b'"' in body:
        return body
    return re.sub(rb" *(\r\n|\r|\n) *", rb"\1", re.sub(rb" {2,}", b" ", body)).strip(b" ")


def _names(first: list[str], header: bool) -> tuple[list[str], tuple[str, ...]]:
    """A name of its own for every column, and what is to be said about that."""
    if not header:
        return [f"c{i}" for i in range(len(first))], (
            "the first line holds numbers, so there is no header: columns are called c0, c1, …",
        )
    wanted = [cell.strip() or f"c{i}" for i, cell in enumerate(first)]
    return unique(wanted)


def unique(wanted: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Names that differ: x, x becomes x, x_2, which is said."""
    taken, names, changed = set(wanted), [], []
    seen: Counter[str] = Counter()
    for name in wanted:
        seen[name] += 1
        new = name
        while seen[name] > 1 and new in taken:
            new = f"{name}_{seen[name]}"
            seen[name] += new in taken
        if new != name:
            changed.append(f"{name!r} to {new!r}")
            taken.add(new)
        names.append(new)
    more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
    said = f"columns of the same name were renamed: {', '.join(changed[:5])}{more}"
    return names, (said,) if changed else ()


def _parse(body: bytes, names: list[str], layout: Layout, name: str) -> Any:
    pa, csv = arrow(), arrow(".csv")
    wrong: list[Any] = []

    def ragged(row: Any) -> str:
        wrong.append(row)
        return "error"

    def parse(block: int) -> Any:
        return csv.read_csv(
            pa.BufferReader(body.lstrip(b"\r\n")),  # empty lines would be taken for the header
            read_options=csv.ReadOptions(
                column_names=names, skip_rows_after_names=int(layout.header), block_size=block
            ),
            parse_options=csv.ParseOptions(
                delimiter=layout.delimiter, newlines_in_values=True, invalid_row_handler=ragged
            ),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )

    try:
        try:
            return parse(_BLOCK)
        except pa.ArrowInvalid as error:
            if wrong or "straddl" not in str(error):
                raise
            return parse(min(len(body) + 1, 2**31 - 1))  # a record longer than a block
    except pa.ArrowInvalid as error:
        raise TableError(_fault(body, names, layout, name, error)) from None


def _fault(body: bytes, names: list[str], layout: Layout, name: str, error: Exception) -> str:
    """What is wrong with a file that cannot be parsed: most often a row of another length."""
    for line, record in records(body):
        cells = split(record.decode(), layout.delimiter)
        if len(cells) != len(names):
            few = "fewer" if len(cells) < len(names) else "more"
            count = f"{len(cells)} cell{'s' * (len(cells) > 1)}"
            return (
                f"{name}: line {line} has {count}, {few} than the {len(names)} columns "
                f"of the first line (delimiter: {_delimiter(layout)}); mend that "
                "line, or give the delimiter"
            )
    return f"{name} is not a table of text: {error}"


def _said(layout: Layout) -> str:
    encoding = {"utf-8-sig": "UTF-8 with a mark"}.get(layout.encoding, layout.encoding)
    return f"read as {encoding}, delimiter {_delimiter(layout)}"


def _delimiter(layout: Layout) -> str:
    return DELIMITERS.get(layout.delimiter, repr(layout.delimiter))

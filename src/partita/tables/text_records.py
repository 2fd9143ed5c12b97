"""Records of text: where each begins and ends, and its cells."""

from __future__ import annotations

import functools
import re
from array import array
from collections.abc import Iterator
from typing import NamedTuple

from partita.tables.table import TableError

_LINE = re.compile(rb"([^\r\n]*)(\r\n|\r|\n|\Z)")
_CLOSING = re.compile(rb'(?:[^"]|"")*+"')
_EMPTY_LINE = re.compile(rb"\A[\r\n]|\n[\r\n]|\r\r")


class TextRecord(NamedTuple):
    """One row of a text file, as it is written."""

    line: int  # where it begins, from 1
    text: bytes
    end: bytes  # of its last line
    is_open: bool  # whether the file ends amid a quoted cell of it


def iter_records(body: bytes, delimiter: str = ",") -> Iterator[TextRecord]:
    """The records of a file; empty lines are none, and quoted cells may go on in the next line."""
    start, kept, quoted = 0, list[bytes](), False
    for number, match in enumerate(_LINE.finditer(body), 1):
        if not kept and not match[1]:
            continue
        start = start if kept else number
        quoted = _is_open(match[1], quoted, delimiter)
        if quoted and match.end() < len(body):  # the cell goes on in the next line
            kept.append(match[0])
            continue
        yield TextRecord(start, b"".join([*kept, match[1]]), match[2], quoted)
        kept = []


def _is_open(line: bytes, quoted: bool, delimiter: str) -> bool:
    """Whether a quoted cell goes on after this line. Only at the start of a cell do quotes open."""
    if b'"' not in line:
        return quoted
    opening, at = _opening(delimiter), 0
    while found := _CLOSING.match(line, at) if quoted else opening.search(line, at):
        at, quoted = found.end(), not quoted
    return quoted


@functools.cache
def _opening(delimiter: str) -> re.Pattern[bytes]:
    return re.compile(b'(?:^|%b)"' % re.escape(delimiter.encode()))


class LineNumbers:
    """The lines where records begin, found once and only as far as they are asked for."""

    def __init__(self, body: bytes, delimiter: str) -> None:
        self._body = body
        self._rest = iter_records(body, delimiter)
        self._found = array("q")
        self._one_each: bool | None = None  # whether every line is a record

    def of(self, record: int) -> int:
        """The line where a record (from 0) begins."""
        if self._one_each is None:
            self._one_each = b'"' not in self._body and not _EMPTY_LINE.search(self._body)
        if self._one_each:
            return record + 1
        while len(self._found) <= record:
            following = next(self._rest, None)
            if following is None:
                return record + 1
            self._found.append(following.line)
        return self._found[record]


def split_record(record: str, delimiter: str) -> list[str]:
    """The cells of one record."""
    if '"' not in record:
        return record.split(delimiter)
    cell = re.escape(delimiter)
    found = re.findall(rf'(?:^|{cell})("(?:[^"]|"")*+"[^{cell}]*|[^{cell}]*)', record)
    return [c[1:-1].replace('""', '"') if c[:1] == c[-1:] == '"' else c for c in found]


def check_quotes_closed(body: bytes, delimiter: str, name: str) -> None:
    """Refuse a file that ends amid a quoted cell."""
    if body.count(b'"') % 2 == 0:
        return
    for record in iter_records(body, delimiter):
        if record.is_open:
            raise TableError(
                f"{name}: a cell that begins with a quote in line {record.line} goes on to the end "
                "of the file; close the quote, or take it away"
            )


def collapse_spaces(body: bytes) -> bytes:
    """Columns that are aligned by several spaces, with one between them; lines stay as many."""
    if b'"' in body:
        return body
    return re.sub(rb" *(\r\n|\r|\n) *", rb"\1", re.sub(rb" {2,}", b" ", body)).strip(b" ")

"""Records of text files: where each begins and ends, and its cells."""

from __future__ import annotations

import functools
import re
from array import array
from collections.abc import Iterator
from typing import NamedTuple

from partita._common.errors import TableError

_LINE = re.compile(rb"([^\r\n]*)(\r\n|\r|\n|\Z)")
_CLOSING_QUOTE = re.compile(rb'(?:[^"]|"")*+"')
_EMPTY_LINE = re.compile(rb"\A[\r\n]|\n[\r\n]|\r\r")


class TextRecord(NamedTuple):
    """One row of a text file, as written."""

    line: int  # where it begins, from 1
    text: bytes
    end: bytes  # its line ending
    is_open: bool  # the file ends inside one of its quoted cells
    start: int  # its first byte


def iter_records(body: bytes, delimiter: str = ",", first_line: int = 1) -> Iterator[TextRecord]:
    """Yield the records of a file. Empty lines are skipped; quoted cells may span lines."""
    line, start, previous_lines, quoted = 0, 0, list[bytes](), False
    for number, match in enumerate(_LINE.finditer(body), first_line):
        if not previous_lines:
            if not match[1]:
                continue
            line, start = number, match.start()
        quoted = _is_quote_open(match[1], quoted, delimiter)
        if quoted and match.end() < len(body):  # the cell continues on the next line
            previous_lines.append(match[0])
            continue
        text = b"".join([*previous_lines, match[1]])
        yield TextRecord(line, text, match[2], quoted, start)
        previous_lines = []


def _is_quote_open(line: bytes, quoted: bool, delimiter: str) -> bool:
    """Return whether a quoted cell continues after a line. Quotes open only where a cell begins."""
    if b'"' not in line:
        return quoted
    opening_quote, position = _opening_quote(delimiter), 0
    while match := (_CLOSING_QUOTE.match if quoted else opening_quote.search)(line, position):
        position, quoted = match.end(), not quoted
    return quoted


@functools.cache
def _opening_quote(delimiter: str) -> re.Pattern[bytes]:
    return re.compile(b'(?:^|%b)"' % re.escape(delimiter.encode()))


class LineNumbers:
    """The lines where records begin, computed once and only as far as requested."""

    def __init__(self, body: bytes, delimiter: str, first_line: int = 1) -> None:
        self._body = body
        self._first_line = first_line
        self._remaining = iter_records(body, delimiter, first_line)
        self._lines = array("q")
        self._one_line_each: bool | None = None

    def of(self, record: int) -> int:
        """Return the line where a record (from 0) begins."""
        if self._one_line_each is None:
            self._one_line_each = b'"' not in self._body and not _EMPTY_LINE.search(self._body)
        if self._one_line_each:
            return record + self._first_line
        while len(self._lines) <= record:
            following = next(self._remaining, None)
            if following is None:
                return record + self._first_line
            self._lines.append(following.line)
        return self._lines[record]


def split_record(record: str, delimiter: str) -> list[str]:
    """Return the cells of one record."""
    if '"' not in record:
        return record.split(delimiter)
    end = re.escape(delimiter)
    cells = re.findall(rf'(?:^|{end})("(?:[^"]|"")*+"[^{end}]*|[^{end}]*)', record)
    return [c[1:-1].replace('""', '"') if c[:1] == c[-1:] == '"' else c for c in cells]


def check_quotes_closed(body: bytes, delimiter: str, name: str, first_line: int = 1) -> None:
    """Refuse a file that ends inside a quoted cell."""
    if body.count(b'"') % 2 == 0:
        return
    for record in iter_records(body, delimiter, first_line):
        if record.is_open:
            raise TableError(
                f"{name}, line {record.line}: a quote opens here and is never closed. Close it, or "
                "remove it."
            )


def collapse_spaces(body: bytes) -> bytes:
    """Reduce the spaces between aligned columns to one; the number of lines stays the same."""
    if b'"' in body:
        return body
    return re.sub(rb" *(\r\n|\r|\n) *", rb"\1", re.sub(rb" {2,}", b" ", body)).strip(b" ")

"""How a text file is laid out: which delimiter, and whether the first line holds names."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice

from partita.tables.cell_types import is_missing, is_number
from partita.tables.text_records import iter_records, split_record

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "space"}
_RECORDS = 100  # that are looked at,
_CELLS = 1000  # and of their cells,
_HEAD = 1 << 20  # in these bytes of the file, or in its first line if that is longer


@dataclass(frozen=True, slots=True)
class TextLayout:
    """How a text file is laid out."""

    encoding: str
    delimiter: str
    header: bool
    newline: str = "\n"

    @property
    def between(self) -> str:
        """The delimiter, in a word."""
        return DELIMITERS.get(self.delimiter, repr(self.delimiter))


def detect_delimiter(body: bytes) -> str:
    """The delimiter that gives the most records the same number of cells, and most numbers."""
    head = _head(body)
    scores = {delimiter: _score(head, delimiter) for delimiter in DELIMITERS}
    best = max(scores, key=lambda delimiter: scores[delimiter])
    if best == " ":
        others = {d: score for d, score in scores.items() if d != " " and score[0] > 0.5}
        # words between other delimiters; but 1,5 2,5 are no words
        if others and scores[" "][1] <= max(numbers for _, numbers in others.values()):
            best = max(others, key=lambda delimiter: others[delimiter])
    return best if scores[best][0] > 0 else ","


def _head(body: bytes) -> bytes:
    """Some whole lines."""
    if len(body) <= _HEAD:
        return body
    last = max(body.rfind(end, 0, _HEAD) for end in (b"\n", b"\r"))
    if last >= 0:
        return body[: last + 1]
    ends = [at for end in (b"\n", b"\r") if (at := body.find(end)) >= 0]
    return body[: min(ends) + 1] if ends else body


def _score(head: bytes, delimiter: str) -> tuple[float, float]:
    """The share of records that have the same number of cells, and of cells that are numbers."""
    found = list(islice(iter_records(head, delimiter), _RECORDS))
    # what a stray quote opens has no end, so its cells are not counted
    rows = [split_record(r.text.decode().strip(" "), delimiter) for r in found if not r.is_open]
    if delimiter == " ":
        rows = [[cell for cell in row if cell] for row in rows]
    if not rows:
        return 0.0, 0.0
    width, times = Counter(len(row) for row in rows).most_common(1)[0]
    if width < 2:
        return 0.0, 0.0
    each = _CELLS // len(rows)
    cells: list[str] = []
    for number, row in enumerate(rows):
        step = max(1, len(row) // each)
        cells += row[number % step :: step]  # from row to row, other columns
    numbers = sum(is_number(cell, delimiter) for cell in cells)
    return times / len(found), numbers / len(cells)


def is_header(first: list[str], delimiter: str) -> bool:
    """Whether a first line holds names: not if there are numbers, and nothing else but gaps."""
    numbers = [cell for cell in first if not is_missing(cell)]
    if not numbers or not all(is_number(cell, delimiter) for cell in numbers):
        return True
    # pandas calls columns without names 0, 1, … and leaves the cell above the index empty
    return not first[0].strip() and first[1:] == [str(i) for i in range(len(first) - 1)]

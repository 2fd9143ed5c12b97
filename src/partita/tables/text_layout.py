"""The layout of text: delimiter, title lines above the table, header."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from partita.tables.cell_types import is_missing, is_number
from partita.tables.text_records import iter_records, split_record

DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "space"}
# the sample by which delimiters are compared
SAMPLE_BYTES = 1 << 20  # and the rest of the line
SAMPLE_RECORDS = 100
SAMPLE_CELLS = 1000
SPACE_RIVAL_MIN_SHARE = 0.5  # of records of one width, for a delimiter to compete with spaces
_LINE_END = re.compile(rb"[\r\n]")
_YEAR = re.compile("(19|20)[0-9]{2}")


def detect_delimiter(body: bytes) -> str:
    """Return the delimiter that gives most records the same width, then the most numbers."""
    sample = first_lines(body)
    scores = {delimiter: _score(sample, delimiter) for delimiter in DELIMITER_NAMES}
    best = max(scores, key=lambda delimiter: scores[delimiter])
    if best == " ":
        rivals = [d for d in scores if d != " " and scores[d][0] > SPACE_RIVAL_MIN_SHARE]
        # spaces between words lose to a rival, unless they separate more numbers: 1,5 2,5
        if rivals and scores[" "][1] <= max(scores[delimiter][1] for delimiter in rivals):
            best = max(rivals, key=lambda delimiter: scores[delimiter])
    return best if scores[best][0] > 0 else ","


def first_lines(body: bytes) -> bytes:
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
    width = table_width(rows)
    if width < 2:
        return 0.0, 0.0
    n_rows = sum(len(row) == width for row in rows)
    cells_per_row = SAMPLE_CELLS // len(rows)
    cells: list[str] = []
    for number, row in enumerate(rows):
        step = max(1, len(row) // cells_per_row)
        cells += row[number % step :: step]  # other columns in each row
    numbers = sum(is_number(cell) for cell in cells)
    return n_rows / len(records), numbers / len(cells)


def table_width(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of cells that most rows have; if it is one, that most last rows have."""
    for part in (rows, rows[len(rows) // 2 :]):  # title lines come first
        widths = Counter(map(len, part)).most_common(1)
        if widths and widths[0][0] > 1:
            return widths[0][0]
    return min(1, len(rows))


def count_title_rows(rows: Sequence[Sequence[str]], width: int) -> int:
    """Return how many rows above the header are titles, or empty.

    A title fills at most half of the columns, from the first on, and not with numbers only. The
    last one may be names of groups of columns, with gaps between them. What follows must be a
    header of full width, otherwise nothing is a title.
    """
    count = 0
    while count < len(rows) and _is_title(rows[count], width):
        count += 1
    count += count + 1 < len(rows) and _is_above_groups(rows[count], rows[count + 1])
    if not 0 < count < len(rows):
        return 0
    following = rows[count]
    are_names = _are_names([cell for cell in following if cell.strip()])
    return count if len(following) == width and is_header(following) and are_names else 0


def _is_title(row: Sequence[str], width: int) -> bool:
    n_filled = sum(bool(cell.strip()) for cell in row)
    first = row[:n_filled]
    if width < 2 or n_filled > max(1, width // 2) or not all(cell.strip() for cell in first):
        return False
    return n_filled == 0 or not all(is_number(cell) for cell in first)


def _is_above_groups(row: Sequence[str], following: Sequence[str]) -> bool:
    """Return whether cells with gaps between them, as merged ones have, are above full names."""
    groups = [cell for cell in row if cell.strip()]
    is_sparse = len(row) == len(following) > 2 and 0 < len(groups) <= len(row) // 2
    are_full_names = not any(is_missing(cell) or is_number(cell) for cell in following)
    return is_sparse and _are_names(groups) and are_full_names


def _are_names(cells: Sequence[str]) -> bool:
    return all(not is_number(cell) or _YEAR.fullmatch(cell.strip()) for cell in cells)


def is_header(first_line: Sequence[str]) -> bool:
    """Return whether the cells of a first line are names, not only numbers and gaps."""
    values = [cell for cell in first_line if not is_missing(cell)]
    if not values or not all(is_number(cell) for cell in values):
        return True
    # pandas names columns 0, 1, … and leaves the cell above the index empty
    numbers = [str(i) for i in range(len(first_line) - 1)]
    return not first_line[0].strip() and list(first_line[1:]) == numbers

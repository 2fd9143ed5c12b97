"""Text files: encoding, delimiter and header are found out where they are not said; then cells.

Cells are read as text. What they mean is decided for whole columns, in `cells`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from partita.tables.cell_types import is_missing
from partita.tables.encodings import to_utf8
from partita.tables.table import TableError, arrow
from partita.tables.text_layout import TextLayout, detect_delimiter, is_header
from partita.tables.text_records import (
    LineNumbers,
    check_quotes_closed,
    collapse_spaces,
    iter_records,
    split_record,
)

_BLOCK = 1 << 22  # bytes that pyarrow parses at once


@dataclass(frozen=True, slots=True)
class TextCells:
    """The cells of a text file, as they are written."""

    columns: Any  # pyarrow.Table of strings
    layout: TextLayout
    notes: tuple[str, ...]
    line: Callable[[int], int]  # row (from 0) -> the line where it begins (from 1)


def read_cells(
    raw: bytes,
    name: str,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> TextCells:
    """The cells of a file; what is not said about it is found out."""
    body, encoding = to_utf8(raw, encoding, name)
    if not body.strip():
        raise TableError(f"{name} is empty: a table with at least one row is expected")
    if b"\0" in body:
        line = body[: body.index(b"\0")].count(b"\n") + 1
        raise TableError(
            f"{name}: line {line} holds a NUL byte, so this is not text, or it is damaged; give "
            "the encoding if you know it, or save the file anew"
        )
    delimiter = delimiter or detect_delimiter(body)
    check_quotes_closed(body, delimiter, name)
    if delimiter == " ":
        body = collapse_spaces(body)
    record = next(iter_records(body, delimiter))
    first = split_record(record.text.decode(), delimiter)
    named = is_header(first, delimiter) if header is None else header
    layout = TextLayout(encoding, delimiter, named, record.end.decode() or "\n")
    names, notes = _names(first, named, said=header is not None)
    lines = LineNumbers(body, delimiter)
    return TextCells(
        columns=_parse(body, names, layout, name),
        layout=layout,
        notes=(_said(layout), *notes),
        line=lambda row: lines.of(row + layout.header),
    )


def _names(first: list[str], header: bool, said: bool) -> tuple[list[str], tuple[str, ...]]:
    """A name of its own for every column, and what is to be said about that."""
    if header:
        return unique_names([cell.strip() or f"c{i}" for i, cell in enumerate(first)])
    gaps = " and gaps" if any(map(is_missing, first)) else ""
    why = "as was said" if said else f"as the first line holds numbers{gaps}"
    names = [f"c{i}" for i in range(len(first))]
    return names, (f"there is no header, {why}: columns are called c0, c1, …",)


def unique_names(wanted: list[str]) -> tuple[list[str], tuple[str, ...]]:
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


def _parse(body: bytes, names: list[str], layout: TextLayout, name: str) -> Any:
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


def _fault(body: bytes, names: list[str], layout: TextLayout, name: str, error: Exception) -> str:
    """What is wrong with a file that cannot be parsed: most often a row of another length."""
    for record in iter_records(body, layout.delimiter):
        cells = split_record(record.text.decode(), layout.delimiter)
        if len(cells) != len(names):
            few = "fewer" if len(cells) < len(names) else "more"
            count = f"{len(cells)} cell{'s' * (len(cells) > 1)}"
            return (
                f"{name}: line {record.line} has {count}, {few} than the {len(names)} columns "
                f"of the first line (delimiter: {layout.between}); mend that line, or give the "
                "delimiter"
            )
    return f"{name} is not a table of text: {error}"


def _said(layout: TextLayout) -> str:
    encoding = {"utf-8-sig": "UTF-8 with a mark"}.get(layout.encoding, layout.encoding)
    return f"read as {encoding}, delimiter {layout.between}"

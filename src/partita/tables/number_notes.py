"""Notes on columns whose numbers are not written plainly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from partita._common.text import listed, one_line
from partita.tables.cell_types import without_missing
from partita.tables.number_styles import NumberStyle
from partita.tables.table import arrow

MAX_CELLS_SEARCHED = 1000  # for an example
MAX_TEXT_CHARACTERS = 30  # of a name or a cell


def number_notes(
    text: Any, data: Any, styles: dict[str, NumberStyle], missing: Sequence[str]
) -> list[str]:
    """Return a note for each style, with its columns and a cell as an example."""
    columns_of_style: dict[NumberStyle, list[str]] = {}
    for name, style in styles.items():
        columns_of_style.setdefault(style, []).append(name)
    notes = []
    for style, names in columns_of_style.items():
        row = _example_row(text[names[0]], style, missing)
        cell = one_line(text[names[0]][row].as_py(), MAX_TEXT_CHARACTERS)
        number = data[names[0]][row].as_py()
        shown = f"{cell!r} is read as {'missing' if number is None else f'{number:.15g}'}"
        where = listed([one_line(name, MAX_TEXT_CHARACTERS) for name in names], str)
        notes.append(f"{where}: {_note(style, shown)}")
    return notes


def _example_row(column: Any, style: NumberStyle, missing: Sequence[str]) -> int:
    """Return the first row that shows the style, else the first that is not missing."""
    pc = arrow(".compute")
    values = without_missing(column, missing)
    first: int = pc.index(pc.is_valid(values), True).as_py()
    cells = values.slice(first, MAX_CELLS_SEARCHED).to_pylist()
    mark = "%" if style.is_percent else style.thousands or style.decimal
    shows = (row for row, cell in enumerate(cells, first) if cell is not None and mark in cell)
    return next(shows, first)


def _note(style: NumberStyle, shown: str) -> str:
    if style.is_percent:
        return f"percentages are the numbers before the sign: {shown}"
    if not style.is_ambiguous:
        return shown
    mark = style.thousands or style.decimal
    name, role = ("point" if mark == "." else "comma"), "decimal"
    if style.thousands:
        role = "a thousands separator, not decimal"
    return f"{shown}: the {name} is {role}; the option `decimal` changes this"

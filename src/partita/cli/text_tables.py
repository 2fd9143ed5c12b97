"""Tables of text that fit the terminal: what is too wide continues in another table below."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

GAP = 2  # spaces between columns
RULE = "─"


def print_table(
    out: Console, columns: Sequence[Sequence[str]], *, left: int = 0, rule: bool = False
) -> None:
    """Print columns whose first cell is the heading, in tables that fit the width.

    No cell is broken. The first column is in every table; the first `left` columns are aligned on
    the left, the others on the right; `rule` draws a line below the headings.
    """
    for i, group in enumerate(_fitting_groups(columns, out.width)):
        if i:
            out.print()
        aligned = [_aligned(column, number < left) for number, column in group]
        lines = [(" " * GAP).join(cells).rstrip() for cells in zip(*aligned, strict=True)]
        width = sum(cell_len(cells[0]) for cells in aligned) + GAP * (len(aligned) - 1)
        lines[1:1] = [RULE * width] * rule
        out.print(Text("\n".join(lines), no_wrap=True), soft_wrap=True)


def _fitting_groups(
    columns: Sequence[Sequence[str]], width: int
) -> list[list[tuple[int, Sequence[str]]]]:
    """Split columns, with their numbers, into groups that fit the width."""
    groups: list[list[tuple[int, Sequence[str]]]] = []
    used = width
    for number, column in enumerate(columns[1:], 1):
        needed = _width(column) + GAP
        if used + needed > width:
            groups.append([(0, columns[0])])
            used = _width(columns[0])
        groups[-1].append((number, column))
        used += needed
    return groups


def _aligned(column: Sequence[str], on_left: bool) -> list[str]:
    width = _width(column)
    spaces = [" " * (width - cell_len(cell)) for cell in column]
    pairs = zip(column, spaces, strict=True)
    return [cell + space if on_left else space + cell for cell, space in pairs]


def _width(column: Sequence[str]) -> int:
    return max(map(cell_len, column))

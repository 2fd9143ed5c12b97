"""A table that reads well in a terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A title, a sentence on what is measured, and cells; the first column is to the left."""

    title: str
    about: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]
        lines = [_line(row, widths, "  ") for row in (self.head, *self.rows)]
        return "\n".join([self.title, self.about, "", lines[0], "-" * len(lines[0]), *lines[1:]])

    def markdown(self) -> str:
        rule = ["---", *["---:"] * (len(self.head) - 1)]
        lines = [_markdown_line(row) for row in (self.head, rule, *self.rows)]
        return "\n".join([f"## {self.title}", "", self.about, "", *lines])


def _markdown_line(row: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def _line(row: Sequence[str], widths: Sequence[int], gap: str) -> str:
    first, *rest = zip(row, widths, strict=True)
    return gap.join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)])


def milliseconds(seconds: float | None) -> str:
    """Format with three digits."""
    if seconds is None:
        return "–"
    value = 1e3 * seconds
    decimals = next((d for d, top in ((4, 0.1), (3, 1), (2, 10), (1, 100)) if value < top), 0)
    return f"{value:.{decimals}f}"


def verdict(times: Mapping[str, float], ours: str, target: float | None) -> list[str]:
    """Three cells: how many times the fastest peer takes as long, the target, and what it means."""
    peers = {name: seconds for name, seconds in times.items() if name != ours}
    wanted = "–" if target is None else f"{target:g}"
    if not peers:
        return ["–", wanted, "no peer"]
    fastest = min(peers, key=lambda name: peers[name])
    ratio = peers[fastest] / times[ours]
    if target is None:
        return [f"{ratio:.2f}", wanted, f"vs {fastest}"]
    reached = "reached" if ratio >= target else "below target"
    return [f"{ratio:.2f}", wanted, f"{reached} (vs {fastest})"]

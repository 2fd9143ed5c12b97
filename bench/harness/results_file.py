"""RESULTS.md and its picture, complete at any time: a run may be interrupted."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.markdown_table import Table


class Report:
    """Sections in a fixed order, independent of the order of measurement."""

    def __init__(self, out: Path | None, sections: Sequence[str]) -> None:
        self._out = out
        self._tables: dict[str, list[Table]] = {name: [] for name in sections}

    @property
    def tables(self) -> list[Table]:
        return [table for tables in self._tables.values() for table in tables]

    def put(self, section: str, *tables: Table) -> None:
        self._tables[section] = list(tables)

    def text(self, head: Sequence[str]) -> str:
        return "\n\n".join(["\n".join(head), *(table.text() for table in self.tables)])

    def write(self, head: Sequence[str]) -> None:
        """The Markdown file, if one was asked for."""
        if self._out is None:
            return
        picture = self._picture_path()
        parts = ["# Benchmark", "  \n".join(head)]
        if picture is not None and picture.exists():
            parts.append(f"![The ratios and the growth as a picture]({picture.name})")
        parts += [table.markdown() for table in self.tables]
        text = "\n\n".join(parts) + "\n"
        _replace(self._out, lambda path: path.write_text(text, encoding="utf-8"))

    def draw(self, draw: Callable[[Path], object]) -> None:
        """The picture, by a function that writes it to a path."""
        picture = self._picture_path()
        if picture is not None:
            _replace(picture, draw)

    def _picture_path(self) -> Path | None:
        return None if self._out is None else self._out.with_name(f"{self._out.stem.lower()}.png")


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """Write to a temporary name and rename, so that no reader sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part{path.suffix}")
    write(part)
    os.replace(part, path)

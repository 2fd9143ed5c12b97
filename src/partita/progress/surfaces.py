"""Surfaces: lines on a terminal, by rich, and in a notebook, by HTML that replaces itself."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from partita.progress.lines import LineText
from partita.progress.screen import Surface

if TYPE_CHECKING:
    from rich.console import Console

BAR_WIDTH = 20  # characters


def stderr_console() -> Console:
    """Return the console of stderr."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def surface_on(make_console: Callable[[], Console] = stderr_console) -> Surface | None:
    """Return what can show lines that change here; None in files, pipes and worker processes."""
    if is_worker():
        return None
    console = make_console()
    if console.is_jupyter:
        return NotebookSurface.open()
    if not console.is_terminal or console.is_dumb_terminal:
        return None
    return TerminalSurface(console)


def is_worker() -> bool:
    """Return whether other processes like this one share the terminal: those of joblib and Dask."""
    is_child = multiprocessing.parent_process() is not None
    return is_child or multiprocessing.current_process().name != "MainProcess"


class TerminalSurface:
    """Lines at the bottom of a terminal; what is printed meanwhile appears above them."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Any = None

    def draw(self, lines: Sequence[LineText]) -> None:
        if self._live is None:
            from rich.live import Live

            # text that goes elsewhere, as to a file, is left alone
            is_same = getattr(sys.stdout, "isatty", lambda: False)()
            self._live = Live(
                console=self._console,
                transient=True,
                auto_refresh=False,
                redirect_stdout=is_same,
            )
            self._live.start()
        self._live.update(_table(lines), refresh=True)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def _table(lines: Sequence[LineText]) -> Any:
    from rich.progress_bar import ProgressBar as Bar
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis")
    for line in lines:
        bar = Bar(
            total=1.0,
            completed=line.share or 0.0,
            width=BAR_WIDTH,
            pulse=line.share is None,
            animation_time=time.monotonic(),
        )
        table.add_row(Text(line.name), bar, Text(line.words))
    return table


class NotebookSurface:
    """Lines below a cell of a notebook; no widgets are needed."""

    def __init__(self, display: Any, html: Any) -> None:
        self._html, self._handle = html, display(html(""), display_id=True)

    @classmethod
    def open(cls) -> NotebookSurface | None:
        """Return a surface below the present cell; None if IPython cannot display."""
        try:
            from IPython.display import HTML, display
        except ImportError:
            return None
        return cls(display, HTML)

    def draw(self, lines: Sequence[LineText]) -> None:
        rows = "".join(f"<div>{_html_of(line)}</div>" for line in lines)
        self._handle.update(self._html(rows))

    def close(self) -> None:
        self._handle.update(self._html(""))


def _html_of(line: LineText) -> str:
    value = "" if line.share is None else f' value="{line.share:.4f}"'
    return f"{escape(line.name)} <progress{value}></progress> {escape(line.words)}"

"""Progress on stderr, and Ctrl-C that stops a fit without losing it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from partita.cli.console import console
from partita.observers import is_interrupt
from partita.progress.bars import ProgressBar
from partita.progress.screen import Screen, Surface
from partita.progress.surfaces import surface_on


class ProgressReporter:
    """Progress on a terminal; silent elsewhere.

    `bar` is the callback of fits, sweeps and certificates: during a fit the first Ctrl-C stops it
    after the current iteration and keeps its result; the second ends the program.
    """

    def __init__(self, quiet: bool = False) -> None:
        self.console = console(stderr=True)
        self.is_shown = self.console.is_terminal and not quiet
        self.interrupted = False
        self.bar = ProgressBar(keep=True, screen=Screen(self._surface))

    def _surface(self) -> Surface | None:
        return surface_on(lambda: self.console) if self.is_shown else None

    def show_status(self, text: str) -> AbstractContextManager[Any]:
        """Return a context that shows a spinner with a text."""
        return self.console.status(text) if self.is_shown else nullcontext()

    def print_line(self, text: str) -> None:
        """Print a line, on a terminal."""
        if self.is_shown:
            self.console.print(text, soft_wrap=True)

    def note_end(self, model: Any) -> None:
        """Note whether Ctrl-C ended the fit of a model."""
        self.interrupted |= is_interrupt(getattr(model, "stopped_by_", None))

    @contextmanager
    def noting_interrupt(self) -> Iterator[None]:
        """Note that Ctrl-C was pressed; it raises KeyboardInterrupt, which ends what catches it."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def handle(number: int, frame: Any) -> None:
            self.interrupted = True
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

"""`Screen`: the lines of the work that is watched, drawn by a thread while there are any.

The thread owns what it draws on, from opening it to closing it: Ctrl-C raises KeyboardInterrupt in
the main thread only, so the cursor always comes back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from partita.progress.lines import Clock, LineText, TaskLine

TICK_SECONDS = 0.2  # between two drawings


class Surface(Protocol):
    """What lines are drawn on: a terminal or a notebook."""

    def draw(self, lines: Sequence[LineText]) -> None:
        """Show the lines in place of those before."""

    def close(self) -> None:
        """Remove the lines."""


MakeSurface = Callable[[], Surface | None]


class Screen:
    """The lines of all that is watched.

    `make_surface` is called when there is a first line; None: nothing is shown. A screen that is
    not `drawn_by_thread` is drawn by `draw` only.
    """

    def __init__(
        self,
        make_surface: MakeSurface,
        clock: Clock = time.monotonic,
        drawn_by_thread: bool = True,
    ) -> None:
        self.clock = clock
        self._make_surface, self._drawn_by_thread = make_surface, drawn_by_thread
        self._lock = threading.Lock()
        self._lines: tuple[TaskLine, ...] = ()
        self._surface: Surface | None = None
        self._is_drawn = False  # something was, since the surface was made
        self._thread: threading.Thread | None = None
        self._done = threading.Event()

    def add(self, line: TaskLine) -> None:
        """Show a line from now on, once it is due."""
        with self._lock:
            self._lines = (*self._lines, line)
            if len(self._lines) > 1:
                return
            self._surface = self._make_surface()
            if self._surface is None or not self._drawn_by_thread:
                return
            self._done = threading.Event()
            self._thread = threading.Thread(
                target=self._run,
                args=(self._surface, self._done),
                name="partita progress bar",
                daemon=True,
            )
            try:
                self._thread.start()
            except RuntimeError:  # no more threads: the fit goes on without a bar
                self._surface = self._thread = None

    def remove(self, line: TaskLine) -> None:
        """Remove a line; without any, the surface is closed."""
        with self._lock:
            self._lines = tuple(other for other in self._lines if other is not line)
            if self._lines:
                return
            surface, thread = self._surface, self._thread
            self._surface = self._thread = None
            self._done.set()
        if thread is not None:
            thread.join()
        elif surface is not None:
            self._close(surface)

    def draw(self) -> None:
        """Draw the lines that are due."""
        surface = self._surface
        if surface is not None:
            self._draw_on(surface)

    def _draw_on(self, surface: Surface) -> None:
        lines = [line.text() for line in self._lines if line.is_due]
        if lines or self._is_drawn:
            self._is_drawn = True
            surface.draw(lines)

    def _close(self, surface: Surface) -> None:
        if self._is_drawn:
            surface.close()
        self._is_drawn = False

    def _run(self, surface: Surface, done: threading.Event) -> None:
        try:
            while not done.wait(TICK_SECONDS):
                self._draw_on(surface)
        except Exception:  # a terminal that went away must not end the fit
            pass
        finally:
            self._close(surface)

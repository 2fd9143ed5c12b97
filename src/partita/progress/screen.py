"""`Screen`: the lines of the work that is watched, drawn by a thread while there are any.

The thread owns what it draws on, from opening it to closing it: Ctrl-C raises KeyboardInterrupt in
the main thread only, so the cursor always comes back. It stays for a while when there is nothing
left to draw, because to start a thread takes longer than a short fit.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from partita.progress.lines import Clock, LineText, TaskLine

TICK_SECONDS = 0.2  # between two drawings
MAX_IDLE_TICKS = 25  # without lines, after which the thread ends
MAX_WAIT_SECONDS = 2.0  # for a terminal that does not take what is written


class Surface(Protocol):
    """A place to draw lines on: a terminal or a notebook."""

    def draw(self, lines: Sequence[LineText]) -> None:
        """Show the lines in place of those before."""

    def close(self) -> None:
        """Remove the lines."""


class Screen:
    """The lines of all that is watched.

    `make_surface` is called when a first line is due; None: nothing is shown. A screen that is not
    `drawn_by_thread` is drawn by `draw` only.
    """

    def __init__(
        self,
        make_surface: Callable[[], Surface | None],
        clock: Clock = time.monotonic,
        drawn_by_thread: bool = True,
    ) -> None:
        self.clock = clock
        self._make_surface, self._drawn_by_thread = make_surface, drawn_by_thread
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()  # guards all that follows
        self._lines: tuple[TaskLine, ...] = ()
        self._surface: Surface | None = None
        self._is_open = False  # the surface was made, or cannot be
        self._thread: threading.Thread | None = None

    def add(self, line: TaskLine) -> None:
        """Show a line from now on, once it is due."""
        if os.getpid() != self._process:  # a fork has left the thread, perhaps with the lock
            self._begin()
        with self._changed:
            self._lines = (*self._lines, line)
            if not self._drawn_by_thread:
                return
            if self._thread is None:
                self._start_thread()

    def remove(self, line: TaskLine) -> None:
        """Remove a line; without any, nothing is left of them when this returns."""
        if os.getpid() != self._process:
            self._begin()
        with self._changed:
            self._lines = tuple(other for other in self._lines if other is not line)
            if self._lines or not self._is_open:
                return
            if self._thread is None:
                self._close()
                return
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._lines or not self._is_open, MAX_WAIT_SECONDS)

    def draw(self) -> None:
        """Draw the lines that are due."""
        with self._changed:
            self._draw()

    def _draw(self) -> None:
        lines = [line.text() for line in self._lines if line.is_due]
        if lines and not self._is_open:
            self._is_open = True
            self._surface = self._make_surface()
        if self._surface is not None:
            self._surface.draw(lines)

    def _close(self) -> None:
        surface, self._surface = self._surface, None
        self._is_open = False
        if surface is not None:
            surface.close()

    def _start_thread(self) -> None:
        name = "partita progress bar"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # no more threads: the work goes on without a bar
            self._thread = None

    def _run(self) -> None:
        idle = 0  # ticks; nobody wakes the thread for a line, which would hold up short fits
        with self._changed:
            while self._lines or idle < MAX_IDLE_TICKS:
                self._changed.wait(TICK_SECONDS)
                idle = 0 if self._lines else idle + 1
                self._step()
            self._thread = None

    def _step(self) -> None:
        """Draw, or close what is no longer needed; a terminal that went away ends no fit."""
        try:
            if self._lines:
                self._draw()
            elif self._is_open:
                self._close()
        except Exception:
            self._surface = None
        if not self._is_open:
            self._changed.notify_all()

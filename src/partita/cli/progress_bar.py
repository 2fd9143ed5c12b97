"""Progress on stderr, and Ctrl-C that ends a fit and not the program."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Watch:
    """Bars with the time left, on a terminal; silent elsewhere.

    A first Ctrl-C during `fitting` ends the fit after the iteration that runs, and what it has
    found by then is kept; a second one ends the program.
    """

    def __init__(self, quiet: bool = False) -> None:
        from rich.console import Console

        self.console = Console(stderr=True)
        self.shown = self.console.is_terminal and not quiet
        self.interrupted = False
        self._bars: Any = None
        self._first: Any = None  # a bar that moves while nothing is known
        self._tasks: dict[str, Any] = {}

    @contextmanager
    def bars(self) -> Iterator[None]:
        """Show bars while the block runs; they are gone afterwards."""
        from rich import progress as rich

        if not self.shown:
            yield
            return
        columns = (
            rich.TextColumn("{task.description}"),
            rich.BarColumn(bar_width=24),
            rich.TaskProgressColumn(),
            rich.TextColumn("{task.fields[more]}"),
            rich.TimeRemainingColumn(compact=True),
            rich.TextColumn("{task.fields[left]}"),
        )
        with rich.Progress(*columns, console=self.console, transient=True) as self._bars:
            self._first = self._bars.add_task("starting", total=None, more="", left="")
            yield
        self._bars, self._tasks = None, {}

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Say what is being done, while no more is known of it."""
        if not self.shown:
            yield
            return
        with self.console.status(what):
            yield

    def say(self, text: str) -> None:
        """A line above the bars, on a terminal."""
        if self.shown:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _at(self, what: str, share: float, more: str) -> None:
        if self._bars is None:
            return
        if self._first is not None:
            self._bars.remove_task(self._first)
            self._first = None
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, total=1.0, more="", left="left")
        self._bars.update(self._tasks[what], completed=min(share, 1.0), more=more)

    def fit(self, rows: int, runs: int, most: int) -> Any:
        """An observer of a fit of so many rows, runs, and iterations at most.

        The share that is done is a guess: points that still change their cluster become fewer by
        about the same factor in every iteration.
        """
        run = 0

        def hear(progress: Any) -> bool:
            nonlocal run
            run += progress.iteration == 1
            left = math.log1p(progress.moved_points) / math.log1p(max(rows, 1))
            left = min(left, 1.0 - progress.iteration / max(most, progress.iteration))
            share = (run - left) / max(runs, run)
            which = f"run {run} of {runs}, " if runs > 1 else ""
            self._at("fit", share, f"{which}iteration {progress.iteration}, J {progress.cost:.6g}")
            return self.interrupted

        return hear

    def sweep(self, progress: Any) -> None:
        """An observer of `choose_k`."""
        names = {"fits": "fits", "references": "without structure", "halves": "halves"}
        which = f"K = {progress.k}" if progress.k is not None else ""
        what = names.get(progress.stage, progress.stage)
        self._at(f"{what:17}", progress.done / progress.total, which)

    @contextmanager
    def fitting(self) -> Iterator[None]:
        """Ctrl-C is a wish here, until it is said twice."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def heed(number: int, frame: Any) -> None:
            if self.interrupted:
                raise KeyboardInterrupt
            self.interrupted = True
            self.say("Stopping after this iteration; Ctrl-C once more ends at once.")

        before = signal.signal(signal.SIGINT, heed)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

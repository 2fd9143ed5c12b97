"""Progress on stderr, and Ctrl-C that stops a fit without losing it."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rich import progress as rich

from partita.certificates.gap_text import gap_percent
from partita.cli.console import console

USUAL_STARTS = 6  # of a search over several
TICK_SECONDS = 0.25  # between two updates of a bar that shows time
SEARCH_SHARE = 0.5  # of a fit, while it searches: nobody knows for how long
# stages of a sweep, where the text is not the stage's name
_STAGES = {"references": "uniform data", "clouds": "single clouds"}


class ProgressReporter:
    """Progress bars on a terminal; silent elsewhere.

    During `catch_interrupt` the first Ctrl-C stops the fit after the current iteration and keeps
    its result; the second ends the program.
    """

    def __init__(self, quiet: bool = False) -> None:
        self.console = console(stderr=True)
        self.is_shown = self.console.is_terminal and not quiet
        self.interrupted = False
        self._bars: Any = None
        self._starting: Any = None  # a pulsing bar, until the first progress
        self._tasks: dict[str, Any] = {}

    @contextmanager
    def show_bars(self) -> Iterator[None]:
        """Show bars while the block runs, and remove them at its end."""
        if not self.is_shown:
            yield
            return
        columns = (
            rich.TextColumn("{task.description}"),
            rich.BarColumn(bar_width=24),
            rich.TaskProgressColumn(),
            rich.TextColumn("{task.fields[detail]}"),
            rich.TimeRemainingColumn(compact=True),
            rich.TextColumn("{task.fields[left]}"),
        )
        with rich.Progress(*columns, console=self.console, transient=True) as self._bars:
            self._starting = self._bars.add_task("starting", total=None, detail="", left="")
            yield
        self._bars, self._tasks = None, {}

    def show_status(self, text: str) -> AbstractContextManager[Any]:
        """Return a context that shows a spinner with a text."""
        return self.console.status(text) if self.is_shown else nullcontext()

    def print_line(self, text: str) -> None:
        """Print a line above the bars, on a terminal."""
        if self.is_shown:
            self.console.print(text, soft_wrap=True)

    def _update(self, name: str, share: float, detail: str) -> None:
        if self._bars is None:
            return
        if self._starting is not None:
            self._bars.remove_task(self._starting)
            self._starting = None
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=1.0, detail="", left="left")
        self._bars.update(self._tasks[name], completed=min(share, 1.0), detail=detail)

    def fit_callback(self, rows: int, runs: int | None, max_iter: int) -> Callable[[Any], bool]:
        """Return a callback that shows the progress of a fit and stops it after Ctrl-C.

        The share done is a guess: the number of rows that change their cluster falls by about the
        same factor in every iteration. `runs` is None if the number of starts is not known.
        """
        run, last = 0, None

        def callback(progress: Any) -> bool:
            nonlocal run, last
            if progress is last:  # something else goes on, and asks whether to stop
                return self.interrupted
            last = progress
            if progress.path == "search":
                detail = f"search {progress.iteration}, J {progress.cost:.6g}"
                self._update("fit", SEARCH_SHARE, detail)
                return self.interrupted
            run = max(1, run + (progress.iteration == 1))
            left = math.log1p(progress.moved_points) / math.log1p(max(rows, 1))
            left = min(left, 1.0 - progress.iteration / max(max_iter, progress.iteration))
            share = (run - left) / max(runs or USUAL_STARTS, run)
            which = f"start {run}, " if runs is None else f"start {run} of {runs}, " * (runs > 1)
            detail = f"{which}iteration {progress.iteration}, J {progress.cost:.6g}"
            self._update("fit", share, detail)
            return self.interrupted

        return callback

    def sweep_callback(self, progress: Any) -> None:
        """Show the progress of `choose_k`."""
        detail = f"K = {progress.k}" if progress.k is not None else ""
        name = _STAGES.get(progress.stage, progress.stage)
        self._update(f"{name:12}", progress.done / progress.total, detail)

    @contextmanager
    def show_certification(self, time_limit: float | None) -> Iterator[Callable[[Any], None]]:
        """Show the time and the gap while the block runs; yields a callback for the bounds.

        Ctrl-C raises KeyboardInterrupt, which ends the search for bounds, and is noted.
        """
        begin, detail = time.monotonic(), "no bound yet"
        done = threading.Event()

        def callback(progress: Any) -> None:
            nonlocal detail
            detail = f"{progress.method}: gap {gap_percent(progress.gap)}"

        def tick() -> None:
            while not done.wait(TICK_SECONDS):
                share = (time.monotonic() - begin) / time_limit if time_limit else 0.0
                self._update("certify", share, detail)

        with self.show_bars(), self._noting_interrupt():
            ticker = threading.Thread(target=tick, daemon=True)
            if self.is_shown:
                ticker.start()
            try:
                yield callback
            finally:
                done.set()
                if self.is_shown:
                    ticker.join()

    @contextmanager
    def _noting_interrupt(self) -> Iterator[None]:
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

    @contextmanager
    def catch_interrupt(self) -> Iterator[None]:
        """Let the first Ctrl-C only set `interrupted`; the second raises KeyboardInterrupt."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def handle(number: int, frame: Any) -> None:
            if self.interrupted:
                raise KeyboardInterrupt
            self.interrupted = True
            self.print_line("Stopping after this iteration. Press Ctrl-C again to end at once.")

        before = signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

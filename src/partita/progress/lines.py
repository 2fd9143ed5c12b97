"""Lines: the state of watched work, and its text. Notes are cheap; texts are made to be drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from partita.certificates.gap_text import gap_percent
from partita.observers import RunStart, WatchedTask
from partita.progress.time_left import USED_RECORDS, TimeLeft, deadline, duration_text, seconds_left
from partita.trace import Progress

MIN_SECONDS = 0.5  # of work that is shown
STAGES = {"references": "uniform data", "clouds": "single clouds"}  # with another text than a name
STOPPING = "stopping after this iteration (Ctrl-C again: at once)"
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class LineText:
    """A line to draw: the share that is filled (None: unknown, it pulses), and words."""

    name: str
    share: float | None
    words: str


class TaskLine:
    """The state of a task, in words that its kind finds."""

    def __init__(self, task: WatchedTask, clock: Clock) -> None:
        self.task, self._clock, self.begin = task, clock, clock()
        self.is_stopping: Callable[[], bool] = lambda: False  # whether Ctrl-C was pressed

    @property
    def elapsed(self) -> float:
        """Seconds since the task began."""
        return self._clock() - self.begin

    @property
    def is_due(self) -> bool:
        """True once the work is long enough to be shown."""
        return self.elapsed >= MIN_SECONDS

    def note(self, record: Any) -> None:
        """Receive a record of the task."""

    def note_run(self, start: RunStart) -> None:
        """Receive the start of a run."""

    def time_left(self) -> TimeLeft | None:
        """Return the time left, if it is known."""
        return self._until_limit()

    def details(self) -> list[str]:
        """Return what else there is to say."""
        return []

    def text(self) -> LineText:
        """Return the line as it is drawn."""
        left, elapsed = self.time_left(), self.elapsed
        if left is not None and left.seconds == 0:  # it was wrong, so nothing is claimed
            left = None
        time = f"{duration_text(elapsed)} so far" if left is None else str(left)
        words = [time, *self.details()]
        if self.is_stopping():
            words.insert(0, STOPPING)
        return LineText(self.task.name, self._share(left), ", ".join(words))

    def _share(self, left: TimeLeft | None) -> float | None:
        """Return the share of the time that is over."""
        return None if left is None else self.elapsed / max(self.elapsed + left.seconds, 1e-9)

    def _until_limit(self) -> TimeLeft | None:
        limit = self.task.seconds
        if limit is None or limit == math.inf:
            return None
        return TimeLeft(max(0.0, limit - self.elapsed), is_limit=True)


class FitLine(TaskLine):
    """A fit: its runs, and the iterations of the present one."""

    def __init__(self, task: WatchedTask, clock: Clock) -> None:
        super().__init__(task, clock)
        self._start: RunStart | None = None
        self._run_begin = self.begin
        # (records, when the last came): replaced as one, because another thread reads it
        self._recent: tuple[tuple[Progress, ...], float] = (), self.begin
        self._search: Progress | None = None

    def note_run(self, start: RunStart) -> None:
        self._start, self._run_begin = start, self._clock()
        self._recent = (), self._run_begin

    def note(self, record: Progress) -> None:
        if record.path == "search":
            self._search = record
            return
        last = self._recent[0]
        if last and record.iteration <= last[-1].iteration:
            # a long iteration that goes on, or another run, unannounced
            last = last[:-1] if record.iteration == last[-1].iteration else ()
        self._recent = (*last[-USED_RECORDS:], record), self._clock()

    def time_left(self) -> TimeLeft | None:
        if self.task.is_open_ended:
            return self._until_limit()
        start, (trace, noted) = self._start, self._recent
        if start is None or start.halt is None or not trace:
            return None
        since = self._clock() - noted
        of_run = max(0.0, seconds_left(start.halt, trace) - since)
        estimate = self._left_of_runs(start, of_run)
        limit = deadline(start.halt) - trace[-1].seconds - since  # which the runs share
        left = min(estimate, limit)
        return None if left == math.inf else TimeLeft(max(0.0, left), limit < estimate)

    def _left_of_runs(self, start: RunStart, of_run: float) -> float:
        """Return the seconds left if the runs to come take as long as those so far."""
        if start.runs is None:
            return math.inf
        finished, present = self._run_begin - self.begin, self._clock() - self._run_begin
        if of_run == math.inf and start.run > 1:
            of_run = max(0.0, finished / (start.run - 1) - present)
        mean = (finished + present + of_run) / start.run
        return of_run + (start.runs - start.run) * mean if start.runs > start.run else of_run

    def details(self) -> list[str]:
        start, (trace, _), search = self._start, self._recent, self._search
        if search is not None:
            return [f"local search {search.iteration}", f"J {search.cost:.6g}"]
        words = []
        if start is not None and start.runs is None:
            words.append(f"start {start.run}")
        elif start is not None and start.runs != 1:
            words.append(f"start {start.run} of {start.runs}")
        if trace:
            words += [f"iteration {trace[-1].iteration}", f"J {trace[-1].cost:.6g}"]
        return words


class SweepLine(TaskLine):
    """A choice of the number of clusters: stages of counted fits, references and splits."""

    def __init__(self, task: WatchedTask, clock: Clock) -> None:
        super().__init__(task, clock)
        self._last: Any = None  # record of the sweep
        self._first: tuple[int, float] = 0, self.begin  # done in this stage when it was first heard
        self._noted = self.begin
        self._fit: Progress | None = None  # since the last record of the sweep

    def note(self, record: Any) -> None:
        if not hasattr(record, "stage"):
            self._fit = record
            return
        self._noted, self._fit = self._clock(), None
        if self._last is None or record.stage != self._last.stage:
            self._first = record.done, self._noted
        self._last = record

    def time_left(self) -> TimeLeft | None:
        last, (done, begin) = self._last, self._first
        if last is None or last.done <= done:
            return None
        each = (self._noted - begin) / (last.done - done)
        since = self._clock() - self._noted
        left = max(0.0, (last.total - last.done) * each - since)
        return TimeLeft(left, scope="left in this stage")  # of other stages, nobody knows

    def details(self) -> list[str]:
        last, fit, words = self._last, self._fit, []
        if last is not None:
            k = "" if last.k is None else f", K = {last.k}"
            stage = STAGES.get(last.stage, last.stage)
            words = [f"{stage} {last.done} of {last.total}{k}"]
        return words if fit is None else [*words, f"iteration {fit.iteration}"]

    def _share(self, left: TimeLeft | None) -> float | None:
        last = self._last
        return None if last is None else last.done / last.total


class BoundsLine(TaskLine):
    """A search for lower bounds: the gap, and the limit of the time."""

    def __init__(self, task: WatchedTask, clock: Clock) -> None:
        super().__init__(task, clock)
        self._last: Any = None

    def note(self, record: Any) -> None:
        self._last = record

    def details(self) -> list[str]:
        last = self._last
        if last is None:
            return ["no bound yet"]
        nodes = getattr(last, "nodes", None)
        method = last.method if nodes is None else f"{nodes} nodes"
        return [f"{method}: gap {gap_percent(last.gap)}"]


KINDS: dict[str, type[TaskLine]] = {"fit": FitLine, "sweep": SweepLine, "bounds": BoundsLine}


def line_of(task: WatchedTask, clock: Clock) -> TaskLine:
    """Return the line of a task that begins now."""
    return KINDS.get(task.kind, TaskLine)(task, clock)

"""`progress_bar`: a callback that shows how far the work is and how long it still takes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from partita._common.optional_imports import require
from partita._common.parameters import FLAG, check
from partita.halting import StopReason
from partita.observers import INTERRUPTED, RunStart, WatchedTask
from partita.progress.interrupts import InterruptCatcher
from partita.progress.lines import TaskLine, line_of
from partita.progress.screen import Screen
from partita.progress.surfaces import is_worker, surface_on


def progress_bar(*, keep: bool = False) -> ProgressBar:
    """Return a callback that shows a bar with the time left, in terminals and notebooks.

    For `callback=` of every estimator, `choose_k`, `certify` and `exact`. The bar appears after
    half a second, on stderr, and is removed at the end; in files and pipes there is none. The time
    left is estimated from the iterations so far ("about"), or a limit ("at most"); until either is
    known, the bar pulses. One object serves any number of fits, one after the other or at the same
    time. In processes of joblib or Dask it shows nothing.

    Parameters
    ----------
    keep : bool, default=False
        Whether Ctrl-C ends a fit with the best so far and an `InterruptedFitWarning`;
        `stopped_by_.kind` is then "interrupt". A second Ctrl-C raises KeyboardInterrupt. Only in
        the main thread. (`choose_k`, `certify` and `exact` keep their results in any case.)

    Examples
    --------
    >>> import partita
    >>> bar = partita.progress_bar(keep=True)
    >>> model = partita.KMeans(2, random_state=0, callback=bar).fit([[0.0], [1.0], [9.0]])
    >>> model.set_params(callback=None).inertia_
    0.5
    """
    check("keep", keep, FLAG)
    require("rich", "a progress bar", "progress")
    return ProgressBar(bool(keep))


class ProgressBar:
    """A callback that shows a line for each task that it watches, and may catch Ctrl-C.

    It has settings only: copies and pickles of it are as good as itself. Without a `screen`, it
    draws on that of the process.
    """

    __slots__ = ("keep", "screen")

    def __init__(self, keep: bool = False, screen: Screen | None = None) -> None:
        self.keep, self.screen = keep, screen

    def __call__(self, record: Any) -> StopReason | None:
        """Note a record of the innermost task of this thread."""
        tasks = _OPEN.tasks
        if not tasks:
            return None
        tasks[-1].line.note(record)
        catcher = tasks[-1].catcher
        return INTERRUPTED if catcher is not None and catcher.must_end() else None

    def __partita_run__(self, start: RunStart) -> None:
        """Note the start of a run."""
        if _OPEN.tasks:
            _OPEN.tasks[-1].line.note_run(start)
            if (catcher := _OPEN.tasks[-1].catcher) is not None:
                catcher.begin_run()

    @contextmanager
    def __partita_watch__(self, task: WatchedTask) -> Iterator[None]:
        """Show a line while the task runs, and catch Ctrl-C if nothing else does."""
        screen = _SCREEN if self.screen is None else self.screen
        line, outer = line_of(task, screen.clock), _OPEN.tasks[-1] if _OPEN.tasks else None
        keeps_result = task.keeps_result or (outer is not None and outer.keeps_result)
        catcher = None if outer is None else outer.catcher
        with ExitStack() as stack:
            if catcher is None and self.keep and not keeps_result and not is_worker():
                catcher = InterruptCatcher()
                stack.enter_context(catcher.catch())
            if catcher is not None:
                line.is_stopping = catcher.was_pressed
            _OPEN.tasks.append(_OpenTask(line, catcher, keeps_result))
            stack.callback(_OPEN.tasks.pop)
            stack.callback(screen.remove, line)
            screen.add(line)
            yield

    def __repr__(self) -> str:
        return f"progress_bar(keep={self.keep})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProgressBar):
            return NotImplemented
        return (self.keep, self.screen) == (other.keep, other.screen)

    def __hash__(self) -> int:
        return hash((self.keep, self.screen))

    def __deepcopy__(self, memo: object) -> ProgressBar:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return ProgressBar, (self.keep,)  # a screen stays in its process


@dataclass(frozen=True, slots=True)
class _OpenTask:
    """A task that is watched."""

    line: TaskLine
    catcher: InterruptCatcher | None  # of this task, or of one around it
    keeps_result: bool


class _OpenTasks(threading.local):
    """The tasks of a thread that bars watch, the outermost first."""

    def __init__(self) -> None:
        self.tasks: list[_OpenTask] = []


_SCREEN, _OPEN = Screen(surface_on), _OpenTasks()  # empty while nothing is watched

"""Observers: callbacks that are also told where work begins and ends, and which run begins."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from partita.halting import Halt, StopReason

CALLBACK_STOP = StopReason("a callback requested a stop", "callback")
INTERRUPTED = StopReason("an interrupt from the keyboard ended the fit", "interrupt")
REQUESTS = frozenset({"callback", "interrupt"})  # kinds of reasons that a person or program gave


@dataclass(frozen=True, slots=True)
class WatchedTask:
    """Work that an observer watches from its beginning to its end.

    Attributes
    ----------
    kind : {"fit", "sweep", "bounds"}
        The records that follow are `Progress`, `SweepProgress`, or those of bounds.
    name : str
        Of the member or the function.
    seconds : float or None
        The limit of its time, if it has one of its own.
    is_open_ended : bool
        It goes on beyond its runs, nobody knows for how long: a search.
    keeps_result : bool
        It catches KeyboardInterrupt itself, and returns the best so far.
    """

    kind: str
    name: str
    seconds: float | None = None
    is_open_ended: bool = False
    keeps_result: bool = False


@dataclass(frozen=True, slots=True)
class RunStart:
    """The run that begins, of how many (None: nobody knows), and the criterion that ends it."""

    run: int
    runs: int | None
    halt: Halt | None = None


class Observer(Protocol):
    """A callback with two more methods; any callable is a callback, without them."""

    def __call__(self, progress: Any) -> object:
        """Receive a record; True or a `StopReason` ends the work."""

    def __partita_watch__(self, task: WatchedTask) -> AbstractContextManager[object]:
        """Return a context that the task runs in."""

    def __partita_run__(self, start: RunStart) -> None:
        """Hear of a run before its first iteration."""


def watching(task: WatchedTask, *callbacks: object) -> ExitStack:
    """Return a context in which the observers among the callbacks, each once, watch a task."""
    stack, known = ExitStack(), list[object]()
    for callback in callbacks:
        watch = getattr(callback, "__partita_watch__", None)
        if watch is not None and callback not in known:
            known.append(callback)
            stack.enter_context(watch(task))
    return stack


def announce(callbacks: Iterable[object], start: RunStart) -> None:
    """Tell the observers among the callbacks that a run begins."""
    for callback in callbacks:
        hook = getattr(callback, "__partita_run__", None)
        if hook is not None:
            hook(start)


def requested_stop(answer: object) -> StopReason | None:
    """Return why the answer of a callback ends the work, or None to go on.

    >>> requested_stop(True), requested_stop(None), requested_stop("yes")
    ('a callback requested a stop', None, None)
    """
    if isinstance(answer, StopReason):
        return answer if is_requested(answer) else StopReason(answer, *answer.kinds, "callback")
    return CALLBACK_STOP if isinstance(answer, (int, np.bool_)) and answer else None


def is_requested(reason: str) -> bool:
    """Return whether a callback or Ctrl-C ended the work."""
    return isinstance(reason, StopReason) and not REQUESTS.isdisjoint(reason.kinds)


def is_interrupt(reason: object) -> bool:
    """Return whether Ctrl-C ended the work."""
    return isinstance(reason, StopReason) and "interrupt" in reason.kinds

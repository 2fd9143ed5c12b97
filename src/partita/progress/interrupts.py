"""Ctrl-C while a fit runs: the first asks for an end with the best so far, the second ends all."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from partita._common.warnings import InterruptedFitWarning, warn


class InterruptCatcher:
    """Note the first Ctrl-C of a fit, and let the second raise KeyboardInterrupt.

    The first one raises, too, before there is anything to keep.
    """

    def __init__(self) -> None:
        self._is_pressed = self._has_result = self._is_heard = False

    def was_pressed(self) -> bool:
        """Return whether Ctrl-C was pressed."""
        return self._is_pressed

    def begin_run(self) -> None:
        """Note that iterations begin: from now on, a fit has something to keep, or soon will."""
        self._has_result = True

    def must_end(self) -> bool:
        """Return whether a fit that now has a result must end with it."""
        self._has_result, self._is_heard = True, self._is_pressed
        return self._is_pressed

    @contextmanager
    def catch(self) -> Iterator[None]:
        """Catch Ctrl-C while the block runs; only the main thread can.

        A process that ignores Ctrl-C goes on to, and a handler that is not Python's stays.
        """
        if threading.current_thread() is not threading.main_thread():
            warn(
                "progress_bar(keep=True) cannot keep the result of a fit in another thread than "
                "the main one: Python gives Ctrl-C to the main thread only. The fit goes on.",
                RuntimeWarning,
            )
            yield
            return
        before = signal.getsignal(signal.SIGINT)
        if before in (None, signal.SIG_IGN):
            yield
            return

        def handle(number: int, frame: Any) -> None:
            if self._has_result and not self._is_pressed:
                self._is_pressed = True
                return
            if callable(before):
                before(number, frame)  # usually raises KeyboardInterrupt itself
            raise KeyboardInterrupt

        signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
        if self._is_pressed and not self._is_heard:
            warn("Ctrl-C came when the fit was complete: nothing was lost.", InterruptedFitWarning)

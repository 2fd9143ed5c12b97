"""Ctrl-C while a fit runs: the first asks for an end with the best so far, the second ends all."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from partita._common.warnings import warn


class InterruptCatcher:
    """Note the first Ctrl-C of a fit, and let the second raise KeyboardInterrupt."""

    def __init__(self) -> None:
        self._is_pressed = False

    def was_pressed(self) -> bool:
        """Return whether Ctrl-C was pressed."""
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
            if not self._is_pressed:
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

"""Bars that draw on a text, a clock that tests set, and callbacks that press Ctrl-C."""

from __future__ import annotations

import io
import re
import signal

import numpy as np
from rich.console import Console

from partita.estimators.registry import _BUILT_IN, member_class
from partita.progress.bars import ProgressBar
from partita.progress.screen import Screen
from partita.progress.surfaces import surface_on
from partita.trace import Progress

MEMBERS = sorted(_BUILT_IN)
ROWS = np.random.default_rng(5).uniform(size=(300, 3))  # no groups: many iterations
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
HIDE, SHOW, ERASE = "\x1b[?25l", "\x1b[?25h", "\x1b[2K"  # the cursor, and a line


class SetClock:
    """A clock that goes on by `step` seconds whenever it is read, and when a test says so."""

    def __init__(self, step=0.0):
        self.now, self.step = 100.0, step

    def __call__(self):
        self.now += self.step
        return self.now


class DrawnBar:
    """A bar on a terminal of text, drawn after every record; what it drew is in `frames`."""

    def __init__(self, clock=None, width=100, terminal=True, **settings):
        self.file, self.clock = io.StringIO(), clock or SetClock(step=0.01)
        self.console = Console(file=self.file, force_terminal=terminal, width=width)
        make_surface = lambda: surface_on(lambda: self.console)  # noqa: E731
        self.screen = Screen(make_surface, self.clock, drawn_by_thread=False)
        self.bar = ProgressBar(screen=self.screen, **settings)
        self.frames, self.heard = [], []

    def __partita_watch__(self, task):
        self.heard.append(task)
        return self.bar.__partita_watch__(task)

    def __partita_run__(self, start):
        self.heard.append(start)
        self.bar.__partita_run__(start)

    def __call__(self, record):
        self.heard.append(record)
        answer, before = self.bar(record), len(self.file.getvalue())
        self.screen.draw()
        self.frames.append(plain(self.file.getvalue()[before:]))
        return answer

    def __deepcopy__(self, memo):
        return self

    @property
    def output(self):
        """Everything that was written."""
        return self.file.getvalue()


class Pressing(DrawnBar):
    """A bar during whose record number `at` Ctrl-C is pressed, `times` times."""

    def __init__(self, at=1, times=1, **settings):
        super().__init__(**settings)
        self.at, self.times, self.calls = at, times, 0

    def __call__(self, record):
        self.calls += 1
        if self.calls == self.at:
            for _ in range(self.times):
                signal.raise_signal(signal.SIGINT)
        return super().__call__(record)


def plain(text):
    """Return what a terminal would show of text, without colours and movements."""
    return ESCAPES.sub("", text).replace("\r", "\n").strip()


def make(name, **parameters):
    """Return a member of the family."""
    return member_class(name)(4, random_state=0, **parameters)


def record(iteration, *, cost=1.0, shift=1.0, moved=10, seconds=0.0, fall=0.0, path="plain"):
    """Return the record of an iteration."""
    return Progress(iteration, cost, cost - fall, shift, moved, 0, seconds, path)


def halving(count, seconds=1.0, start=1024):
    """Return the records of a run in which the shift and the moved points are halved each time."""
    values = [(i, start / 2**i) for i in range(1, count + 1)]
    return [
        record(i, shift=value, moved=int(value), fall=value, seconds=i * seconds)
        for i, value in values
    ]

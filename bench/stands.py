"""A stand: the process in which one contestant works, and the line on which it is asked to.

Each library has its own process because they would disturb each other in one: three OpenMP runtimes
that spin between calls, BLAS libraries with different limits, and settings read only at load.
"""

from __future__ import annotations

import gc
import multiprocessing
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import environment
from contestants import BUILDERS, Contestant
from shapes import Array, Shape

_PAUSE = 0.02  # seconds: OpenMP threads spin for up to 8 ms after their last task


class AbsentError(Exception):
    """The library is not installed, or cannot be loaded."""


@dataclass(frozen=True, slots=True)
class Run:
    """One fit: its wall time and what it found."""

    seconds: float
    centers: Array
    iterations: int


class Stand:
    """The near end of the line."""

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        context = multiprocessing.get_context("spawn")
        self._line, far = context.Pipe()
        self._process = context.Process(target=_serve, args=(far, name, threads), daemon=True)
        chosen = environment.variables(name, threads)
        with environment.changed(chosen):
            self._process.start()
        core = chosen.get(environment.CORE)
        self.helped = f"{name} runs with {environment.CORE}={core}: see README.md." if core else ""
        far.close()
        self.version = str(self._answer())

    def ask(self, what: str, *arguments: Any) -> Any:
        """Call a method of `Desk` over there, when everybody else has come to rest."""
        time.sleep(_PAUSE)
        self._line.send((what, arguments))
        return self._answer()

    def close(self) -> None:
        self._line.close()
        self._process.join(5)

    def _answer(self) -> Any:
        try:
            answer = self._line.recv()
        except EOFError:
            self._process.join()
            raise RuntimeError(f"{self.name} died ({self._process.exitcode})") from None
        if isinstance(answer, Exception):
            raise answer
        return answer


class Desk:
    """The far end: what a contestant can be asked to do. Only the library's own call is timed."""

    def __init__(self, contestant: Contestant, threads: int) -> None:
        self._contestant = contestant
        self._threads = threads
        self._rows: Array
        self._start: Array
        self._model: Any = None

    def load(self, shape: Shape) -> None:
        """Make the rows and starting centers of a shape; they stay until the next one."""
        self._model = None
        self._rows = shape.rows()
        self._start = shape.start(self._rows)

    def fit(self, iterations: int) -> Run:
        self._model = None
        make = self._contestant.fit
        seconds, self._model = _timed(lambda: make(self._rows, self._start, iterations))
        return Run(seconds, *self._contestant.outcome(self._model))

    def predict(self, count: int, calls: int) -> float:
        """The best time to label the first rows with the last model."""
        rows = self._rows[:count]
        return _best(calls, lambda: self._contestant.predict(self._model, rows))

    def fit_small(self, rows: Array, k: int, seeds: Iterable[int], calls: int) -> list[float]:
        """The best time of a small fit from the library's own start, for each seed."""
        make = self._contestant.fit_small
        return [_best(calls, partial(make, rows, k, seed)) for seed in seeds]

    def seed(self, k: int, seed: int) -> Run:
        seeding = self._contestant.seeding
        assert seeding is not None
        seconds, centers = _timed(lambda: seeding(self._rows, k, seed))
        return Run(seconds, centers, 0)

    def peak(self) -> float | None:
        """FMA operations per second; None without partita's compiled core."""
        from peak import peak_flops

        return None if self.instruction_set() == "numpy" else peak_flops(self._threads)

    def instruction_set(self) -> str:
        from partita._kernels import compiled, core

        return core.instruction_set() if compiled() else "numpy"


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    gc.disable()
    begin = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - begin
    gc.enable()
    return seconds, result


def _best(calls: int, call: Callable[[], Any]) -> float:
    call()  # warm up
    gc.collect()
    gc.disable()
    best = float("inf")
    for _ in range(calls):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    gc.enable()
    return best


def _serve(line: Connection, name: str, threads: int) -> None:
    try:
        contestant = BUILDERS[name](threads)
    except Exception as error:  # an ImportError, or whatever a broken library raises at import
        line.send(AbsentError(f"{type(error).__name__}: {error}"))
        return
    desk = Desk(contestant, threads)
    line.send(contestant.version)
    while True:
        try:
            what, arguments = line.recv()
        except EOFError:
            return
        try:
            line.send(getattr(desk, what)(*arguments))
        except Exception as error:
            line.send(RuntimeError(f"{name}: {type(error).__name__}: {error}"))

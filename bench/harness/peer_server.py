"""The library's end of the pipe: methods that the benchmark calls. Only the call is timed."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from peers.kmeans_peers import UNLIMITED_ITERATIONS, Estimator, Peer

from harness.generated_data import Array
from harness.peak_memory import peak_memory


class Task(Protocol):
    """Rows to cluster, and where to start from."""

    k: int

    def rows(self) -> Array: ...
    def start(self, rows: Array) -> Array: ...


@dataclass(frozen=True, slots=True)
class Run:
    """One fit: wall time, centers, and bytes beyond the rows."""

    seconds: float
    centers: Array
    iterations: int = 0
    path: str = "–"
    memory: int | None = None


class PeerServer:
    """A peer, the last rows it loaded, and its last model."""

    def __init__(self, peer: Peer, threads: int) -> None:
        self._peer = peer
        self._threads = threads
        self._rows: Array
        self._start: Array
        self._moved: tuple[Array, Array] | None = None  # the mean, and the rows about it
        self._model: Any = None
        warnings.simplefilter("ignore")  # that a fit of two iterations did not converge is no news

    def load(self, task: Task) -> None:
        """Make the rows and starting centers; they stay until the next ones."""
        self._model = self._moved = None
        self._rows = task.rows()
        self._start = task.start(self._rows)

    def fit(self, most: int) -> Run:
        """Fit from the start until no label changes, or for `most` iterations."""
        return self._fit(self._peer.fit, most)

    def plain(self, iterations: int) -> Run:
        """Run a number of iterations that compute every distance."""
        return self._fit(self._peer.plain, iterations)

    def _fit(self, make: Callable[[Array, Array, int], Any], most: int) -> Run:
        self._model = None
        with peak_memory() as memory:
            seconds, self._model = _timed(lambda: make(self._rows, self._start, most))
        found = self._peer.outcome(self._model)
        return Run(seconds, found.centers, found.iterations, found.path, memory.extra)

    def step(self, centers: Array) -> Array:
        """The centers one iteration later."""
        model = self._peer.fit(self._rows, centers, 1)
        return self._peer.outcome(model).centers

    def label(self, centers: Array) -> Array:
        """The label of each row in an iteration that has these centers."""
        peer = self._peer
        assert isinstance(peer, Estimator)
        if not peer.centred:
            return peer.label(self._rows, centers)
        if self._moved is None:
            mean = self._rows.mean(axis=0)
            self._moved = mean, self._rows - mean
        mean, rows = self._moved
        return peer.label(rows, centers - mean)

    def predict(self, count: int, calls: int) -> float:
        """The best time to label the first rows with the last model."""
        rows = self._rows[:count]
        return _best(calls, lambda: self._peer.predict(self._model, rows))

    def fit_small(self, rows: Array, k: int, seeds: Iterable[int], calls: int) -> list[float]:
        """The best time of a small fit from the library's own start, for each seed."""
        make = self._peer.fit_small
        return [_best(calls, partial(make, rows, k, seed)) for seed in seeds]

    def default_fit(self, k: int, seed: int) -> Run:
        """A fit of the rows with everything by default."""
        seconds, model = _timed(lambda: self._peer.default_fit(self._rows, k, seed))
        found = self._peer.outcome(model)
        return Run(seconds, found.centers, found.iterations, found.path)

    def seed(self, k: int, seed: int) -> Run:
        seeding = self._peer.seeding
        assert seeding is not None
        seconds, centers = _timed(lambda: seeding(self._rows, k, seed))
        return Run(seconds, centers)

    def reach(self, kind: str, k: int, init: str, cost: float, seed: int) -> Run:
        """partita's class `kind` from a start of its own until J is at most `cost`."""
        given = {"init": init, "n_init": 1, "max_iter": 1000, "random_state": seed}
        return self._reach(kind, k, cost, given)

    def fit_until(self, cost: float) -> Run:
        """partita from the start until J is at most `cost`."""
        given = {"init": self._start, "n_init": 1, "max_iter": UNLIMITED_ITERATIONS, "tol": 0.0}
        return self._reach("KMeans", len(self._start), cost, given)

    def _reach(self, kind: str, k: int, cost: float, given: dict[str, Any]) -> Run:
        import partita
        from partita.halting import Target

        member = getattr(partita, kind)
        model = member(k, halt=Target(cost), n_threads=self._threads, **given)
        seconds, _ = _timed(lambda: model.fit(self._rows))
        return Run(seconds, model.cluster_centers_, model.n_iter_)

    def peak(self) -> float | None:
        """FMA operations per second; None without partita's compiled core."""
        from harness.fma_peak import peak_flops

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

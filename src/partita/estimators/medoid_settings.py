"""The parameters of `KMedoids`, checked and put in the engine's terms."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any

import numpy as np

from partita._random import generator, legacy
from partita._threads import Workers, one_blas_thread
from partita._typing import Floats, Ints
from partita._warnings import warn
from partita.engine.medoids import Plan, Run, Start, best_of, sweep
from partita.engine.swap import Problem
from partita.estimators import validation
from partita.estimators.dissimilarity import check_medoids
from partita.estimators.settings import Settings, one_of
from partita.halting import Halt, MaxIter
from partita.init.medoids import MEDOID_STARTS
from partita.source.dissimilarity import Measured, Table, hold

METHODS = ("fasterpam", "pam", "alternate", "clara", "onebatch")
SAMPLING = ("clara", "onebatch")


class MedoidSettings(Settings):
    """What the family has, and the methods and starts of k-medoids."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        one_of("method", model.method, METHODS)
        self.range = _check_range(model.k_range)
        self.most = self.k if self.range is None else self.range[1]
        if model.batch_size is not None:
            validation.whole("batch_size", model.batch_size, instead=", or None")
        if self.range is not None and model.method in SAMPLING:
            raise ValueError(
                f"k_range={model.k_range!r} was given with method={model.method!r}; a method that "
                "sees all rows is expected: fasterpam, pam or alternate"
            )

    @property
    def halt(self) -> Halt:
        """The user's criterion, then the limit; that nothing improves is the search's to say."""
        last = MaxIter(self.max_iter)
        return last if self.model.halt is None else self.model.halt | last

    def start(self, X: Any, n: int) -> tuple[Start, Ints | None]:
        """How a run starts, and the rows that were given, if they were."""
        init = self.model.init
        if isinstance(init, str):
            one_of("init", init, ("auto", *MEDOID_STARTS))
            if init == "auto":
                init = "build" if self.model.method == "pam" else "random"
            if init == "lab" and self.model.method == "onebatch":
                raise ValueError(
                    "init='lab' samples by itself; with method='onebatch' use 'random'"
                )
            return MEDOID_STARTS[init], None
        if callable(init):

            def call(problem: Problem, k: int, rng: np.random.Generator) -> Ints:
                return check_medoids(init(X, k, random_state=legacy(rng)), k, n)

            return call, None
        if init is None or self.model.method == "clara":
            raise ValueError(
                f"init={init!r} was given; one of auto, {', '.join(MEDOID_STARTS)} or a callable "
                "is expected, or (not with method='clara') an array with the numbers of rows"
            )
        return MEDOID_STARTS["random"], check_medoids(init, self.most, n)

    def seeds(self, given: bool) -> list[np.random.Generator]:
        """One generator for each run."""
        auto = {"alternate": 10, "clara": 5}.get(self.model.method, 1)
        runs = self.runs(auto)
        if given or (self.model.init in ("build", "auto") and self.model.method == "pam"):
            if given and runs != 1 and self.model.n_init != "auto":
                warn(
                    f"Explicit rows passed as init: performing only one init in "
                    f"{type(self.model).__name__} instead of n_init={self.model.n_init}.",
                    RuntimeWarning,
                )
            runs = 1
        rng = generator(self.model.random_state)
        return [rng, *rng.spawn(runs - 1)]  # the first run is that of n_init=1

    def search(
        self,
        table: Table,
        weight: Floats | None,
        counted: Ints,
        start: Start,
        given: Ints | None,
        workers: Workers,
    ) -> tuple[Run, dict[int, float] | None]:
        """The best run, its medoids as numbers among the rows that are counted."""
        with one_blas_thread() if isinstance(table, Measured) else nullcontext():
            return self._search(table, weight, counted, start, given, workers)

    def _search(
        self,
        table: Table,
        weight: Floats | None,
        counted: Ints,
        start: Start,
        given: Ints | None,
        workers: Workers,
    ) -> tuple[Run, dict[int, float] | None]:
        plan = Plan(
            method=self.model.method,
            halt=self.halt,
            observers=self.observers,
            ended=self.ended,
            batch=self.model.batch_size,
            memory=self.memory,
            begin=time.perf_counter(),
        )
        if len(counted) < table.n:
            table = table.among(counted)
            weight = None if weight is None else weight[counted]
        if self.model.method not in SAMPLING and self.most > 1:
            table = hold(table, plan.memory)
        problem = Problem(table, weight, workers)
        if given is not None:
            here = np.searchsorted(counted, given)
            start = lambda *_: here  # noqa: E731
        seeds = self.seeds(given is not None)
        if self.range is not None:
            return sweep(problem, self.range, start, seeds, plan)
        return best_of(problem, self.k, start, seeds, plan), None


def _check_range(given: Any) -> tuple[int, int] | None:
    if given is None:
        return None
    try:
        low, high = (validation.whole("k_range", k) for k in given)
    except (TypeError, ValueError):
        low, high = 0, 0
    if not 2 <= low <= high:
        raise ValueError(
            f"k_range={given!r} was given; the least and the largest number of clusters are "
            "expected, at least 2, for example (2, 10)"
        )
    return low, high


def counted_rows(weight: Floats | None, n: int, k: int, given: Ints | None) -> Ints:
    """The rows that have a say: of positive weight, given as a start, or needed to make up k."""
    if weight is None:
        return np.arange(n)
    counts = weight > 0
    if given is not None:
        counts[given] = True
    lacking = k - int(counts.sum())
    if lacking > 0:
        counts[np.flatnonzero(~counts)[:lacking]] = True
    return np.flatnonzero(counts)

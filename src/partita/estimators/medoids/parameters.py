"""The parameters of `KMedoids`, checked and put in the engine's terms."""

from __future__ import annotations

import numbers
import time
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.random_state import family, generator, legacy
from partita._common.threads import Workers, one_blas_thread
from partita._common.warnings import warn
from partita.engine.medoids.search import Plan, Run, Start, best_of, sweep
from partita.engine.medoids.swap import Problem
from partita.estimators import validation
from partita.estimators.lloyd_parameters import Settings, one_of
from partita.halting import Halt, MaxIter
from partita.init.medoid_starts import MEDOID_STARTS
from partita.source.dissimilarities import Measured, Table, materialize

METHODS = ("fasterpam", "pam", "alternate", "clara", "onebatch")
SAMPLING = ("clara", "onebatch")


class MedoidSettings(Settings):
    """What the family has, and the methods and starts of k-medoids."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        # a fitted model lends its medoids
        self._init = getattr(model.init, "medoid_indices_", model.init)
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

    def _start(self, X: Any, n: int, counted: Ints, given: Ints | None) -> Start:
        """How a run starts, among the rows that are counted."""
        init = self._init
        if given is not None:
            return lambda *_: np.searchsorted(counted, given)
        if isinstance(init, str):
            return MEDOID_STARTS[self._named]

        def call(problem: Problem, k: int, rng: np.random.Generator) -> Ints:
            rows = check_medoids(init(X, k, random_state=legacy(rng)), k, n)
            if not np.isin(rows, counted).all():
                raise ValueError("init chose a row of weight zero; choose among the others")
            return np.searchsorted(counted, rows)

        return call

    @property
    def _named(self) -> str:
        if self.model.init != "auto":
            return str(self.model.init)
        return "build" if self.model.method == "pam" else "random"

    def _given(self, n: int) -> Ints | None:
        """The rows to start from, if they were given."""
        init, method = self._init, self.model.method
        if isinstance(init, str):
            one_of("init", init, ("auto", *MEDOID_STARTS))
            if init == "lab" and method == "onebatch":
                raise ValueError("init='lab' was given with method='onebatch'; use init='random'")
            return None
        if init is None or method == "clara":
            raise ValueError(
                f"init={init!r} was given with method={method!r}; one of auto, "
                f"{', '.join(MEDOID_STARTS)} is expected, or (not with method='clara') an array "
                "with the numbers of rows, or a callable that returns them"
            )
        return None if callable(init) else check_medoids(init, self.most, n)

    def _seeds(self, given: bool) -> list[np.random.Generator]:
        """One generator for each run."""
        method = self.model.method
        runs = self.runs({"alternate": 10, "clara": 5}.get(method, 1))
        if given and runs != 1 and self.model.n_init != "auto":
            warn(
                "Explicit rows passed as init: performing only one init in "
                f"{type(self.model).__name__} instead of n_init={self.model.n_init}.",
                RuntimeWarning,
            )
        if given or (self._named == "build" and method in ("pam", "alternate")):
            runs = 1  # nothing is random
        rng = generator(self.model.random_state)
        return family(rng, runs)

    def search(
        self, X: Any, table: Table, weight: Floats | None, workers: Workers
    ) -> tuple[Ints, Run, dict[int, float] | None]:
        """Medoids, the best run, and the silhouettes if the number of clusters is to be chosen.

        The run speaks of rows that count; its start is given back in rows of X.
        """
        plan = Plan(
            method=self.model.method,
            halt=self.halt,
            callbacks=self.callbacks,
            on_run_end=self.on_run_end,
            batch=self.model.batch_size,
            memory=self.memory,
            begin=time.perf_counter(),
        )
        given = self._given(table.n)
        counted = counted_rows(weight, table.n, self.most, given)
        start = self._start(X, table.n, counted, given)
        seeds = self._seeds(given is not None)
        with one_blas_thread() if isinstance(table, Measured) else nullcontext():
            if weight is not None and len(counted) < table.n:
                table, weight = table.among(counted), weight[counted]
            if self.model.method not in SAMPLING and self.most > 1:
                table = materialize(table, plan.memory)
            problem = Problem(table, weight, workers)
            scores: dict[int, float] | None = None
            if self.range is None:
                run = best_of(problem, self.k, start, seeds, plan)
            else:
                run, scores = sweep(problem, self.range, start, seeds, plan)
        medoids = counted[run.medoids]
        if run.start is not None:
            run = replace(run, start=counted[run.start])
        return (medoids if given is not None else np.sort(medoids)), run, scores


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


def check_medoids(given: Any, k: int, n: int) -> Ints:
    """Numbers of k different rows, or an error that says what does not fit."""
    wanted = f"the numbers of {k} different rows below {n} are expected"
    try:
        medoids, each = np.asarray(given), np.asarray(given, dtype=object)
        if medoids.ndim != 1 or not all(_is_number_of_row(i) for i in each.tolist()):
            raise ValueError(f"init has the shape {medoids.shape} and the dtype {medoids.dtype}")
    except ValueError as error:
        raise ValueError(f"{error}; {wanted}") from error
    if len(medoids) != k:
        raise ValueError(f"init has {len(medoids)} numbers of rows; {wanted}")
    if medoids.min() < 0 or medoids.max() >= n:
        raise ValueError(f"init reaches from {medoids.min()} to {medoids.max()}; {wanted}")
    if len(np.unique(medoids)) < k:
        raise ValueError(f"init names a row twice; {wanted}")
    return medoids.astype(np.int64)


def _is_number_of_row(value: Any) -> bool:
    """A mask of rows is not their numbers."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)

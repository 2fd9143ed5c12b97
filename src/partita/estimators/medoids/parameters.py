"""The parameters of `KMedoids`, checked and put in the engine's terms."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from partita._common import parameters as accept
from partita._common.array_types import Array, Floats, Ints
from partita._common.cluster_numbers import numbers_to_try
from partita._common.parameters import Got, Rule, check, choice, is_integer, must_be
from partita._common.random_state import as_random_state, generator, spawn_generators
from partita._common.threads import Workers, one_blas_thread
from partita.engine.medoids.descent import MedoidOptions, MedoidRun, Start
from partita.engine.medoids.medoid_population import EFFORTS
from partita.engine.medoids.search import best_medoids, sweep_k
from partita.engine.medoids.swap import MedoidProblem
from partita.estimators.lloyd_parameters import FitParameters
from partita.halting import Deadline, Halt, MaxIter
from partita.init.medoid_starts import MEDOID_STARTS
from partita.source.dissimilarities import DissimilarityTable, MetricTable, materialize

METHODS = ("fasterpam", "pam", "alternate", "clara", "onebatch")
SAMPLING_METHODS = ("clara", "onebatch")
AUTO_N_INIT = {"alternate": 10, "clara": 5}  # for n_init="auto"; else 1
INIT_ADVICE = (
    "init may also be an array of row numbers, or a callable that returns them (not with "
    "method='clara')."
)


def clusters_in(k_range: Any) -> tuple[int, ...]:
    """Return the numbers of clusters of a `k_range`, ascending; (low, high) is all between them."""
    if isinstance(k_range, tuple) and len(k_range) == 2 and all(map(is_integer, k_range)):
        k_range = range(int(k_range[0]), int(k_range[1]) + 1)
    return numbers_to_try("k_range", k_range, smallest=2)


def _is_range(value: Any) -> bool:
    try:
        return bool(clusters_in(value))
    except (TypeError, ValueError):
        return False


K_RANGE = Rule(
    ("numbers of clusters >= 2: (low, high), a range, a list, '2:10' or the largest",),
    _is_range,
    "For example, k_range=(2, 10).",
)


class MedoidParameters(FitParameters):
    """The parameters of `KMedoids`, checked, in the engine's terms."""

    rules: ClassVar[Mapping[str, Rule]] = {
        **FitParameters.rules,
        "method": choice(*METHODS),
        "quality": choice(*EFFORTS),
        "time_budget": accept.optional(accept.number(above=0)),
        "k_range": accept.optional(K_RANGE),
        "batch_size": accept.optional(accept.integer(1)),
    }

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        # the medoids of a fitted model
        self._init = getattr(model.init, "medoid_indices_", model.init)
        self.k_range = None if model.k_range is None else clusters_in(model.k_range)
        self.max_k = self.k if self.k_range is None else self.k_range[-1]
        if self.k_range is not None and model.method in SAMPLING_METHODS:
            wanted = choice(*(name for name in METHODS if name not in SAMPLING_METHODS)).text
            raise must_be("method", f"{wanted} with `k_range`", model.method)
        self.effort = EFFORTS[model.quality]
        if self.effort is not None and model.method != "fasterpam":
            raise must_be("method", f"'fasterpam' with quality={model.quality!r}", model.method)

    def _start(self, X: Any, n: int, candidates: Ints, given: Ints | None) -> Start:
        """Return the start of a run, as positions among the rows that may be medoids."""
        init = self._init
        if given is not None:
            return lambda *_: np.searchsorted(candidates, given)
        if isinstance(init, str):
            return MEDOID_STARTS[self._start_name]

        def call(problem: MedoidProblem, k: int, rng: np.random.Generator) -> Ints:
            rows = check_medoids(init(X, k, random_state=as_random_state(rng)), k, n)
            if not np.isin(rows, candidates).all():
                got = Got("a row of weight zero, or with more gaps than most")
                raise must_be("init", "rows that may be medoids", got)
            return np.searchsorted(candidates, rows)

        return call

    @property
    def _start_name(self) -> str:
        if self.model.init != "auto":
            return str(self.model.init)
        return "build" if self.model.method == "pam" else "random"

    def _given_rows(self, n: int) -> Ints | None:
        """Return the rows to start from, if the user gave them."""
        init, method = self._init, self.model.method
        names = choice("auto", *MEDOID_STARTS)
        if isinstance(init, str):
            check("init", init, names, INIT_ADVICE)
            if init == "lab" and method == "onebatch":
                raise must_be("init", "other than 'lab' with method='onebatch'", init)
            return None
        if init is None or method == "clara":
            raise must_be("init", f"{names.text} with method={method!r}", init, INIT_ADVICE)
        return None if callable(init) else check_medoids(init, self.max_k, n)

    def _generators(self, given: bool) -> list[np.random.Generator]:
        """Return one generator for each run."""
        method = self.model.method
        runs = self.run_count(AUTO_N_INIT.get(method, 1))
        if given:
            self.warn_of_single_start()
        if given or (self._start_name == "build" and method in ("pam", "alternate")):
            runs = 1  # nothing is random
        return spawn_generators(generator(self.model.random_state), runs)

    @property
    def _halt(self) -> Halt:
        """The limits of a descent, which ends anyway where nothing improves."""
        halt: Halt = MaxIter(self.max_iter)
        if self.model.time_budget is not None:
            halt = Deadline(float(self.model.time_budget)) | halt
        return halt if self.model.halt is None else self.model.halt | halt

    def search(
        self,
        X: Any,
        table: DissimilarityTable,
        weight: Floats | None,
        workers: Workers,
        allowed: Array | None = None,
    ) -> tuple[Ints, MedoidRun, dict[int, float] | None]:
        """Return the medoids, the best run, and the silhouettes by K if K is to be chosen.

        The run's medoids are positions among the candidates; its start is in rows of X. Rows that
        are not `allowed` (n,) are no medoids, unless they are given or there are too few others.
        """
        begin, given = time.perf_counter(), self._given_rows(table.n)
        counted = counted_rows(weight, table.n, self.max_k, given)
        candidates = _candidates(counted, self.max_k, given, allowed)
        options = MedoidOptions(
            method=self.model.method,
            start=self._start(X, table.n, candidates, given),
            halt=self._halt,
            callbacks=self.callbacks,
            on_run_end=self.on_run_end,
            batch=self.model.batch_size,
            memory=self.memory,
            begin=begin,
            effort=self.effort,
        )
        generators = self._generators(given is not None)
        with one_blas_thread() if isinstance(table, MetricTable) else nullcontext():
            if len(candidates) < table.n:
                table = table.restrict(candidates, counted)
                weight = None if weight is None else weight[counted]
            if self.model.method not in SAMPLING_METHODS and self.max_k > 1:
                searches = self.effort is not None or self.k_range is not None
                table = materialize(table, options.memory, is_read_often=searches)
            places = np.searchsorted(counted, candidates)
            problem = MedoidProblem(table, weight, workers, places)
            scores: dict[int, float] | None = None
            if self.k_range is None:
                run = best_medoids(problem, self.k, generators, options)
            else:
                run, scores = sweep_k(problem, self.k_range, generators, options)
        medoids = candidates[run.medoids]
        if run.start is not None:
            run = replace(run, start=candidates[run.start])
        keeps_order = given is not None and self.effort is None
        return (medoids if keeps_order else np.sort(medoids)), run, scores


def counted_rows(weight: Floats | None, n: int, k: int, given: Ints | None) -> Ints:
    """Return the rows of positive weight, those given as a start, and any needed to have k."""
    if weight is None:
        return np.arange(n)
    counts = weight > 0
    if given is not None:
        counts[given] = True
    lacking = k - int(counts.sum())
    if lacking > 0:
        counts[np.flatnonzero(~counts)[:lacking]] = True
    return np.flatnonzero(counts)


def _candidates(counted: Ints, k: int, given: Ints | None, allowed: Array | None) -> Ints:
    """Return the rows that may be medoids, of those that are counted."""
    if allowed is None:
        return counted
    chosen = counted[allowed[counted]]
    if given is not None:
        chosen = np.union1d(chosen, given)
    return chosen if len(chosen) >= k else counted


def check_medoids(init: Any, k: int, n: int) -> Ints:
    """Return the numbers of k different rows."""
    wanted = f"the numbers of {k} different rows from 0 to {n - 1}"
    try:
        medoids, values = np.asarray(init), np.asarray(init, dtype=object)
    except ValueError as error:
        raise must_be("init", wanted, Got(str(error))) from error
    # a mask of rows is not their numbers
    if medoids.ndim != 1 or not all(is_integer(value) for value in values.tolist()):
        got = f"an array of shape {medoids.shape} and dtype {medoids.dtype}"
        raise must_be("init", wanted, Got(got))
    if len(medoids) != k:
        raise must_be("init", wanted, Got(f"{len(medoids)} numbers"))
    if medoids.min() < 0 or medoids.max() >= n:
        raise must_be("init", wanted, Got(f"{medoids.min()} to {medoids.max()}"))
    if len(np.unique(medoids)) < k:
        raise must_be("init", wanted, Got("a row twice"))
    return medoids.astype(np.int64)

"""Several starts: fit again while that may pay, and keep the best model.

One start by k-means++ often puts two centers into one group and none into another, which Lloyd's
iterations do not repair. A merged start does: twice as many centers settle, then the cheapest pairs
are merged. How many starts are made depends on counted work, never on the clock, so the same
data give the same bits on every machine.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from partita._common.random_state import generator
from partita.estimators import validation
from partita.estimators.capabilities import set_known
from partita.estimators.fitted_models import capabilities_of, count_clusters
from partita.halting import Halt, RelDecrease
from partita.merging.tree import MergeTree
from partita.trace import Progress

# Work is counted in products of a row's coordinate with a center's
MAX_WORK = 2.5e10  # about two seconds of one core
WORK_PER_ROW = 400.0  # of a pass, in addition to the products
WORK_PER_PAIR = 150.0  # of two rows, for members that compare all pairs
WORK_PER_PAIR_AND_ITERATION = 5.0

SETTLED_DECREASE = 1e-2  # of J in an iteration: below it the centers of a merged start are merged
EQUAL_COST = 1e-9  # relative difference of J of equal partitions
MAX_EQUAL = 3  # fits at the lowest J: it is the minimum, as far as starts can tell
MIN_DECREASE = 1e-4  # of J: less is no reason to go on
PATIENCE = 5  # starts in succession without such a decrease

MIN_FULL_FITS = 10  # like the first that the work must allow, else starts are compared on a sample
SAMPLE_ROWS = 5000
SAMPLE_ROWS_PER_CLUSTER = 25
MIN_SAMPLE_DECREASE = 0.01  # of J of the sample, by a start that deserves all rows
NO_FILES: Mapping[str, Any] = MappingProxyType({})  # of checkpoints


def fit_several_starts(
    estimator: Any,
    X: Any,
    sample_weight: Any = None,
    *,
    first: Any = None,
    checkpoint: Any = None,
    resume: Any = None,
) -> Any:
    """Fit from several starts; return the best model, with the number of starts as `n_init`.

    The first start is the estimator's own, so J is never above that of one fit with the same seed;
    or it is `first`, a model already fitted to X. `checkpoint` and `resume` are those of its `fit`:
    the other starts are repeated by a resumed search, and end in the same bits. The search ends
    when starts repeat the lowest J or no longer improve it, when `MAX_WORK` is used up, or when the
    estimator's callback or a deadline stops a run.

    >>> from partita import KMeans
    >>> rows = [[0.0], [1.0], [10.0], [11.0], [20.0], [21.0]]
    >>> fit_several_starts(KMeans(3, random_state=0), rows).inertia_
    1.5
    """
    runs = _Runs(estimator, X, sample_weight)
    files = {"checkpoint": checkpoint, "resume": resume}
    files = {name: path for name, path in files.items() if path is not None}
    search = _Search(runs, runs.fit(files=files) if first is None else runs.adopt(first))
    if count_clusters(search.best) > 1:
        search.run(MAX_WORK)
    own = estimator.get_params(deep=False)
    kept = {name: own.get(name) for name in ("init", "random_state", "callback", "halt")}
    return set_known(search.best, **kept, n_init=runs.starts)


def _rows_of_scan(X: Any) -> Any:
    """Return the rows of a scan that are open; all else as it is."""
    opened = getattr(X, "opened", None)
    return X if opened is None else opened.rows


class _Runs:
    """Fits of copies of an estimator: the work they take, and whether the user stopped them."""

    def __init__(self, estimator: Any, X: Any, weight: Any) -> None:
        self.estimator, self.X, self.weight = estimator, X, weight
        self.rng = generator(estimator.random_state).spawn(1)[0]
        self.work, self.starts = 0.0, 0
        self.is_first, self.is_stopped = True, False
        takes_matrix = capabilities_of(estimator).takes_matrix
        self._rows = X if takes_matrix else validation.as_rows(_rows_of_scan(X))
        self._begin = time.perf_counter()
        self._last: Progress | None = None  # iteration of a start

    def fit(
        self,
        is_start: bool = True,
        halt: Halt | None = None,
        files: Mapping[str, Any] = NO_FILES,
        **parameters: Any,
    ) -> Any:
        """Fit a copy of the estimator; only the callback of a start sees its iterations.

        `files` are those of checkpoints.
        """
        model, own, runs = clone(self.estimator), self.estimator.callback, 0

        def callback(progress: Progress) -> bool:
            nonlocal runs
            runs += progress.iteration == 1
            self._last = progress if is_start else self._last
            if own is not None and self._last is not None:
                answer = own(self._last)
                self.is_stopped |= isinstance(answer, (int, np.bool_)) and bool(answer)
            return self.is_stopped

        set_known(model, callback=callback, halt=self._limited(halt), **parameters)
        with warnings.catch_warnings():
            if not self.is_first:  # which has warned
                warnings.simplefilter("ignore")
            model.fit(self.X, sample_weight=self.weight, **files)
        self.is_stopped |= model.halt is not None and model.halt.is_over(model.trace_)
        self.is_first = False
        self.work += self.work_of(model, max(runs, 1))
        self.starts += max(runs, 1) if is_start else 0
        return model

    def adopt(self, model: Any) -> Any:
        """Count a model that was fitted before as a start."""
        trace: Sequence[Progress] = getattr(model, "trace_", ())
        self._last = trace[-1] if len(trace) else None
        self.work, self.starts, self.is_first = self.work_of(model), 1, False
        return model

    def work_of(self, model: Any, runs: int = 1) -> float:
        """The work of a fit with runs like that of the model."""
        n, d = self._rows.shape
        passes = float(getattr(model, "n_iter_", 1))
        if capabilities_of(model).geometry is None:
            pair = WORK_PER_PAIR + d + WORK_PER_PAIR_AND_ITERATION * passes * runs
            return float(n * n * pair)
        k = count_clusters(model)
        values = self._rows.nnz / n if sp.issparse(self._rows) else d
        seeding = 2 + math.log(k)  # the candidates of k-means++
        return float(n * (k * values + WORK_PER_ROW) * (passes + seeding) * runs)

    def sample(self, size: int) -> _Runs:
        """Runs on some of the rows that have weight."""
        weight = validation.check_weights(self.weight, self._rows.shape[0])
        counted = np.arange(self._rows.shape[0]) if weight is None else np.flatnonzero(weight > 0)
        rows = np.sort(self.rng.choice(counted, min(size, len(counted)), replace=False))
        some = clone(self.estimator).set_params(random_state=self.seed())
        runs = _Runs(some, self._rows[rows], None if weight is None else weight[rows])
        runs._last, runs._begin, runs.is_first = self._last, self._begin, False
        return runs

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self._rows.shape[0])

    def seed(self) -> int:
        """A random state for a start."""
        return int(self.rng.integers(2**31))

    def _limited(self, halt: Halt | None) -> Halt | None:
        """A criterion, and that of the user, whose deadlines count from the first start."""
        own: Halt | None = self.estimator.halt
        if own is None or self.is_first:
            return own if halt is None else halt
        own = _Continued(own, time.perf_counter() - self._begin)
        return own if halt is None else halt | own


@dataclass(frozen=True, repr=False, slots=True)
class _Continued(Halt):
    """A criterion in a run that begins `seconds` after the first one."""

    halt: Halt
    seconds: float

    def reason(self, trace: Sequence[Progress]) -> str | None:
        return self.halt.reason(self._from_the_first(trace))

    def is_over(self, trace: Sequence[Progress]) -> bool:
        return self.halt.is_over(self._from_the_first(trace))

    def _from_the_first(self, trace: Sequence[Progress]) -> list[Progress]:
        return [replace(progress, seconds=progress.seconds + self.seconds) for progress in trace]


class _Search:
    """The best model so far, and how to find a better one."""

    def __init__(self, runs: _Runs, first: Any) -> None:
        self._runs, self.best = runs, first
        self._fits, self._equal, self._useful_starts = 1, 1, runs.starts
        capabilities = capabilities_of(first)
        self._geometry = capabilities.geometry
        self._merges = self._geometry is not None and capabilities.warm_start == "centers"

    def run(self, max_work: float) -> None:
        """Fit from other starts on all rows, or from the best start of a sample."""
        large = self._merges and self._runs.work_of(self.best) * MIN_FULL_FITS > max_work
        if large and self._sample_size < self._runs.n:
            self._start_from_sample(max_work)
            return
        while not self._is_over(max_work):
            model = self._merged() if self._merges else self._independent()
            if model is None:
                return
            self._fits += 1
            self._compare(model)

    def _is_over(self, max_work: float) -> bool:
        runs = self._runs
        is_settled = self._equal >= MAX_EQUAL or runs.starts - self._useful_starts >= PATIENCE
        is_spent = runs.work + runs.work / self._fits > max_work
        return runs.is_stopped or is_settled or is_spent or self.best.inertia_ <= 0

    def _compare(self, model: Any) -> None:
        cost, lowest = model.inertia_, self.best.inertia_
        lowest = lowest if math.isfinite(lowest) else math.inf  # which tells nothing
        if cost < (1 - MIN_DECREASE) * lowest:
            self._useful_starts = self._runs.starts
        if cost < (1 - EQUAL_COST) * lowest:
            self.best, self._equal = model, 1
        elif lowest < math.inf:
            self._equal += cost <= (1 + EQUAL_COST) * lowest

    def _independent(self) -> Any:
        return self._runs.fit(random_state=self._runs.seed())

    def _merged(self) -> Any | None:
        """Fit from merged centers; None if the user stopped before, or too few were found."""
        runs, k = self._runs, count_clusters(self.best)
        init = runs.estimator.init if isinstance(runs.estimator.init, str) else "k-means++"
        more = min(runs.n, 2 * k)
        start: dict[str, Any] = {
            "n_clusters": more,
            "init": init,
            "n_init": 1,
            "random_state": runs.seed(),
        }
        many = runs.fit(False, RelDecrease(SETTLED_DECREASE), **start)
        if runs.is_stopped or count_clusters(many) < k:
            return None
        assert self._geometry is not None
        tree = MergeTree.of(many.stats_, self._geometry, many.cluster_centers_)
        return runs.fit(init=tree.centers_at(k), n_init=1)

    def _start_from_sample(self, max_work: float) -> None:
        """Search a sample; if that finds a lower J there, fit all rows from its centers."""
        runs = self._runs
        sample = runs.sample(self._sample_size)
        search = _Search(sample, sample.fit(False, init=self.best.cluster_centers_, n_init=1))
        before = search.best.inertia_
        search.run(max_work)
        runs.is_stopped |= sample.is_stopped
        if not runs.is_stopped and search.best.inertia_ < (1 - MIN_SAMPLE_DECREASE) * before:
            self._compare(runs.fit(init=search.best.cluster_centers_, n_init=1))

    @property
    def _sample_size(self) -> int:
        return max(SAMPLE_ROWS, SAMPLE_ROWS_PER_CLUSTER * count_clusters(self.best))

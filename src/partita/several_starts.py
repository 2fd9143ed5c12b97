"""The fit of `partita fit`: a search, or several starts of members that cannot search.

How many starts are made depends on counted work, never on the clock, so the same data give the same
bits on every machine.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import scipy.sparse as sp
from sklearn.base import clone

from partita._common.random_state import generator
from partita._common.warnings import InterruptedFitWarning
from partita.estimators.capabilities import WARM_STARTS, set_known
from partita.estimators.fitted_models import capabilities_of, count_clusters, unwrap_pipeline
from partita.estimators.fitted_steps import fit_steps
from partita.estimators.table_rows import rows_for
from partita.estimators.watched_fit import task_of, warn_of_interrupt
from partita.halting import Halt, StopReason
from partita.observers import RunStart, announce, is_interrupt, requested_stop, watching
from partita.trace import Progress

# Work is counted in products of a row's coordinate with a center's
MAX_WORK = 2.5e10  # about two seconds of one core
WORK_PER_ROW = 400.0  # of a pass, in addition to the products
WORK_PER_PAIR = 150.0  # of two rows, for members that compare all pairs
WORK_PER_PAIR_AND_ITERATION = 5.0

EQUAL_COST = 1e-9  # relative difference of J of equal partitions
MAX_EQUAL = 3  # fits at the lowest J: it is the minimum, as far as starts can tell
MIN_DECREASE = 1e-4  # of J: less is no reason to go on
PATIENCE = 5  # starts in succession without such a decrease
KEPT_PARAMETERS = ("init", "random_state", "callback", "halt")  # those of the estimator itself
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
    """Search, or fit from several starts; return the best model.

    An estimator that can search (`quality`) does so, with "balanced" if its own is "fast". Another
    is fitted while new starts lower J, until they repeat the lowest J or `MAX_WORK` is used up; its
    number of starts is then `n_init`. The first start is the estimator's own, or `first`, a model
    already fitted to X, so J is never above theirs. `checkpoint` and `resume` are those of `fit`:
    what follows the first start is repeated by a resumed search, and ends in the same bits. The
    estimator's callback, or a deadline, ends it. The steps of a pipeline are fitted once.

    >>> from partita import KMeans
    >>> rows = [[0.0], [1.0], [10.0], [11.0], [20.0], [21.0]]
    >>> fit_several_starts(KMeans(3, random_state=0), rows).inertia_
    1.5
    """
    estimator, X, steps = fit_steps(estimator, X)
    first = unwrap_pipeline(first)[0]
    files = {"checkpoint": checkpoint, "resume": resume}
    files = {name: path for name, path in files.items() if path is not None}
    if capabilities_of(estimator).searches:
        return steps.around(_searched(estimator, first, X, sample_weight, files))
    runs = _Runs(estimator, X, sample_weight)
    with watching(task_of(estimator, is_open_ended=True), estimator.callback):
        search = _Search(runs, runs.fit(files=files) if first is None else runs.adopt(first))
        if count_clusters(search.best) > 1:
            search.run(MAX_WORK)
    if is_interrupt(runs.stopped_by):
        search.best.stopped_by_ = runs.stopped_by
        warn_of_interrupt(search.best)
    own = estimator.get_params(deep=False)
    kept = {name: own.get(name) for name in KEPT_PARAMETERS}
    return steps.around(set_known(search.best, **kept, n_init=runs.starts))


def _searched(estimator: Any, first: Any, X: Any, weight: Any, files: Mapping[str, Any]) -> Any:
    """Fit with a search, from the centers or medoids of `first` if it is given."""
    model = clone(estimator).set_params(callback=estimator.callback)
    if model.quality == "fast":
        model.set_params(quality="balanced")
    if first is not None:
        model.set_params(
            init=getattr(first, WARM_STARTS[str(capabilities_of(first).warm_start)]), n_init=1
        )
    model.fit(X, sample_weight=weight, **files)
    if first is not None and first.inertia_ <= model.inertia_:
        model = first
    own = estimator.get_params(deep=False)
    return set_known(model, **{name: own[name] for name in (*KEPT_PARAMETERS, "n_init")})


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
        self.stopped_by: StopReason | None = None  # if somebody asked for it
        takes_matrix = capabilities_of(estimator).takes_matrix
        self._rows = X if takes_matrix else rows_for(estimator, _rows_of_scan(X), "starts")
        self._begin = time.perf_counter()

    def fit(self, files: Mapping[str, Any] = NO_FILES, **parameters: Any) -> Any:
        """Fit a copy of the estimator with other parameters; `files` are those of checkpoints."""
        model, own, runs = clone(self.estimator), self.estimator.callback, 0

        def callback(progress: Progress) -> StopReason | None:
            nonlocal runs
            if progress.iteration == 1:
                runs += 1
                announce([own], RunStart(self.starts + runs, None))
            if own is not None:
                self.stopped_by = requested_stop(own(progress)) or self.stopped_by
                self.is_stopped |= self.stopped_by is not None
            return self.stopped_by

        set_known(model, callback=callback, halt=self._halt, **parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InterruptedFitWarning)  # the end says it once
            if not self.is_first:  # which has warned
                warnings.simplefilter("ignore")
            model.fit(self.X, sample_weight=self.weight, **files)
        self.is_stopped |= model.halt is not None and model.halt.is_over(model.trace_)
        self.is_first = False
        self.work += self.work_of(model, max(runs, 1))
        self.starts += max(runs, 1)
        return model

    def adopt(self, model: Any) -> Any:
        """Count a model that was fitted before as a start."""
        self.work, self.starts, self.is_first = self.work_of(model), 1, False
        return model

    def work_of(self, model: Any, runs: int = 1) -> float:
        """The work of a fit with runs like that of the model."""
        n, d = self._rows.shape
        passes = float(getattr(model, "n_iter_", 1))
        offered = capabilities_of(model)
        if offered.geometry is None and offered.warm_start != "centers":  # all pairs of rows
            pair = WORK_PER_PAIR + d + WORK_PER_PAIR_AND_ITERATION * passes * runs
            return float(n * n * pair)
        k = count_clusters(model)
        values = self._rows.nnz / n if sp.issparse(self._rows) else d
        seeding = 2 + math.log(k)  # the candidates of k-means++
        return float(n * (k * values + WORK_PER_ROW) * (passes + seeding) * runs)

    def seed(self) -> int:
        """A random state for a start."""
        return int(self.rng.integers(2**31))

    @property
    def _halt(self) -> Halt | None:
        """The criterion of the user, whose deadlines count from the first start."""
        own: Halt | None = self.estimator.halt
        if own is None or self.is_first:
            return own
        return _Continued(own, time.perf_counter() - self._begin)


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

    def run(self, max_work: float) -> None:
        """Fit from other starts."""
        while not self._is_over(max_work):
            model = self._runs.fit(random_state=self._runs.seed())
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

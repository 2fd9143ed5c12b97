"""A ladder of fits: one for every number of clusters, each started from the one above it.

A number above the largest is fitted first. Then the two clusters that are cheapest to merge become
one, and the fit is repeated from there. This ends at a lower cost than fits from random starts, in
a fraction of their time. Errors of merges add up, so small numbers are also fitted from the number
below, with one more center, and by a start of their own; the best of the three is kept.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_totals
from partita._common.spaced_rows import evenly_spaced
from partita._common.threads import Workers
from partita._common.warnings import InterruptedFitWarning
from partita.centers import Centers
from partita.estimators.capabilities import Capabilities, set_known
from partita.estimators.fitted_models import capabilities_of, count_clusters
from partita.estimators.lloyd_session import LloydSession
from partita.halting import RelDecrease
from partita.merging.agglomeration import cheapest_pair
from partita.merging.tree import MergeTree, merge_tree
from partita.observers import is_interrupt
from partita.source.column_table import ColumnTable
from partita.source.raw_rows import as_doubles

MIN_RELATIVE_DECREASE = 1e-3  # of J: fits that are only compared stop below it
MIN_FIRST_K = 20  # clusters of the first fit, so that even the largest number comes from merges
SAMPLE_ROWS = 1 << 13  # of more rows, a sample tells whether other starts of few clusters pay


@dataclass(frozen=True, slots=True)
class Rung:
    """The fit with k clusters."""

    k: int
    model: Any

    @property
    def cost(self) -> float:
        """Its objective."""
        return float(self.model.inertia_)


class Ladder(ABC):
    """Fits of the same rows that differ in their number of clusters."""

    max_small_k = 1  # up to here, `improve` tries other starts beside merges

    @abstractmethod
    def first(self, k: int) -> Rung:
        """Fit by the estimator's own starts and restarts."""

    @abstractmethod
    def fewer(self, rung: Rung, k: int) -> Rung:
        """Fit k clusters from a fit with more: the cheapest clusters are merged or dropped."""

    @abstractmethod
    def more(self, rung: Rung, k: int) -> Rung:
        """Fit k clusters from a fit with fewer: rows far from their center start new ones."""

    def improve(self, rungs: dict[int, Rung], small: Sequence[int]) -> None:  # noqa: B027
        """Replace fits with few clusters by better ones from other starts, if there are any."""


def ladder_of(estimator: Any, X: Any, weight: Any, workers: Workers) -> Ladder:
    """The fastest ladder that the estimator offers."""
    capabilities = capabilities_of(estimator)
    if capabilities.open_session is None:
        return RefitLadder(estimator, X, weight)
    return SessionLadder(capabilities, X, weight, workers)


def climb_down(
    ladder: Ladder,
    ks: Iterable[int],
    n: int,
    callback: Callable[[Rung], object] = lambda _: None,
    *,
    only_merges: bool = False,
) -> dict[int, Rung]:
    """Fit every number of clusters, so that no fit costs more than one with fewer clusters.

    The first fit has an eighth more clusters than the largest of `ks`, at least 20, at most n:
    merged clusters end at a lower cost, and the fits depend less on where the ladder begins.
    `callback` receives every fit, in descending order, and again one that was improved.
    `only_merges` makes no other fits of few clusters.
    """
    max_small_k = 1 if only_merges else ladder.max_small_k
    descending = sorted(set(ks), reverse=True)
    first_k = max(MIN_FIRST_K, descending[0] + max(2, descending[0] // 8))
    above = ladder.first(min(n, first_k))
    rungs: dict[int, Rung] = {}
    for k in descending:
        above = rungs[k] = above if above.k == k else ladder.fewer(above, k)
        if k > max_small_k:
            callback(above)
    small = [k for k in sorted(rungs) if k <= max_small_k]
    if len(small) > 1:
        ladder.improve(rungs, small)
    for k in reversed(small):
        callback(rungs[k])
    _repeat_worse_fits(ladder, rungs, callback)
    return rungs


def _repeat_worse_fits(
    ladder: Ladder, rungs: dict[int, Rung], callback: Callable[[Rung], object]
) -> None:
    """Improve fits that cost more than one with fewer clusters."""
    for low, high in pairwise(sorted(rungs)):
        if rungs[high].cost > rungs[low].cost:
            again = ladder.more(rungs[low], high)
            if again.cost < rungs[high].cost:
                rungs[high] = again
                callback(again)


class SessionLadder(Ladder):
    """Lloyd members: a session checks the rows once and keeps what prunes between fits."""

    max_small_k = 12

    def __init__(self, capabilities: Capabilities, X: Any, weight: Any, workers: Workers) -> None:
        assert capabilities.geometry is not None
        assert capabilities.open_session is not None
        halt = RelDecrease(MIN_RELATIVE_DECREASE)
        self._geometry, self._capabilities = capabilities.geometry, capabilities
        self._workers = workers
        self.session: LloydSession = capabilities.open_session(X, weight, workers, halt)

    def first(self, k: int) -> Rung:
        return Rung(k, self.session.fit(k))

    def fewer(self, rung: Rung, k: int) -> Rung:
        stats, centers = rung.model.stats_, rung.model.cluster_centers_
        if len(centers) <= k:  # empty clusters were dropped
            return self.more(rung, k)
        if not self.session.is_last(rung.model) or len(centers) - k > 1:
            tree = MergeTree.of(stats, self._geometry, centers)
            return Rung(k, self.session.fit(k, tree.centers_at(k)))
        i, j = cheapest_pair(stats, self._geometry)
        start = np.delete(centers, j, axis=0)
        start[[i]] = self._geometry.centers_of(stats.take([i]).merge(stats.take([j])), start[[i]])
        return Rung(k, self.session.fit_merged(i, j, start))

    def more(self, rung: Rung, k: int) -> Rung:
        source, values = self.session.data.source, rung.model.cluster_centers_
        labels, centers = np.full(source.n, -1, np.int32), Centers(values, np.zeros(source.d))
        source.assign(centers, labels, None)
        far = _farthest(source.own_distances(centers, labels), k - len(values))
        return Rung(k, self.session.fit(k, np.vstack([values, source.take_rows(far)])))

    def improve(self, rungs: dict[int, Rung], small: Sequence[int]) -> None:
        sample = self._sample()
        is_whole = sample is self
        below = rungs[small[0]] if is_whole else sample.continued(rungs[small[0]])
        for k in small[1:]:
            merged = rungs[k] if is_whole else sample.continued(rungs[k])
            below = _cheapest(merged, sample.more(below, k), sample.first(k))
            if is_whole:
                rungs[k] = below
            elif below.cost < (1 - MIN_RELATIVE_DECREASE) * merged.cost:
                rungs[k] = _cheapest(rungs[k], self.continued(below))

    def continued(self, rung: Rung) -> Rung:
        """Fit these rows from the centers of a fit of others."""
        centers = rung.model.cluster_centers_
        return Rung(rung.k, self.session.fit(len(centers), centers))

    def _sample(self) -> SessionLadder:
        """The ladder of some of the rows; of all, if they are few."""
        data = self.session.data
        counted = np.arange(data.source.n) if data.weight is None else np.flatnonzero(data.weight)
        if len(counted) <= SAMPLE_ROWS:
            return self
        rows = counted[evenly_spaced(len(counted), SAMPLE_ROWS)]
        weight = None if data.weight is None else data.weight[rows]
        return SessionLadder(self._capabilities, data.rows[rows], weight, self._workers)


class RefitLadder(Ladder):
    """Any other estimator: fitted again, from the clusters of another fit if it accepts a start."""

    def __init__(self, estimator: Any, X: Any, weight: Any) -> None:
        self._estimator, self._X, self._weight = estimator, X, weight
        self._warm_start = capabilities_of(estimator).warm_start

    def first(self, k: int, start: Any = None) -> Rung:
        model = clone(self._estimator).set_params(n_clusters=k)
        if start is not None:
            set_known(model, init=start, n_init=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InterruptedFitWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
            try:
                model.fit(self._X, sample_weight=self._weight)
            except (TypeError, ValueError):
                if start is None:
                    raise
                self._warm_start = None  # a foreign estimator that does not accept a start
                return self.first(k)
        if is_interrupt(getattr(model, "stopped_by_", None)):
            raise KeyboardInterrupt  # which ends the sweep, not only this fit
        own = self._estimator.get_params(deep=False)
        return Rung(k, set_known(model, init=own["init"], n_init=own.get("n_init")))

    def fewer(self, rung: Rung, k: int) -> Rung:
        passed_through = capabilities_of(rung.model).fewer
        if passed_through is not None and k <= count_clusters(rung.model):
            return Rung(k, passed_through(k))
        if self._warm_start is None:
            return self.first(k)
        model, X, weight = rung.model, self._X, self._weight
        return self.first(k, _start_with_fewer(self._warm_start, model, X, weight, k))

    def more(self, rung: Rung, k: int) -> Rung:
        if self._warm_start is None:
            return self.first(k)
        return self.first(k, _start_with_more(self._warm_start, rung.model, self._X, k))


def _start_with_fewer(accepts: str, model: Any, X: Any, weight: Floats | None, k: int) -> Any:
    if accepts == "centers" and capabilities_of(model).merge_rule == "means":
        tree = merge_tree(model, X, weight)
        return tree.centers_at(min(k, tree.n_clusters))
    cost = _costs(model, X)
    kept = _most_missed(cost, weight, k)
    if accepts == "labels":
        return np.asarray(cost[:, kept].argmin(axis=1), dtype=np.int32)
    own = model.cluster_centers_ if accepts == "centers" else model.medoid_indices_
    return np.asarray(own)[kept]


def _start_with_more(accepts: str, model: Any, X: Any, k: int) -> Any:
    if accepts == "centers":
        far = _farthest(model.transform(X).min(axis=1), k - len(model.cluster_centers_))
        rows = X[far].as_objects() if isinstance(X, ColumnTable) else as_doubles(X[far])
        return np.vstack([model.cluster_centers_, rows])
    distance = _costs(model, X).min(axis=1)
    if accepts == "medoid_indices":
        own = model.medoid_indices_
        return np.concatenate([own, _farthest(distance, k - len(own))])
    labels = np.array(model.labels_)
    n_clusters = int(labels.max()) + 1
    labels[_farthest(distance, k - n_clusters)] = np.arange(n_clusters, k)
    return labels


def _cheapest(*rungs: Rung) -> Rung:
    """The fit of the lowest cost, the first on ties."""
    return min(rungs, key=lambda rung: rung.cost)


def _costs(model: Any, X: Any) -> Floats:
    costs = capabilities_of(model).costs
    assert costs is not None, f"{type(model).__name__} must declare `costs` for a warm start"
    return costs(X)[1]


def _farthest(distance: Floats, count: int) -> Ints:
    """The numbers of the farthest rows, the lower ones on ties: `argpartition` leaves them open."""
    return np.sort(np.argsort(-distance, kind="stable")[:count])


def _most_missed(cost: Floats, weight: Floats | None, k: int) -> Ints:
    """The k clusters that remain after removing, one by one, the one whose removal costs least."""
    kept = np.arange(cost.shape[1])
    while len(kept) > k:
        remaining = cost[:, kept]
        nearest, two = remaining.argmin(axis=1), np.partition(remaining, 1, axis=1)[:, :2]
        extra = exact_totals(two[:, 1] - two[:, 0], nearest, len(kept), weight)
        kept = np.delete(kept, int(extra.argmin()))
    return kept

"""`ComparisonSums`: new rows beside those of the fit, when they come in blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.text import MAX_LISTED
from partita.new_rows.comparison import (
    drift_sentences,
    in_units,
    mean_drift,
    share_drift,
    stranger_sentence,
)
from partita.new_rows.fit_reference import FitReference, beyond_reach


class ComparisonSums:
    """The counts and sums from which a `Comparison` of all rows is told, without the rows."""

    def __init__(self, reference: FitReference) -> None:
        self._fit = reference
        self._n = self._n_strangers = 0
        self._first_strangers: list[Any] = []
        self._cluster_weight = np.zeros(len(reference.share))
        self._within, self._labelled = (_MeanSums(reference) for _ in range(2))

    def add(
        self,
        X: Floats,
        labels: Array,
        distance: Floats,
        weight: Floats | None,
        name_of: Callable[[int], Any],
    ) -> Array:
        """Add rows with their labels, distances and weights; return which are strangers.

        `name_of` returns the name of a row by its index.
        """
        is_stranger = beyond_reach(distance, labels, self._fit.reach)
        room = MAX_LISTED - len(self._first_strangers)
        strangers = np.flatnonzero(is_stranger)
        self._first_strangers += [name_of(i) for i in strangers[:room].tolist()]
        self._n, self._n_strangers = self._n + len(labels), self._n_strangers + len(strangers)
        is_labelled, k = labels >= 0, len(self._cluster_weight)
        known = is_labelled & (labels < k)
        own_weight = None if weight is None else weight[known]
        self._cluster_weight += np.bincount(labels[known], own_weight, k)
        self._within.add(X, is_labelled & ~is_stranger, weight)
        self._labelled.add(X, is_labelled, weight)
        return np.asarray(is_stranger)

    def sentences(
        self,
        names: Sequence[Any] | None,
        undo: Callable[[Floats], Floats] | None,
        group_names: Sequence[str | None] | None,
    ) -> list[str]:
        """Return the result in words, as a `Comparison` of all rows does."""
        fit, share = self._fit, self._cluster_weight / (self._cluster_weight.sum() or 1.0)
        are_few = 2 * self._within.n >= self._labelled.n
        sums = self._within if are_few else self._labelled
        mean, deviation = sums.moments()
        lines = []
        if self._n_strangers:
            lines.append(stranger_sentence(self._first_strangers, self._n_strangers, self._n))
        shares = share_drift(self._labelled.n, share, fit)
        means = in_units(mean_drift(sums.n, mean, deviation, fit), mean, fit.mean, undo)
        return [*lines, *drift_sentences(shares, means, names, group_names)]


class _MeanSums:
    """Sums of some rows about the mean of the fit, in its deviations."""

    def __init__(self, fit: FitReference) -> None:
        self.n, self._weight = 0, 0.0
        self._is_known = fit.mean is not None and fit.deviation is not None
        if fit.mean is not None and fit.deviation is not None:
            self._pivot, self._unit = fit.mean, np.where(fit.deviation > 0, fit.deviation, 1.0)
            self._sum, self._square = (np.zeros(len(fit.mean)) for _ in range(2))

    def add(self, X: Floats, chosen: Array, weight: Floats | None) -> None:
        self.n += int(chosen.sum())
        if not self._is_known or X.shape[1] != len(self._pivot):
            self._is_known = False
            return
        w = np.ones(int(chosen.sum())) if weight is None else weight[chosen]
        scaled = (X[chosen] - self._pivot) / self._unit
        self._weight += float(w.sum())
        self._sum += w @ scaled
        self._square += w @ (scaled * scaled)

    def moments(self) -> tuple[Floats | None, Floats | None]:
        if not self._is_known or self._weight == 0:
            return None, None
        mean = self._sum / self._weight
        variance = np.maximum(self._square / self._weight - mean * mean, 0.0)
        return self._pivot + mean * self._unit, np.sqrt(variance) * self._unit

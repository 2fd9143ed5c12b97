"""`Comparison`: new rows beside those of the fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.text import format_number, isolated, listed, one_line, plural
from partita.new_rows.fit_reference import FitReference, beyond_reach, moments, shares

CHANCE = 0.01  # of any remark on drift if there is none
MIN_ROWS = 20  # new rows, for a remark on drift
MIN_SHARE_DRIFT = 0.02  # of all rows
MIN_MEAN_DRIFT = 0.2  # standard deviations of the fit
MAX_NAME = 30  # characters of a feature
ROUNDING = 1e-9  # standard deviations: smaller means are 0, as those of scaled rows


@dataclass(frozen=True, slots=True)
class ShareDrift:
    """A cluster with clearly more or fewer of the new rows than of the fit."""

    cluster: int
    share: float  # of the new rows
    fit_share: float


@dataclass(frozen=True, slots=True)
class MeanDrift:
    """A feature whose mean over the new rows clearly differs from that of the fit."""

    feature: int
    deviations: float  # the difference, in standard deviations of the fit
    mean: float  # of the new rows within reach; of all if most are beyond
    fit_mean: float


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """New rows compared with the rows of the fit.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The cluster of each row, as `predict` returns it.
    distance : ndarray of shape (n,)
        The distance to the center of that cluster, as `transform` measures it; NaN without one.
    is_stranger : ndarray of shape (n,)
        Whether the row is unlike anything in the fit: farther away than its cluster reaches.
    share : ndarray of shape (k,)
        The part of the rows in each cluster.
    mean, deviation : ndarray of shape (d,) or None
        Mean and standard deviation of each feature over the rows within reach (over all rows if
        most are beyond it), as the model takes the features.
    reference : FitReference
        The same numbers of the fit, and the reach of each cluster.
    names : sequence of str or None
        The features, for texts.
    group_names : sequence of str or None
        The names of the clusters, for texts; an item may be None.
    share_drift, mean_drift : tuple of ShareDrift, of MeanDrift
        Clusters and features that differ from the fit by more than chance explains, the largest
        differences first. Empty for fewer than 20 rows.
    """

    labels: Array
    distance: Floats
    is_stranger: Array
    share: Floats
    mean: Floats | None
    deviation: Floats | None
    reference: FitReference
    names: Sequence[Any] | None = None
    group_names: Sequence[str | None] | None = None

    @classmethod
    def of(
        cls,
        reference: FitReference,
        X: Any,
        labels: Array,
        distance: Floats,
        weight: Floats | None = None,
    ) -> Comparison:
        """Compare rows, given with their labels, distances and weights, with those of a fit."""
        is_stranger = beyond_reach(distance, labels, reference.reach)
        mean = deviation = None
        if reference.mean is not None and X.shape[1] == len(reference.mean):
            mean, deviation = moments(X, _typical_rows(labels, is_stranger), weight)
        share = shares(labels, len(reference.share), weight)
        return cls(labels, distance, is_stranger, share, mean, deviation, reference)

    @property
    def strangers(self) -> Ints:
        """The indices of the strangers among the rows, the farthest first."""
        rows = np.flatnonzero(self.is_stranger)
        distance, reach = self.distance[rows], self.reference.reach[self.labels[rows]]
        beyond = np.divide(distance, reach, out=np.full(len(rows), np.inf), where=reach > 0)
        return rows[np.argsort(-beyond, kind="stable")]

    @cached_property
    def share_drift(self) -> tuple[ShareDrift, ...]:
        """Clusters with clearly more or fewer rows than in the fit."""
        n, fit = int((self.labels >= 0).sum()), self.reference
        if n < MIN_ROWS:
            return ()
        both = (n * self.share + fit.rows * fit.share) / (n + fit.rows)
        error = np.sqrt(both * (1 - both) * (1 / n + 1 / max(1, fit.rows)))
        change = self.share - fit.share
        clear = np.abs(change) > np.maximum(MIN_SHARE_DRIFT, _threshold(len(change)) * error)
        return tuple(
            ShareDrift(j, float(self.share[j]), float(fit.share[j]))
            for j in _largest_first(change, clear)
        )

    @cached_property
    def mean_drift(self) -> tuple[MeanDrift, ...]:
        """Features whose means clearly differ from those of the fit."""
        n, fit = int(_typical_rows(self.labels, self.is_stranger).sum()), self.reference
        if n < MIN_ROWS or self.mean is None or self.deviation is None:
            return ()
        if fit.mean is None or fit.deviation is None:
            return ()
        unit = np.where(fit.deviation > 0, fit.deviation, np.inf)  # a constant tells nothing
        change = (self.mean - fit.mean) / unit
        # both deviations count: a rare value may be in one of the two only
        error = np.sqrt((self.deviation / unit) ** 2 / n + 1 / max(1, fit.rows))
        clear = np.abs(change) > np.maximum(MIN_MEAN_DRIFT, _threshold(len(change)) * error)
        return tuple(
            MeanDrift(t, float(change[t]), float(self.mean[t]), float(fit.mean[t]))
            for t in _largest_first(change, clear)
        )

    def sentences(
        self,
        names: Sequence[Any] | None = None,
        rows: Sequence[Any] | None = None,
        undo: Callable[[Floats], Floats] | None = None,
    ) -> list[str]:
        """Return the result in words.

        `names` are those of the features, if the comparison has none; `rows` are names of the rows
        instead of their indices, and `undo` returns means (1, d) in the units of the data.
        """
        names = self.names if names is None else names
        lines = []
        if self.is_stranger.any():
            lines.append(self._about_strangers(rows))
        if self.share_drift:
            shares = [
                f"{self._group(drift.cluster)} has {100 * drift.share:.0f} % of the rows "
                f"({100 * drift.fit_share:.0f} % in the fit)"
                for drift in self.share_drift
            ]
            lines.append(f"Shares differ from the fit: {listed(shares, str)}")
        if self.mean_drift:
            means = [_about_mean(drift, names) for drift in self.drift_in_units(undo)]
            lines.append(f"Means differ from the fit: {listed(means, str)}")
        return lines

    def drift_in_units(self, undo: Callable[[Floats], Floats] | None) -> list[MeanDrift]:
        """Return `mean_drift` in the units of the data, to which `undo` takes means (1, d)."""
        if undo is None or self.mean is None or self.reference.mean is None:
            return list(self.mean_drift)
        here, fit = undo(self.mean[None])[0], undo(self.reference.mean[None])[0]
        return [
            replace(drift, mean=float(here[drift.feature]), fit_mean=float(fit[drift.feature]))
            for drift in self.mean_drift
        ]

    def _group(self, j: int) -> str:
        """Return "group 2 (Loyal)", or "cluster 2" if no cluster has a name."""
        if self.group_names is None:
            return f"cluster {j}"
        name = self.group_names[j] if j < len(self.group_names) else None
        return f"group {j} ({_shown(name)})" if name else f"group {j}"

    def _about_strangers(self, rows: Sequence[Any] | None) -> str:
        strangers, n = np.flatnonzero(self.is_stranger).tolist(), len(self.labels)
        named = [_shown(i if rows is None else rows[i]) for i in strangers]
        verb, noun, whose = ("is", "row", "its") if len(named) == 1 else ("are", "rows", "their")
        question = ""
        if 2 * len(named) > n >= MIN_ROWS:
            question = ". Are these rows in the units of the fit, and prepared like them?"
        return (
            f"{len(named)} of {plural(n, 'row')} {verb} unlike anything in the fit (farther from "
            f"the center than {whose} cluster reaches): {noun} {listed(named, str)}{question}"
        )

    def __str__(self) -> str:
        lines = self.sentences()
        return "\n".join(lines) if lines else "The rows are like those of the fit."

    def __repr__(self) -> str:
        n, strange = len(self.labels), int(self.is_stranger.sum())
        drift = len(self.share_drift) + len(self.mean_drift)
        return f"<Comparison of {plural(n, 'row')}: {plural(strange, 'stranger')}, {drift} drifts>"


def _typical_rows(labels: Array, is_stranger: Array) -> Array:
    """Return which rows (n,) the means are of: few strangers do not count, but most rows do."""
    labelled = labels >= 0
    within = labelled & ~is_stranger
    return np.asarray(within if 2 * within.sum() >= labelled.sum() else labelled)


def _shown(name: Any) -> str:
    return isolated(one_line(name, MAX_NAME))


def _about_mean(drift: MeanDrift, names: Sequence[Any] | None) -> str:
    name = f"feature {drift.feature}" if names is None else _shown(names[drift.feature])
    side = "above" if drift.deviations > 0 else "below"
    rounding = ROUNDING * abs((drift.mean - drift.fit_mean) / drift.deviations)
    here, there = (
        format_number(mean if abs(mean) > rounding else 0.0)
        for mean in (drift.mean, drift.fit_mean)
    )
    return f"{name} is {abs(drift.deviations):.1f} sd {side} ({here}, in the fit {there})"


def _threshold(tests: int) -> float:
    """Return the number of standard errors z that is beyond chance in so many two-sided tests.

    P(|Z| > z) <= exp(−z²/2) for a standard normal Z. Shares and means have half of the chance each.
    """
    return math.sqrt(2 * math.log(2 * max(1, tests) / CHANCE))


def _largest_first(change: Floats, clear: Array) -> list[int]:
    chosen = np.flatnonzero(clear)
    order: list[int] = chosen[np.argsort(-np.abs(change[chosen]), kind="stable")].tolist()
    return order

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
        return share_drift(int((self.labels >= 0).sum()), self.share, self.reference)

    @cached_property
    def mean_drift(self) -> tuple[MeanDrift, ...]:
        """Features whose means clearly differ from those of the fit."""
        n = int(_typical_rows(self.labels, self.is_stranger).sum())
        return mean_drift(n, self.mean, self.deviation, self.reference)

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
            strangers = np.flatnonzero(self.is_stranger).tolist()
            named = [i if rows is None else rows[i] for i in strangers]
            lines.append(stranger_sentence(named, len(strangers), len(self.labels)))
        means = self.drift_in_units(undo)
        return [*lines, *drift_sentences(self.share_drift, means, names, self.group_names)]

    def drift_in_units(self, undo: Callable[[Floats], Floats] | None) -> list[MeanDrift]:
        """Return `mean_drift` in the units of the data, to which `undo` takes means (1, d)."""
        return in_units(self.mean_drift, self.mean, self.reference.mean, undo)

    def __str__(self) -> str:
        lines = self.sentences()
        return "\n".join(lines) if lines else "The rows are like those of the fit."

    def __repr__(self) -> str:
        n, strange = len(self.labels), int(self.is_stranger.sum())
        drift = len(self.share_drift) + len(self.mean_drift)
        return f"<Comparison of {plural(n, 'row')}: {plural(strange, 'stranger')}, {drift} drifts>"


def share_drift(n: int, share: Floats, fit: FitReference) -> tuple[ShareDrift, ...]:
    """Return the clusters whose shares (k,) of n rows clearly differ from those of the fit."""
    if n < MIN_ROWS:
        return ()
    both = (n * share + fit.rows * fit.share) / (n + fit.rows)
    error = np.sqrt(both * (1 - both) * (1 / n + 1 / max(1, fit.rows)))
    change = share - fit.share
    clear = np.abs(change) > np.maximum(MIN_SHARE_DRIFT, _threshold(len(change)) * error)
    return tuple(
        ShareDrift(j, float(share[j]), float(fit.share[j])) for j in _largest_first(change, clear)
    )


def mean_drift(
    n: int, mean: Floats | None, deviation: Floats | None, fit: FitReference
) -> tuple[MeanDrift, ...]:
    """Return the features whose means (d,) over n rows clearly differ from those of the fit."""
    if n < MIN_ROWS or mean is None or deviation is None:
        return ()
    if fit.mean is None or fit.deviation is None:
        return ()
    unit = np.where(fit.deviation > 0, fit.deviation, np.inf)  # a constant tells nothing
    change = (mean - fit.mean) / unit
    # both deviations count: a rare value may be in one of the two only
    error = np.sqrt((deviation / unit) ** 2 / n + 1 / max(1, fit.rows))
    clear = np.abs(change) > np.maximum(MIN_MEAN_DRIFT, _threshold(len(change)) * error)
    return tuple(
        MeanDrift(t, float(change[t]), float(mean[t]), float(fit.mean[t]))
        for t in _largest_first(change, clear)
    )


def in_units(
    drifts: Sequence[MeanDrift],
    mean: Floats | None,
    fit_mean: Floats | None,
    undo: Callable[[Floats], Floats] | None,
) -> list[MeanDrift]:
    """Return drifts in the units of the data, to which `undo` takes means (1, d)."""
    if undo is None or mean is None or fit_mean is None:
        return list(drifts)
    here, fit = undo(mean[None])[0], undo(fit_mean[None])[0]
    return [
        replace(drift, mean=float(here[drift.feature]), fit_mean=float(fit[drift.feature]))
        for drift in drifts
    ]


def drift_sentences(
    shares: Sequence[ShareDrift],
    means: Sequence[MeanDrift],
    names: Sequence[Any] | None,
    group_names: Sequence[str | None] | None,
) -> list[str]:
    """Return the clusters and the features that differ from the fit, in words."""
    lines = []
    if shares:
        parts = [
            f"{_group(drift.cluster, group_names)} has {100 * drift.share:.0f} % of the rows "
            f"({100 * drift.fit_share:.0f} % in the fit)"
            for drift in shares
        ]
        lines.append(f"Shares differ from the fit: {listed(parts, str)}")
    if means:
        about = [_about_mean(drift, names) for drift in means]
        lines.append(f"Means differ from the fit: {listed(about, str)}")
    return lines


def _group(j: int, group_names: Sequence[str | None] | None) -> str:
    """Return "group 2 (Loyal)", or "cluster 2" if no cluster has a name."""
    if group_names is None:
        return f"cluster {j}"
    name = group_names[j] if j < len(group_names) else None
    return f"group {j} ({_shown(name)})" if name else f"group {j}"


def stranger_sentence(named: Sequence[Any], count: int, n: int) -> str:
    """Return how many of n rows are strangers; `named` are those to list."""
    shown = listed([_shown(name) for name in named], str, count)
    verb, noun, whose = ("is", "row", "its") if count == 1 else ("are", "rows", "their")
    question = ""
    if 2 * count > n >= MIN_ROWS:
        question = ". Are these rows in the units of the fit, and prepared like them?"
    return (
        f"{count} of {plural(n, 'row')} {verb} unlike anything in the fit (farther from "
        f"the center than {whose} cluster reaches): {noun} {shown}{question}"
    )


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

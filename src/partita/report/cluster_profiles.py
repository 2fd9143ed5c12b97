"""What sets clusters apart, feature by feature, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats, Ints
from partita._common.power_of_two import square_scales
from partita.plots.profile_display import moments
from partita.report.report_input import Case
from partita.report.safe_text import rounded, signed

_NAMED = 0.5  # deviations from the mean below which a feature is not worth naming
_VERY = 2.0
_TRAITS = 4  # features that are named of a cluster
_ROUNDING = 1e-12  # of a deviation: a mean that is so near to 0 is 0


@dataclass(frozen=True, slots=True)
class Trait:
    """One feature in which a cluster differs from all rows."""

    feature: str
    score: float  # (mean of the cluster − mean of all rows) / deviation of all rows
    mean: float  # of the cluster, in the user's units
    words: str  # "alcohol high (13.7, +1.1 sd)"


@dataclass(frozen=True, slots=True)
class Profile:
    """The means of the clusters against those of all rows."""

    mean: Floats  # (d,) of all rows, in the user's units
    deviation: Floats  # (d,)
    means: Floats  # (k, d) of the clusters
    scores: Floats  # (k, d) in deviations
    order: Ints  # (d,) features by how much of their variance lies between clusters

    def traits(self, j: int, names: tuple[str, ...]) -> tuple[Trait, ...]:
        """What sets cluster j apart, the most telling feature first."""
        size = np.abs(self.scores[j])
        first = np.argsort(-size, kind="stable")[:_TRAITS]
        return tuple(
            _trait(names[t], float(self.scores[j, t]), float(self.means[j, t]))
            for t in first
            if size[t] >= _NAMED
        )


def _trait(name: str, score: float, mean: float) -> Trait:
    level = "high" if score > 0 else "low"
    very = "very " if abs(score) >= _VERY else ""
    return Trait(name, score, mean, f"{name} {very}{level} ({rounded(mean)}, {signed(score)} sd)")


def profile_of(case: Case) -> Profile | None:
    """The profile of the clusters; None if the rows have no features."""
    if case.is_matrix or case.n == 0:
        return None
    weight = case.weight if case.weight.any() else np.ones(case.n)
    values = _filled(case.original, weight)
    unit = _units(values)
    if (unit != 1).any():
        values = values.multiply(unit).tocsr() if sp.issparse(values) else values * unit
    mean, deviation = moments(values, weight)
    means = _cluster_means(values, case, mean)
    scores = np.divide(means - mean, deviation, out=np.zeros_like(means), where=deviation > 0)
    scores = np.nan_to_num(scores, posinf=0.0, neginf=0.0)
    order = np.argsort(-(case.mass @ scores**2), kind="stable")
    means = np.where(np.abs(means) < _ROUNDING * deviation, 0.0, means)
    return Profile(mean / unit, deviation / unit, means / unit, scores, order)


def _units(values: Any) -> Floats:
    """Powers of two (d,), one for each feature: 1, unless its squares would be no doubles."""
    peak = np.maximum(_dense(values.max(axis=0)), -_dense(values.min(axis=0)))
    return square_scales(peak)


def _dense(values: Any) -> Floats:
    return np.asarray(values.toarray() if sp.issparse(values) else values).ravel()


def _cluster_means(values: Floats, case: Case, mean: Floats) -> Floats:
    """The mean (k, d) of every cluster; of an empty one, that of all rows."""
    some = np.flatnonzero(case.labels >= 0)
    mass = case.mass
    share = case.weight[some] / np.where(mass > 0, mass, 1.0)[case.labels[some]]
    mix = sp.csr_array((share, (case.labels[some], some)), shape=(case.k, case.n))
    if sp.issparse(values):
        means = np.asarray((mix @ values).todense())
    else:
        anchor = values[0]  # an offset of the data costs no digits
        means = np.asarray(mix @ (values - anchor)) + anchor
    return np.where(mass[:, None] > 0, means, mean)


def _filled(values: Any, weight: Floats) -> Any:
    """Doubles, with the mean of a feature where a value is missing."""
    found = values.astype(np.float64, copy=False)
    if sp.issparse(found):
        return found
    known = np.isfinite(found)
    if known.all():
        return found
    mass = weight @ known
    mean = weight @ np.where(known, found, 0.0) / np.where(mass > 0, mass, 1.0)
    return np.where(known, found, mean)

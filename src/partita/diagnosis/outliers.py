"""Check for rows far from all others: within clusters, and in tiny clusters of their own.

Everything is measured by medians and quantiles, which a few outliers do not move; the mean and the
root mean square of a cluster would follow them and mask them.
"""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.text import list_features, plural
from partita.diagnosis.finding import CheckSkipped, Finding
from partita.diagnosis.fit_context import FitContext
from partita.estimators.fitted_models import LabelledRows, capabilities_of
from partita.source.raw_rows import as_doubles

MIN_ROWS = 10  # with fewer, no row is far from "all others"
MAX_SHARE = 0.01  # of all rows that may be outliers; more are a group
MIN_LIMIT = 5  # rows that may be outliers in small data
TINY_LIMIT = 20  # rows of a tiny cluster in large data: as many that lie together are a group
MAX_CLUSTER_SHARE = 0.1  # of a typical cluster: among small clusters, few rows are nothing special
HIGH_SHARE = 0.95  # of rows below the high distance, which defines how distances spread
MIN_SPREAD = 0.25  # of the median distance: lattices have most of their rows at one distance
MIN_SCORE = 8.0  # spreads beyond the median; a million normal rows end at 4, exponential ones at 9
MIN_GAP_RATIO = 2.0  # of the score of the nearest outlier over that of the next row: a long tail
# has no gap
TINY_MIN_SCORE = 4.0  # of a tiny cluster, which is apart by being one
MIN_CLUSTER_ROWS = 10  # for a typical distance of its own
FEATURE_MIN_SHARE = 0.75  # of the squared distance of an outlier, to name the feature


def check_outliers(fit: FitContext) -> Finding | None:
    """Report rows that are far from all others, wherever they ended."""
    if fit.total < MIN_ROWS:
        raise CheckSkipped(f"there are fewer than {MIN_ROWS} rows")
    tiny = _tiny_clusters(fit)
    distances = OutlierScores(fit, tiny)
    apart = {j: distances.of_cluster(j) for j in np.flatnonzero(tiny).tolist()}
    apart = {j: far for j, far in apart.items() if distances.score(far) >= TINY_MIN_SCORE}
    own = np.flatnonzero(np.isin(fit.labels, list(apart)))
    inside = distances.beyond_gap(_limit(fit))
    rows = np.union1d(own, inside)
    if not len(rows):
        return None
    given = np.sort(fit.index[rows])
    nearest = min([*apart.values(), *distances.relative[inside].tolist()])
    names = _features(fit, rows, distances.nearest)
    mostly = f", mostly in {list_features(names)}" if names else ""
    return Finding(
        "outliers",
        f"{len(rows)} of {fit.n} rows {'lies' if len(rows) == 1 else 'lie'} far from all others.",
        f"{_places(fit, len(own), len(apart), len(inside))}{mostly}. At least {_times(nearest)} as "
        "far from the center of the nearest larger cluster as its typical rows: "
        f"{fit.list_rows(given)}.",
        _advice(fit),
        clusters=tuple(sorted({*apart, *fit.labels[inside].tolist()})),
        features=names,
        rows=tuple(given.tolist()),
    )


def _limit(fit: FitContext) -> float:
    """The weight that outliers may have together, without being a group."""
    limit = max(MIN_LIMIT, MAX_SHARE * fit.total)
    return float(min(limit, MAX_CLUSTER_SHARE * _typical_weight(fit)))


def _tiny_clusters(fit: FitContext) -> Array:
    weight = fit.stats.weight
    return (weight > 0) & (weight <= min(TINY_LIMIT, _limit(fit)))


def _typical_weight(fit: FitContext) -> float:
    """The weight of the cluster of a typical row; clusters of outliers do not change it."""
    weight = fit.stats.weight
    return weighted_quantile(weight[weight > 0], weight[weight > 0], 0.5)


def weighted_quantile(values: Floats, weight: Floats, share: float) -> float:
    """The lowest value that has at least this share of the weight at or below it."""
    if weight.min() == weight.max():
        place = max(0, int(np.ceil(share * len(values) * (1 - 1e-12))) - 1)
        return float(np.partition(values, place)[place])
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(weight[order])
    place = np.searchsorted(cumulated, share * cumulated[-1] * (1 - 1e-12))
    return float(values[order[min(place, len(order) - 1)]])


def _typical(distance: Floats, weight: Floats) -> float:
    """The root mean square of distances without the largest, which may be those of outliers.

    The median would be nearly 0 where most rows are equal.
    """
    low = np.where(distance <= weighted_quantile(distance, weight, HIGH_SHARE), weight, 0.0)
    return float(np.sqrt((low * distance * distance).sum() / low.sum()))


class OutlierScores:
    """Distances of rows to their centers, in typical distances of the cluster.

    Rows of tiny clusters count as none; rows at their center tell nothing of the spread.
    """

    def __init__(self, fit: FitContext, tiny: Array) -> None:
        self._fit = fit
        self._large: Ints = np.flatnonzero(~tiny & (fit.stats.weight > 0))
        labelled = LabelledRows(fit.rows, fit.labels, fit.weight, fit.k)
        distance = np.sqrt(labelled.squares_to(fit.centers))
        self._counted = ~tiny[fit.labels] & (distance > 0)
        self._unit = self._units(distance)
        unit = self._unit[fit.labels]
        self.relative = np.divide(distance, unit, out=np.zeros(fit.n), where=unit > 0)
        self.nearest = {int(j): int(j) for j in self._large}  # the larger cluster of each cluster
        counted, weight = self.relative[self._counted], fit.weight[self._counted]
        self._median = self._spread = 0.0
        if len(counted):
            self._median = weighted_quantile(counted, weight, 0.5)
            high = weighted_quantile(counted, weight, HIGH_SHARE)
            self._spread = max(high - self._median, MIN_SPREAD * self._median)

    def _units(self, distance: Floats) -> Floats:
        """The typical distance (k,) in each cluster; that of all rows for clusters of few rows."""
        fit, units = self._fit, np.zeros(self._fit.k)
        counted = np.flatnonzero(self._counted)
        if not len(counted):
            return units
        order = counted[np.argsort(fit.labels[counted], kind="stable")]
        labels, start = np.unique(fit.labels[order], return_index=True)
        for j, rows in zip(labels.tolist(), np.split(order, start[1:]), strict=True):
            if fit.weight[rows].sum() >= MIN_CLUSTER_ROWS:
                units[j] = _typical(distance[rows], fit.weight[rows])
        if not units.all():
            units[units == 0] = _typical(distance[counted], fit.weight[counted])
        return units

    def of_cluster(self, j: int) -> float:
        """The distance of a tiny cluster to the nearest that is not."""
        gap = self._fit.centers[self._large] - self._fit.centers[j]
        distance = np.sqrt(np.einsum("kd,kd->k", gap, gap))
        nearest = int(distance.argmin())
        self.nearest[j] = int(self._large[nearest])
        unit = self._unit[self._large[nearest]]
        return float(distance[nearest] / unit) if unit > 0 else np.inf

    def score(self, relative: float) -> float:
        """Spreads beyond the median."""
        return (relative - self._median) / self._spread if self._spread > 0 else np.inf

    def beyond_gap(self, limit: float) -> Ints:
        """The rows of larger clusters beyond a gap, if they weigh no more than `limit`."""
        if not self._spread > 0:
            return np.zeros(0, dtype=np.intp)
        score = np.where(self._counted, (self.relative - self._median) / self._spread, 0.0)
        far = np.flatnonzero(score >= MIN_SCORE / MIN_GAP_RATIO)
        far = far[np.argsort(-score[far], kind="stable")]
        weight = np.cumsum(self._fit.weight[far])
        scores = np.append(score[far], MIN_SCORE / MIN_GAP_RATIO)  # the next row, or what it may be
        is_gap = (scores[:-1] >= MIN_SCORE) & (scores[:-1] >= MIN_GAP_RATIO * scores[1:])
        gaps = np.flatnonzero(is_gap & (weight <= limit))
        return np.sort(far[: gaps[-1] + 1]) if len(gaps) else np.zeros(0, dtype=np.intp)


def _places(fit: FitContext, own: int, clusters: int, inside: int) -> str:
    """Say how many rows are in tiny clusters, and how many in larger ones."""
    apart = f"{own} in {plural(clusters, 'cluster')} of {'its' if own == 1 else 'their'} own"
    within = f"{inside} within {'larger clusters' if fit.k > 1 else 'the cluster'}"
    return " and ".join([apart] * (own > 0) + [within] * (inside > 0))


def _advice(fit: FitContext) -> str:
    advice = "Look at these rows: correct or remove them"
    if capabilities_of(fit.model).squared:
        advice += ", or use KMedoids, whose distances are not squared"
    if fit.scaling == "standard":
        advice += ". With RobustScaler() they do not set the scale"
    return f"{advice}."


def _times(relative: float) -> str:
    return "infinitely" if np.isinf(relative) else f"{relative:.3g} times"


def _features(fit: FitContext, rows: Ints, nearest: dict[int, int]) -> tuple[str | int, ...]:
    """The features that make most of the distances of outliers, if there is one for each row."""
    if fit.d < 2:
        return ()
    home = np.array([nearest[int(j)] for j in fit.labels[rows]])
    gap = as_doubles(fit.rows[rows]) - fit.centers[home]
    largest = np.abs(gap).argmax(axis=1)
    share = np.take_along_axis(gap, largest[:, None], 1)[:, 0] ** 2 / (gap * gap).sum(axis=1)
    clear = (share >= FEATURE_MIN_SHARE).all()
    return tuple(fit.names[t] for t in np.unique(largest)) if clear else ()

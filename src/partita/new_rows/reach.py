"""The reach of a cluster: the distance from its center up to which rows are like those of the fit.

A cluster of many rows decides by itself. Its *radius* is the 99.5 % quantile of the distances of
its rows, without those beyond a gap (outliers of the fit): of the farthest tenth, the rows that
exceed the median three times as much as the row before them, and as the cluster's own spread.
The reach is as far beyond the radius as the radius is beyond the median. That marks hardly any new
row of a round cluster and less than a hundredth of those of a heavy-tailed one, whatever the number
of features. Where distances are bounded, the reach ends halfway between the radius and the distance
of rows that have nothing in common with the cluster. A cluster of few rows borrows from the others
in the proportion that it lacks rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.power_of_two import largest_magnitude, square_scale

RADIUS_QUANTILE = 0.995  # of the distances, without the outliers of the fit
MAX_OUTLIER_SHARE = 0.1  # of the rows of a cluster
GAP_RATIO = 3.0  # of the excess over the median, from one row to the next
MAX_RADIUS_SPREADS = 10.0  # beyond the 90 % quantile
MARGIN = 1.0  # beyond the radius, in units of (radius − median)
ENOUGH_ROWS = 100  # of a cluster that borrows nothing
BORROWED_ROWS = 10  # that the typical distance of all clusters counts for, in that of a small one


class Extent(NamedTuple):
    """The extent of a cluster about its center."""

    median: float  # distance
    radius: float


def cluster_reach(
    distance: Floats, labels: Ints, k: int, *, about_means: bool, unrelated: Floats | None = None
) -> Floats:
    """Return the reach (k,) of clusters, by the distances (n,) of rows to their own centers.

    Rows with labels outside 0 to k − 1 do not count. With `about_means`, the pull of a row on its
    own center is undone: to the mean of the n − 1 others it is n/(n − 1) times as far. `unrelated`
    (k,) are the distances of rows that have nothing in common with a cluster. Infinite if no
    cluster has two different rows, which tells nothing.

    >>> distance = np.concatenate([np.linspace(0, 1, 1000), [500.0]])
    >>> cluster_reach(distance, np.zeros(1001, int), 1, about_means=False).round(2)
    array([1.49])
    """
    known = (labels >= 0) & (labels < k)
    labels, distance = labels[known], distance[known].astype(np.float64)
    scale = square_scale(largest_magnitude(distance))  # so that no square leaves the range
    distance = distance * scale
    count = np.bincount(labels, minlength=k)
    if about_means:
        distance = distance * (count / np.maximum(1, count - 1))[labels]
    by_cluster = np.split(distance[np.argsort(labels, kind="stable")], np.cumsum(count)[:-1])
    extents = [_extent(own) if len(own) > 1 else Extent(0.0, 0.0) for own in by_cluster]
    median, radius = (np.array(values) for values in zip(*extents, strict=True))
    if not (radius > 0).any():
        return np.full(k, np.inf)
    own_share = np.where(radius > 0, np.minimum(1.0, count / ENOUGH_ROWS), 0.0)
    typical = np.median(distance[(count[labels] > 1) & (distance > 0)])  # copies have no distance
    unit = np.sqrt((count * median**2 + BORROWED_ROWS * typical**2) / (count + BORROWED_ROWS))
    common = _common_extent(by_cluster, median, unit, radius)
    median = own_share * median + (1 - own_share) * common[0]
    radius = own_share * radius + (1 - own_share) * common[1]
    reach = radius + MARGIN * (radius - median)
    if unrelated is not None:
        reach = np.minimum(reach, np.maximum(radius, (radius + unrelated * scale) / 2))
    return np.asarray(reach / scale)


def _common_extent(
    by_cluster: list[Floats], median: Floats, unit: Floats, radius: Floats
) -> tuple[Floats, Floats]:
    """Return median and radius (k,) of all clusters together, in the unit of distance of each."""
    in_units = [own / m for own, m in zip(by_cluster, median, strict=True) if m > 0]
    if not in_units:  # more than half of the rows of every cluster equal its center
        return np.zeros_like(radius), np.full_like(radius, radius.max())
    extent = _extent(np.concatenate(in_units))
    return unit * extent.median, unit * extent.radius


def _extent(distance: Floats) -> Extent:
    distance = np.sort(distance)
    low, median, high = np.quantile(distance, [0.1, 0.5, 1 - MAX_OUTLIER_SHARE]).tolist()
    spread = max(high - median, median - low)
    if spread == 0:  # most rows are equally far: no measure for a gap
        return Extent(median, float(np.quantile(distance, RADIUS_QUANTILE)))
    first = max(1, int(np.ceil((1 - MAX_OUTLIER_SHARE) * len(distance))))
    excess = np.maximum(distance[first - 1 :] - median, spread)
    gaps = np.flatnonzero(excess[1:] > GAP_RATIO * excess[:-1])
    inside = distance[: first + gaps[0]] if len(gaps) else distance
    radius = min(np.quantile(inside, RADIUS_QUANTILE), high + MAX_RADIUS_SPREADS * spread)
    return Extent(median, float(radius))

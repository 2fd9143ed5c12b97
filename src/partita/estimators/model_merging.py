"""One model of two fits to disjoint rows, by the summaries of their clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.parameters import Got, must_be
from partita.estimators.capabilities import ALL_ROWS
from partita.estimators.fitted_models import capabilities_of
from partita.estimators.validation import FEATURE_ATTRIBUTES
from partita.geometry import Geometry
from partita.stats import ClusterStats


@dataclass(frozen=True, slots=True)
class MergedClusters:
    """The clusters of two fits, paired and merged."""

    centers: Floats  # (k, d), in the wider dtype of the two
    stats: ClusterStats
    cost: float  # J of the partition about its best centers


def mergeable_features(model: Any, other: Any) -> dict[str, Any]:
    """Return the attributes of features of both models; an error if they differ."""
    geometry = getattr(other, "_geometry", None)
    kind = type(model).__name__
    if geometry is not model._geometry:
        advice = "Its clusters must be summarised by means of the same kind."
        raise must_be("other", f"a fitted model like {kind}", _named(other), advice)
    if not hasattr(other, "stats_"):
        raise must_be("other", "fitted", _named(other), "Call its fit first.")
    if not (capabilities := capabilities_of(other)).has(ALL_ROWS):
        advice = f"Of a {type(other).__name__}: {capabilities.why_not(ALL_ROWS)}."
        raise must_be("other", "a model of all its rows", _named(other), advice)
    d, theirs = model.n_features_in_, other.n_features_in_
    if theirs != d:
        raise must_be("other", f"a model of {d} features", Got(f"one of {theirs}"))
    both = [m.feature_names_in_ for m in (model, other) if hasattr(m, "feature_names_in_")]
    if len(both) == 2 and list(both[0]) != list(both[1]):
        wanted = f"a model of the features {', '.join(map(str, both[0][:5]))}"
        got = Got(f"one of {', '.join(map(str, both[1][:5]))}")
        raise must_be("other", wanted, got, "Fit both to the same columns in the same order.")
    return dict(zip(FEATURE_ATTRIBUTES, (d, *both[:1]), strict=False))


def _named(value: Any) -> Any:
    return Got(f"a {type(value).__name__}") if hasattr(value, "get_params") else value


def merged_clusters(model: Any, other: Any, geometry: Geometry) -> MergedClusters:
    """Pair the clusters of two fitted models at the least increase of the cost, and merge them."""
    ours, theirs = model.stats_, other.stats_
    i, j = cheapest_pairs(ours, theirs, geometry)
    place = np.full(len(theirs.weight), -1)  # of their clusters in the merged model
    place[j] = i
    single = np.flatnonzero(place < 0)
    place[single] = len(ours.weight) + np.arange(len(single))
    k, first = len(ours.weight) + len(single), np.arange(len(ours.weight))
    stats = _merged(_placed(ours, first, k), _placed(theirs, place, k))
    kept = np.empty(stats.mean.shape)  # centers of clusters that have no best one
    kept[place], kept[first] = other.cluster_centers_[:], model.cluster_centers_[:]
    dtype = np.result_type(model.cluster_centers_, other.cluster_centers_)
    best = geometry.centers_of(stats, kept).astype(dtype)
    return MergedClusters(best, stats, exact_total(geometry.cost_of(stats)))


def cheapest_pairs(
    ours: ClusterStats, theirs: ClusterStats, geometry: Geometry
) -> tuple[Ints, Ints]:
    """Return the pairs of clusters whose merges together cost least: all of the smaller side."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    (size, place), (size_2, place_2) = (
        geometry.sizes_and_positions(s.weight, s.mean) for s in (ours, theirs)
    )
    with np.errstate(over="ignore", invalid="ignore"):
        square = cdist(place, place_2, "sqeuclidean")
        price = geometry.merge_increase(size[:, None], size_2[None], square)
    limit = np.finfo(np.float64).max / (4 * sum(price.shape))  # so that no sum overflows
    return linear_sum_assignment(np.fmin(price, limit))  # type: ignore[no-any-return]


def _placed(stats: ClusterStats, place: Ints, k: int) -> ClusterStats:
    """Summaries of k clusters: those given at their places, no data elsewhere."""
    out = ClusterStats.zero(k, stats.mean.shape[1])
    out.weight[place], out.mean[place], out.sse[place] = stats.weight, stats.mean, stats.sse
    return out


def _merged(one: ClusterStats, two: ClusterStats) -> ClusterStats:
    """Merge cluster by cluster; one without weight leaves its partner the same bits."""
    both = one.merge(two)
    alone = one.weight == 0
    mean = np.where(alone[:, None], two.mean, both.mean)
    return ClusterStats(both.weight, mean, np.where(alone, two.sse, both.sse))

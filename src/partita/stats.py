"""Cluster summaries: (weight, mean, sse).

Summaries of disjoint data merge exactly, so `ClusterStats` is a commutative monoid, and all methods
of the family use it. Inside a fit the sums are exact integers (`partita.moments`), of which
`ClusterStats` is the float64 view.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.row_squares import row_squares


@dataclass(frozen=True, slots=True)
class ClusterStats:
    """Weight, mean and within-cluster sse of k clusters; a monoid under `merge`.

    >>> left, right = ClusterStats.of_block([[0.0], [2.0]]), ClusterStats.of_block([[4.0]])
    >>> both = left.merge(right)
    >>> both.weight, both.mean, both.sse
    (array([3.]), array([[2.]]), array([8.]))
    """

    weight: Floats  # (k,)
    mean: Floats  # (k, d)
    sse: Floats  # (k,)

    @classmethod
    def zero(cls, k: int, d: int) -> ClusterStats:
        """Return the summary of no data: the neutral element of `merge`."""
        return cls(np.zeros(k), np.zeros((k, d)), np.zeros(k))

    @classmethod
    def of_block(
        cls, rows: Array, labels: Array | None = None, *, k: int = 1, weight: Array | None = None
    ) -> ClusterStats:
        """Summarise rows (n, d) as one cluster, or by `labels` in 0…k−1."""
        x = np.asarray(rows, dtype=np.float64)
        label = np.zeros(len(x), dtype=np.intp) if labels is None else np.asarray(labels)
        w = np.ones(len(x)) if weight is None else np.asarray(weight, dtype=np.float64)
        if len(x) == 0:
            return cls.zero(k, x.shape[1])
        anchor = x[0]  # sums of differences: an offset of the data costs no digits
        total = np.asarray(np.bincount(label, weights=w, minlength=k), dtype=np.float64)
        mean = np.zeros((k, x.shape[1]))
        np.add.at(mean, label, w[:, None] * (x - anchor))
        mean = np.divide(mean, total[:, None], out=mean, where=total[:, None] > 0)
        gap = (x - anchor) - mean[label]
        sse = np.bincount(label, weights=w * row_squares(gap), minlength=k)
        mean = np.where(total[:, None] > 0, mean + anchor, 0.0)
        return cls(total, mean, np.asarray(sse, dtype=np.float64))

    def merge(self, other: ClusterStats) -> ClusterStats:
        """Return the summary of both data sets together, cluster by cluster."""
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        gap = other.mean - self.mean
        return ClusterStats(
            weight=weight,
            mean=self.mean + share[:, None] * gap,
            sse=self.sse + other.sse + self.weight * share * row_squares(gap),
        )

    def take(self, clusters: Array | list[int]) -> ClusterStats:
        """Return the summaries of some clusters."""
        return ClusterStats(self.weight[clusters], self.mean[clusters], self.sse[clusters])

    def scaled(self, factor: float) -> ClusterStats:
        """Return the summary with every weight multiplied by `factor`, as for decay."""
        return ClusterStats(self.weight * factor, self.mean, self.sse * factor)

    def moved(self, offset: Floats) -> ClusterStats:
        """Return the summary of the data moved by `offset`."""
        return ClusterStats(self.weight, self.mean + offset, self.sse)

    def cost_at(self, centers: Floats) -> Floats:
        """Cost (k,) of the clusters about any centers: sse + weight·‖mean − center‖² (Huygens)."""
        gap = self.mean - centers
        return np.asarray(self.sse + self.weight * row_squares(gap))

    def distances_to(self, centers: Floats) -> Floats:
        """‖mean − center‖ (k,), at any magnitude; 0 for clusters without weight."""
        apart = np.where(self.weight[:, None] > 0, self.mean - centers, 0.0)
        return np.array([math.hypot(*row) for row in apart])

    def merge_price(self, i: Array | int, j: Array | int) -> Floats:
        """Increase of the sse if clusters i and j merge: w_i·w_j/(w_i + w_j)·‖mean_i − mean_j‖²."""
        total = self.weight[i] + self.weight[j]
        both = self.weight[i] * self.weight[j]
        share = np.divide(both, total, out=np.zeros_like(total), where=total > 0)
        gap = self.mean[i] - self.mean[j]
        return np.asarray(share * np.einsum("...d,...d->...", gap, gap))

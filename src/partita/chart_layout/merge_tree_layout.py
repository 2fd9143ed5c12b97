"""Positions of the leaves and links of a merge tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats
from partita.chart_layout.axis_range import axis_range


@dataclass(frozen=True, slots=True)
class MergeTreeLayout:
    """A dendrogram; leaf i stands at position i."""

    leaves: tuple[int, ...]  # clusters by position
    links: Floats  # (k - 1, 4, 2): corners (position, height) of each link
    floor: float  # height of the leaves: 0, or below the lowest price on a logarithmic axis
    top: float  # height of the highest link

    @property
    def log(self) -> bool:
        """True if the heights need a logarithmic axis."""
        return self.floor > 0


def merge_tree_layout(linkage: Floats) -> MergeTreeLayout:
    """Lay out a linkage matrix of SciPy's form; merges without a price lie at the floor."""
    prices = linkage[:, 2]
    priced = axis_range(prices[prices > 0])
    floor = priced.low / 3 if priced is not None and priced.log else 0.0
    if not len(linkage):
        return MergeTreeLayout((0,), np.empty((0, 4, 2)), floor, 0.0)
    from scipy.cluster.hierarchy import dendrogram

    drawn = dendrogram(linkage, no_plot=True)
    position = np.array(drawn["icoord"]) / 10 - 0.5  # SciPy puts leaves at 5, 15, …
    height = np.maximum(np.array(drawn["dcoord"]), floor)
    links = np.stack([position, height], axis=2)
    return MergeTreeLayout(tuple(drawn["leaves"]), links, floor, float(prices.max()))

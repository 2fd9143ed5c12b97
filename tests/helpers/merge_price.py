"""The price of a merge, straight from the formula of a geometry."""

import numpy as np


def merge_price(geometry, stats, i, j):
    """The increase of the cost if clusters i and j merge."""
    size, place = geometry.sizes_and_positions(stats.weight, stats.mean)
    gap = place[i] - place[j]
    return geometry.merge_increase(size[i], size[j], np.einsum("...d,...d->...", gap, gap))

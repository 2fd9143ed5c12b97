"""The order of rows in a silhouette plot."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from partita._common.array_types import Array, Floats, Ints


class SilhouetteBand(NamedTuple):
    """The rows of one cluster, from the highest silhouette to the lowest."""

    label: Any
    rows: Ints


def silhouette_bands(values: Floats, labels: Array) -> list[SilhouetteBand]:
    """Return a band for every cluster, in the order of the labels.

    >>> [band.rows.tolist() for band in silhouette_bands(np.array([0.1, 0.9, 0.5]), np.zeros(3))]
    [[1, 2, 0]]
    """
    clusters, number = np.unique(labels, return_inverse=True)
    order = np.lexsort((-values, number))
    parts = np.split(order, np.cumsum(np.bincount(number))[:-1])
    return [SilhouetteBand(*band) for band in zip(clusters, parts, strict=True)]

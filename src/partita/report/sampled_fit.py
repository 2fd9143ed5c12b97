"""A fit that a sample of its rows describes."""

from __future__ import annotations

from dataclasses import dataclass

from partita._common.array_types import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class SampledFit:
    """The numbers of all rows of a fit that a sample of them describes.

    Attributes
    ----------
    rows : int
    cluster_rows : ndarray of shape (k,)
        The number of rows of each group.
    cluster_weight : ndarray of shape (k,)
        The weight of each group.
    """

    rows: int
    cluster_rows: Ints
    cluster_weight: Floats

"""Bounds on the distances of every row, in whole quanta, rounded outwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Ints
from partita._kernels import kernels
from partita._kernels.pruned_passes import UNBOUNDED
from partita.centers import Centers
from partita.engine.paths.center_groups import CenterGroups
from partita.engine.paths.prefix_filter import PrefixFilter


class RowBounds:
    """Upper bounds to the own center and lower bounds to each group of others.

    Bounds are not rewritten while centers move: the motion of the centers is kept instead. With
    `center_distances` the distances between centers prove labels too.
    """

    def __init__(
        self,
        n: int,
        centers: Centers,
        groups: CenterGroups,
        quantum: float,
        center_distances: bool,
        prefix: PrefixFilter | None = None,
    ) -> None:
        self.groups = groups
        self.prefix = prefix
        self.fresh = True  # no pass yet: the bounds hold nothing
        self.upper: Ints = np.full(n, UNBOUNDED, np.int32)
        self.other: Ints = np.zeros(n, np.uint16)
        self.lower: Ints = np.zeros((n, groups.stride), np.uint16)
        self.lower[:, len(groups.sizes) :] = 65535
        blur = 0.0 if prefix is None else prefix.blur
        values = np.ascontiguousarray(centers.values)
        self._motion: Any = kernels.Motion(
            groups.members, groups.sizes, values, centers.origin, quantum, blur, center_distances
        )

    def follow(self, centers: Centers, labels: Ints, crew: Any = None) -> Any:
        """Add the motion of the centers to their present places; return it for the kernel."""
        self._motion.follow(
            np.ascontiguousarray(centers.values), centers.origin, labels, self.upper, self.other,
            self.lower, crew,
        )  # fmt: skip
        return self._motion

    def grow(self, n: int) -> None:
        """Make room for more rows, without bounds."""
        n_before = len(self.upper)
        self.upper = np.resize(self.upper, n)
        self.other = np.resize(self.other, n)
        self.lower = np.resize(self.lower, (n, self.lower.shape[1]))
        self.lower[n_before:, len(self.groups.sizes) :] = 65535
        self.forget(np.arange(n_before, n))

    def forget(self, rows: Ints) -> None:
        """Drop the bounds of some rows."""
        self.upper[rows] = UNBOUNDED
        self.other[rows] = 0
        self.lower[rows, : len(self.groups.sizes)] = 0

"""What pruning remembers of every row: bounds on distances, in whole quanta, rounded outwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Ints
from partita._kernels import kernels
from partita._kernels.pruned_passes import UNBOUNDED
from partita.centers import Centers
from partita.engine.paths.center_groups import Groups
from partita.engine.paths.prefix import Prefix


class Bounds:
    """Upper bounds to the own center and lower bounds to each group of others.

    Bounds are not rewritten while centers move: their motion is remembered instead. With
    `geometry` the distances between centers prove labels too, however far others have come.
    """

    def __init__(
        self,
        n: int,
        at: Centers,
        groups: Groups,
        quantum: float,
        geometry: bool,
        prefix: Prefix | None = None,
    ) -> None:
        self.groups = groups
        self.prefix = prefix
        self.fresh = True  # they say nothing before the first pass
        self.upper: Ints = np.full(n, UNBOUNDED, np.int32)
        self.other: Ints = np.zeros(n, np.uint16)
        self.lower: Ints = np.zeros((n, groups.stride), np.uint16)
        self.lower[:, len(groups.sizes) :] = 65535
        blur = 0.0 if prefix is None else prefix.blur
        values = np.ascontiguousarray(at.values)
        self._motion: Any = kernels.Motion(
            groups.members, groups.sizes, values, at.origin, quantum, blur, geometry
        )

    def follow(self, centers: Centers, labels: Ints, crew: Any = None) -> Any:
        """Take note of where the centers are now; what the kernel needs to know of it."""
        self._motion.follow(
            np.ascontiguousarray(centers.values), centers.origin, labels, self.upper, self.other,
            self.lower, crew,
        )  # fmt: skip
        return self._motion

    def grow(self, n: int) -> None:
        """Make room for more rows, of which nothing is known."""
        have = len(self.upper)
        self.upper = np.resize(self.upper, n)
        self.other = np.resize(self.other, n)
        self.lower = np.resize(self.lower, (n, self.lower.shape[1]))
        self.lower[have:, len(self.groups.sizes) :] = 65535
        self.forget(np.arange(have, n))

    def forget(self, rows: Ints) -> None:
        """Know nothing of some rows any more."""
        self.upper[rows] = UNBOUNDED
        self.other[rows] = 0
        self.lower[rows, : len(self.groups.sizes)] = 0

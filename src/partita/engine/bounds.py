"""What pruning remembers of every row: bounds on distances, in whole quanta, rounded outwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._kernels import kernels
from partita._typing import Floats, Ints
from partita.engine.grouping import Groups
from partita.progress import Centers

NEVER = 1 << 29  # an upper bound that is never below a lower one
_FAR = 1 << 14  # quanta of travel after which bounds are brought up to date


class Bounds:
    """Upper bounds to the own center and lower bounds to each group of others.

    Bounds are not rewritten while centers move. What is remembered instead is how far each center
    (`_own`), the farthest of each group (`_groups`) and the farthest of all (`_all`) have come.
    """

    def __init__(
        self, n: int, at: Centers, groups: Groups, quantum: float, blur: float = 0.0
    ) -> None:
        self.groups = groups
        self.quantum = quantum
        self.upper: Ints = np.full(n, NEVER, np.int32)
        self.other: Ints = np.zeros(n, np.uint16)
        self.lower: Ints = np.zeros((n, groups.stride), np.uint16)
        self.lower[:, len(groups.sizes) :] = 65535
        self._blur = blur
        self._at = at
        self._start()

    def _start(self) -> None:
        self._own: Floats = np.zeros(len(self.groups.members))
        self._groups: Floats = np.zeros(self.groups.stride)
        self._all = 0.0

    def follow(self, centers: Centers, labels: Ints) -> Any:
        """Take note of where the centers are now; what the kernel needs to know of it."""
        shift = shifts(self._at, centers) / self.quantum
        self._at = centers
        heads = np.cumsum(self.groups.sizes) - self.groups.sizes
        farthest = np.maximum.reduceat(shift[self.groups.members], heads)
        if self._all + farthest.max() > _FAR:
            self._rebase(labels)
        self._own = self._own + shift
        self._groups[: len(heads)] += farthest
        self._all += float(farthest.max())
        return kernels.Motion(
            up=_ceil(self._own, NEVER).astype(np.int32),
            down=np.floor(np.minimum(self._own, NEVER)).astype(np.int32),
            group_up=_ceil(self._groups, 65535).astype(np.uint16),
            group_down=np.floor(np.minimum(self._groups, 65535)).astype(np.uint16),
            all_up=int(_ceil(np.array(self._all), 65535)),
            all_down=int(min(self._all, 65535)),
            place=self.groups.place,
            group=self.groups.group,
            quantum=self.quantum,
            blur=self._blur,
        )

    def _rebase(self, labels: Ints) -> None:
        """Write the travel so far into the bounds, and count from zero again."""
        up = _ceil(self._groups, 65535).astype(np.uint16)
        np.subtract(np.maximum(self.lower, up), up, out=self.lower)
        far = np.uint16(_ceil(np.array(self._all), 65535))
        np.subtract(np.maximum(self.other, far), far, out=self.other)
        own = _ceil(self._own, NEVER).astype(np.int32)
        np.minimum(self.upper + own[labels], NEVER, out=self.upper)
        self._start()

    def forget(self, rows: Ints) -> None:
        """Know nothing of some rows any more."""
        self.upper[rows] = NEVER
        self.other[rows] = 0
        self.lower[rows, : len(self.groups.sizes)] = 0


def _ceil(travel: Floats, most: int) -> Floats:
    return np.asarray(np.minimum(np.ceil(travel * (1 + 2.0**-40)), most))


def shifts(before: Centers, after: Centers) -> Floats:
    """How far each center moved (k,), from above."""
    gap = after.values - before.values
    size = np.zeros(len(gap))
    if before.origin is not after.origin:
        gap = gap + (after.origin - before.origin)
        for part in (before.values, after.values, before.origin[None], after.origin[None]):
            size = size + np.sqrt(np.einsum("kd,kd->k", part, part))
    with np.errstate(over="ignore"):
        moved = np.sqrt(np.einsum("kd,kd->k", gap, gap))
    return np.asarray(moved * (1 + 2.0**-40) + 2.0**-50 * size)

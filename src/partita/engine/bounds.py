"""What pruning remembers of every row: bounds on distances, in whole quanta, rounded outwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._kernels import kernels
from partita._typing import Floats, Ints
from partita.engine.grouping import Groups
from partita.engine.prefix import Prefix
from partita.progress import Centers

NEVER = 1 << 29  # an upper bound that is never below a lower one
_STALE = 32  # quanta a center may move before distances between centers are measured again
_FAR = 1 << 14  # quanta of travel after which bounds are brought up to date


class Bounds:
    """Upper bounds to the own center and lower bounds to each group of others.

    Bounds are not rewritten while centers move. What is remembered instead is how far each center
    (`_own`), the farthest of each group (`_groups`) and the farthest of all (`_all`) have come.
    With `geometry` the distances between centers prove labels too, however far others have come.
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
        self.quantum = quantum
        self.prefix = prefix
        self.fresh = True  # they say nothing before the first pass
        self.upper: Ints = np.full(n, NEVER, np.int32)
        self.other: Ints = np.zeros(n, np.uint16)
        self.lower: Ints = np.zeros((n, groups.stride), np.uint16)
        self.lower[:, len(groups.sizes) :] = 65535
        self._at = at
        k = len(groups.members)
        self._geometry = geometry
        self._apart: Floats | None = None  # (k, k) distances between centers when last measured
        self._since: Floats = np.zeros(k)  # quanta that each center has moved since
        self._least: Floats | None = None  # (k, groups) quanta
        self._closest: Ints = np.zeros((k, groups.stride), np.uint16)
        self._alone: Ints = np.full(k, -1, np.int32)
        self._own: Floats = np.zeros(k)
        self._groups: Floats = np.zeros(groups.stride)
        self._all = 0.0

    def follow(self, centers: Centers, labels: Ints) -> Any:
        """Take note of where the centers are now; what the kernel needs to know of it."""
        shift = shifts(self._at, centers) / self.quantum
        self._at = centers
        farthest = np.maximum.reduceat(shift[self.groups.members], self.groups.heads)
        self._catch_up(farthest)
        self._own = self._own + shift
        lost = self._own > NEVER >> 1
        if lost.any():  # farther than can be counted: know nothing of their rows
            self.upper[lost[labels]] = NEVER
            self._own[lost] = 0.0
        self._groups[: len(farthest)] += farthest
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
            near=self._near(centers, shift, farthest),
            alone=self._alone,
            quantum=self.quantum,
            blur=0.0 if self.prefix is None else self.prefix.blur,
        )

    def _near(self, centers: Centers, shift: Floats, farthest: Floats) -> Ints:
        """How far the nearest other center of each group is, in quanta, from below."""
        if not self._geometry:
            return self._closest
        self._since = self._since + shift
        if self._least is None or self._since.max() > _STALE:
            self._least = self._measure(np.ascontiguousarray(centers.values))
            self._since = np.zeros(len(shift))
        else:
            self._least = self._least - (shift[:, None] + farthest)
        quanta = np.clip(np.floor(self._least), 0, 65535)
        self._closest[:, : len(farthest)] = quanta.astype(np.uint16)
        self._alone = ((quanta.min(axis=1) - 2) // 2).astype(np.int32)
        return self._closest

    def _measure(self, values: Floats) -> Floats:
        """The same, from the centers themselves; only those that moved since are measured again."""
        moved = np.flatnonzero(self._since > 0)
        if self._apart is None:
            self._apart = np.empty((len(values), len(values)), np.float32)
            moved = np.arange(len(values))
        part = np.empty((len(moved), len(values)))
        kernels.distances(values[moved], values, part)
        part *= 1 - 2.0**-22  # float32 rounds by less
        self._apart[moved] = part
        self._apart[:, moved] = part.T
        np.fill_diagonal(self._apart, np.inf)
        members, heads = self.groups.members, self.groups.heads
        least = np.minimum.reduceat(self._apart[:, members], heads, axis=1)
        return np.asarray(least * ((1 - 2.0**-40) / self.quantum))

    def _catch_up(self, farthest: Floats) -> None:
        """Write the travel so far into bounds for which it would become too much; count anew."""
        if self._all + farthest.max() > _FAR:
            far = np.uint16(_ceil(np.array(self._all), 65535))
            np.subtract(np.maximum(self.other, far), far, out=self.other)
            self._all = 0.0
        for g in np.flatnonzero(self._groups[: len(farthest)] + farthest > _FAR):
            column, up = self.lower[:, g], np.uint16(_ceil(self._groups[g : g + 1], 65535)[0])
            if up:
                np.subtract(np.maximum(column, up), up, out=column)
                self._groups[g] = 0.0

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

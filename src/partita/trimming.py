"""Impartial trimming: the share of the weight that is farthest from its centers is left out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import exact_total

SLACK = 1e-9  # of the weight to leave out: 0.29 · 100 rows are 29 rows, not 28.999…
FEW_ROWS = 64  # that are sorted


@dataclass(frozen=True, slots=True)
class Cut:
    """Rows that are left out, and those at the border.

    This is a trimming function in the sense of Cuesta-Albertos, Gordaliza and Matrán (1997): rows
    beyond the threshold do not count, rows at it count with a share of their weight, so that
    exactly the wanted weight is left out. All rows at the threshold have the same share. So the
    order of rows does not matter, and a row of weight 3 is three rows.
    """

    threshold: float  # the distance of the farthest row that counts; infinite if all do
    outside: Ints  # rows beyond it
    boundary: Ints  # rows at it, if they count partly; else none
    share: float = 1.0  # of the weight of the boundary that counts

    def is_same(self, other: Cut) -> bool:
        """Return whether every row counts as much as by another cut with the same `outside`."""
        return self.share == other.share and np.array_equal(self.boundary, other.boundary)

    def total(self, values: Floats, weight: Floats | None) -> float:
        """Σ w·value of the rows that count: the same for a row of weight 3 and for three rows."""
        whole = np.ones(len(values)) if weight is None else weight.copy()
        whole[self.outside] = whole[self.boundary] = 0.0
        at = self.boundary
        part = exact_total(values[at], None if weight is None else weight[at])
        return exact_total(values, whole) + self.share * part

    def counted(self, weight: Floats | None, n: int) -> Floats:
        """The weight (n,) with which each row counts."""
        out = np.ones(n) if weight is None else weight.copy()
        out[self.outside] = 0.0
        out[self.boundary] *= self.share
        return out


NOTHING = Cut(math.inf, np.empty(0, np.intp), np.empty(0, np.intp))  # is left out


def cut_farthest(distance: Floats, weight: Floats | None, trim: float, near: float = 0.0) -> Cut:
    """Leave out the rows that are farthest: `trim` of their total weight.

    `near` is a guess: few rows but those left out are farther. It only saves time.
    """
    total = float(len(distance)) if weight is None else exact_total(weight)
    surplus = trim * total
    if surplus == 0:
        return NOTHING
    far = _farthest_rows(distance, weight, surplus, near)
    threshold = _threshold(distance[far], None if weight is None else weight[far], surplus)
    is_beyond = distance[far] > threshold
    outside, at = far[is_beyond], far[distance[far] == threshold]
    left = surplus - _weight_of(weight, outside)
    share = 1.0 - left / _weight_of(weight, at) if left > SLACK * surplus else 1.0
    return Cut(threshold, outside, at if share < 1.0 else at[:0], share)


def _weight_of(weight: Floats | None, rows: Ints) -> float:
    return float(len(rows)) if weight is None else exact_total(weight[rows])


def _farthest_rows(distance: Floats, weight: Floats | None, surplus: float, near: float) -> Ints:
    """All rows from some distance on, that weigh more than what is left out."""
    far = np.flatnonzero(distance >= near)
    if _weight_of(weight, far) > surplus * (1 + SLACK):
        return far
    return np.arange(len(distance))


def _threshold(distance: Floats, weight: Floats | None, surplus: float) -> float:
    """The distance of the farthest row that is not left out as a whole."""
    limit = surplus * (1 + SLACK)
    if weight is None:
        place = max(len(distance) - 1 - int(limit), 0)
        return float(np.partition(distance, place)[place])
    beyond = 0.0  # the weight of rows farther than those that are left
    while len(distance) > FEW_ROWS:
        middle = np.partition(distance, len(distance) // 2)[len(distance) // 2]
        parts = [distance > middle, distance == middle, distance < middle]
        for part in parts:
            heavier = beyond + exact_total(weight[part])
            if heavier > limit or part is parts[-1]:
                break
            beyond = heavier
        if part is parts[1] or not part.any():  # then rounding kept the sum from the limit
            return float(middle)
        distance, weight = distance[part], weight[part]
    return _threshold_of_few(distance, weight, limit - beyond)


def _threshold_of_few(distance: Floats, weight: Floats, limit: float) -> float:
    order = np.argsort(-distance, kind="stable")
    heavier = np.cumsum(weight[order]) > limit
    # the sum may be rounded down to the limit: then all weight but that of the last row is beyond
    place = int(heavier.argmax()) if heavier.any() else len(order) - 1
    return float(distance[order[place]])


def outside_labels(labels: Ints, outside: Array) -> Ints:
    """A copy of labels (n,) with −1 for rows that are left out."""
    out = labels.copy()
    out[outside] = -1
    return out

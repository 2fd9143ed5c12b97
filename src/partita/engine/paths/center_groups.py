"""Groups of neighbouring centers, which share a lower bound and are adjacent in the tiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints

MAX_GROUPS = 32  # one bit each in a word
CENTERS_PER_TILE = 14  # at most
RESTLESS_SHIFT_RATIO = 32  # times the median shift
MAX_GROUPING_FEATURES = 128  # those in which the centers differ most


@dataclass(frozen=True, slots=True)
class CenterGroups:
    """k centers in groups; `members` lists them group after group."""

    members: Ints  # (k,)
    sizes: Ints  # (groups,)

    @classmethod
    def around(
        cls, centers: Floats, most: int = MAX_GROUPS, shift: Floats | None = None
    ) -> CenterGroups:
        """Bisect the centers across their main direction, recursively, into `most` groups or fewer.

        Groups hold whole tiles, and the halves of a group follow each other, so that neighbouring
        centers have neighbouring places. Centers whose last `shift` (k,) was far beyond that of
        others get groups of their own: a group's bound falls by the largest shift in the group.
        """
        count = max(1, min(most, len(centers) // CENTERS_PER_TILE))
        if count > 1:
            centers = _fewer_features(centers)
        every_center = np.arange(len(centers))
        restless = every_center[:0] if shift is None else _restless(shift)
        apart = min(count - 1, -(-restless.size // CENTERS_PER_TILE))
        calm = np.delete(every_center, restless) if apart else every_center
        groups = _halves(centers, calm, count - apart, CENTERS_PER_TILE)
        if apart:
            groups += _halves(centers, restless, apart, CENTERS_PER_TILE)
        return cls._of(groups)

    @classmethod
    def in_tiles(cls, centers: Floats, tile: int) -> CenterGroups:
        """Bisect the centers until every group is one tile of up to `tile` neighbours."""
        count = -(-len(centers) // tile)
        return cls._of(_halves(_fewer_features(centers), np.arange(len(centers)), count, tile))

    @classmethod
    def _of(cls, groups: list[Ints]) -> CenterGroups:
        sizes = np.array([len(group) for group in groups], np.int32)
        return cls(np.concatenate(groups).astype(np.int32), sizes)


def _fewer_features(centers: Floats) -> Floats:
    """Only the features in which the centers differ most."""
    if centers.shape[1] <= MAX_GROUPING_FEATURES:
        return centers
    most = np.argsort(centers.var(axis=0))[-MAX_GROUPING_FEATURES:]
    return np.ascontiguousarray(centers[:, most])


def _restless(shift: Floats) -> Ints:
    """Centers that moved far beyond the median, at most an eighth of them."""
    moved = shift[shift > 0]
    usual = float(np.median(moved)) if moved.size else 0.0
    farthest = np.argsort(-shift, kind="stable")[: len(shift) // 8]
    return np.sort(farthest[shift[farthest] > RESTLESS_SHIFT_RATIO * usual])


def _halves(centers: Floats, which: Ints, count: int, tile: int) -> list[Ints]:
    if count == 1:
        return [which]
    cloud = centers[which] - centers[which].mean(axis=0)
    along = _main_direction(cloud)
    ranked = which[np.argsort(np.einsum("kd,d->k", cloud, along), kind="stable")]
    left = count // 2
    cut = round(len(which) * left / count / tile) * tile
    cut = min(max(cut, left), len(which) - (count - left))
    rest = _halves(centers, ranked[cut:], count - left, tile)
    return _halves(centers, ranked[:cut], left, tile) + rest


def _main_direction(cloud: Floats) -> Floats:
    """Approximate the first principal axis; any direction is correct, a good one is faster.

    Without BLAS, which ends the process where memory is short.
    """
    along = cloud[np.einsum("kd,kd->k", cloud, cloud).argmax()]
    for _ in range(2):
        along = np.einsum("k,kd->d", np.einsum("kd,d->k", cloud, along), cloud)
        size = math.sqrt(np.einsum("d,d->", along, along))
        if not 0 < size < np.inf:
            return np.ones(cloud.shape[1])
        along = along / size
    return np.asarray(along)

"""Groups of neighbouring centers: what shares a lower bound, and lies side by side in the tiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._kernels.pruned_passes import bounds_stride

MOST = 32  # groups: one bit each in a word
TILE = 14  # centers that one tile holds at most
RESTLESS = 32  # times the usual shift
WIDEST = 128  # features by which centers are grouped: those in which they differ most


@dataclass(frozen=True, slots=True)
class Groups:
    """k centers in groups; `members` lists them group after group."""

    members: Ints  # (k,)
    sizes: Ints  # (groups,)

    @property
    def stride(self) -> int:
        """Length of a row of bounds."""
        return bounds_stride(len(self.sizes))

    @classmethod
    def of(cls, parts: list[Ints]) -> Groups:
        """From lists of centers."""
        members = np.concatenate(parts).astype(np.int32)
        return cls(members, np.array([len(part) for part in parts], np.int32))

    @classmethod
    def around(cls, centers: Floats, most: int = MOST, shift: Floats | None = None) -> Groups:
        """Halve the centers across the direction in which they spread most, again and again.

        Groups hold whole tiles, and the halves of a group follow each other, so that centers that
        are near each other have near places. Centers whose last `shift` (k,) was far beyond that
        of others are kept apart: a group's bound falls with the farthest that one of it moves.
        """
        count = max(1, min(most, len(centers) // TILE))
        if count > 1 and centers.shape[1] > WIDEST:
            spread = centers.var(axis=0)
            centers = np.ascontiguousarray(centers[:, np.argsort(spread)[-WIDEST:]])
        everyone = np.arange(len(centers))
        restless = everyone[:0] if shift is None or count == 1 else _restless(shift)
        if restless.size == 0:
            return cls.of(_halves(centers, everyone, count))
        apart = min(count - 1, -(-restless.size // TILE))
        calm = np.delete(everyone, restless)
        return cls.of(_halves(centers, calm, count - apart) + _halves(centers, restless, apart))


def _restless(shift: Floats) -> Ints:
    """The centers that moved far beyond what is usual, at most an eighth of them."""
    moved = shift[shift > 0]
    usual = float(np.median(moved)) if moved.size else 0.0
    farthest = np.argsort(-shift, kind="stable")[: len(shift) // 8]
    return np.sort(farthest[shift[farthest] > RESTLESS * usual])


def _halves(centers: Floats, which: Ints, count: int) -> list[Ints]:
    if count == 1:
        return [which]
    cloud = centers[which] - centers[which].mean(axis=0)
    along = _main_direction(cloud)
    ranked = which[np.argsort(cloud @ along, kind="stable")]
    left = count // 2
    cut = round(len(which) * left / count / TILE) * TILE
    cut = min(max(cut, left), len(which) - (count - left))
    return _halves(centers, ranked[:cut], left) + _halves(centers, ranked[cut:], count - left)


def _main_direction(cloud: Floats, rounds: int = 2) -> Floats:
    """About the first principal axis: any direction would do, a good one makes small groups."""
    along = cloud[np.einsum("kd,kd->k", cloud, cloud).argmax()]
    for _ in range(rounds):
        along = (along @ cloud.T) @ cloud
        size = float(np.linalg.norm(along))
        if not 0 < size < np.inf:
            return np.ones(cloud.shape[1])
        along = along / size
    return np.asarray(along)

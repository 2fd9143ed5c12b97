"""How rows lie between neighbouring centers: near the face of their cells, or with a gap there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.diagnosis.row_sample import Sample
from partita.estimators import labelling

PAIRS = 2000  # neighbouring pairs that are looked at, those with the most rows at their face first
STEP = 0.1  # of the way from center to center: the width of a bin, of which three are one slab
ENDS = 40  # bins to each side of the face
AT_CENTER = 5  # bins from the face to a center


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbours, and the weight in slabs across the line from center to center.

    `slabs[ENDS]` is the slab at their face; the first center is at `ENDS − AT_CENTER`, the second
    at `ENDS + AT_CENTER`.
    """

    first: int
    second: int
    slabs: Floats

    @property
    def face(self) -> float:
        """The weight at the face."""
        return float(self.slabs[ENDS])

    @property
    def centers(self) -> tuple[float, float]:
        """The weight at the two centers, in slabs as wide."""
        return float(self.slabs[ENDS - AT_CENTER]), float(self.slabs[ENDS + AT_CENTER])


@dataclass(frozen=True, slots=True)
class Crowd:
    """A sample of rows, the margin of each to the nearest face, and the neighbouring pairs."""

    sample: Sample
    margin: Floats  # (m,), in standard deviations of the own cluster across that face
    pairs: tuple[Pair, ...]


def crowd_of(sample: Sample, centers: Floats, threads: int) -> Crowd:
    """Measure a sample of rows against all centers, of which there are two or more."""
    square = labelling.squares(sample.rows, centers, threads, None)  # (m, k)
    apart = np.sqrt(labelling.squares(centers, centers, threads, None))
    margin, face = _margins(square, apart, sample.labels)
    by = _rows_by_label(sample.labels, len(centers))
    spread = np.full(len(margin), np.inf)
    for i, j, rows in _faces(sample.labels, face):
        along = (square[by[i], j] - square[by[i], i]) / (2 * apart[i, j])
        spread[rows] = _deviation(along, sample.weight[by[i]])
    relative = np.divide(margin, spread, out=np.full(len(margin), np.inf), where=spread > 0)
    return Crowd(sample, relative, tuple(_pairs(sample, square, apart, face, by)))


def _margins(square: Floats, apart: Floats, labels: Ints) -> tuple[Floats, Ints]:
    """The distance (m,) of each row to the nearest face of its cell, and whose face it is.

    There is no face between coincident centers, nor between a center and itself.
    """
    rows = np.arange(len(labels))
    gap = square - square[rows, labels][:, None]
    width = 2 * apart[labels]
    gap = np.divide(gap, width, out=np.full_like(gap, np.inf), where=width > 0)
    face = gap.argmin(axis=1)
    return np.maximum(gap[rows, face], 0.0), face


def _faces(labels: Ints, face: Ints) -> Iterator[tuple[int, int, Ints]]:
    """Every (cluster, neighbour), with the rows of the cluster that are nearest to that face."""
    k = int(max(labels.max(), face.max())) + 1
    key = labels.astype(np.int64) * k + face
    order = np.argsort(key, kind="stable")
    found, start = np.unique(key[order], return_index=True)
    for code, rows in zip(found.tolist(), np.split(order, start[1:]), strict=True):
        if code // k != code % k:
            yield code // k, code % k, rows


def _pairs(
    sample: Sample, square: Floats, apart: Floats, face: Ints, by: list[Ints]
) -> Iterator[Pair]:
    mass: dict[tuple[int, int], float] = {}
    for i, j, rows in _faces(sample.labels, face):
        if apart[i, j] > 0:
            at = (min(i, j), max(i, j))
            mass[at] = mass.get(at, 0.0) + float(sample.weight[rows].sum())
    edges = STEP * (np.arange(2 * ENDS + 2) - ENDS - 0.5)
    for i, j in sorted(mass, key=lambda pair: (-mass[pair], pair))[:PAIRS]:
        rows = np.concatenate([by[i], by[j]])
        at = (square[rows, i] - square[rows, j]) / (2 * apart[i, j] ** 2)  # centers at ∓½
        bins, _ = np.histogram(at, edges, weights=sample.weight[rows])
        yield Pair(i, j, np.convolve(bins, np.ones(3), mode="same"))


def _rows_by_label(labels: Ints, k: int) -> list[Ints]:
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.searchsorted(labels[order], np.arange(1, k)))


def _deviation(values: Floats, weight: Floats) -> float:
    middle = float(values @ weight) / float(weight.sum())
    return float(np.sqrt((values - middle) ** 2 @ weight / weight.sum()))

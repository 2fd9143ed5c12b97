"""Density of rows between neighbouring centers: at the face of their cells, and next to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.diagnosis.lattice import lattice_steps
from partita.diagnosis.row_sample import RowSample
from partita.estimators import labelling

MAX_PAIRS = 2000  # neighbours, those with the most weight at their face first
BIN_WIDTH = 0.1  # of the distance between the centers; a slab is three bins wide
FACE_BIN = 40  # bins on each side of the face; also the index of the bin at the face
BINS_TO_CENTER = 5  # from the face


@dataclass(frozen=True, slots=True)
class CenterPair:
    """Two neighbours, and the weight in slabs across the line from center to center.

    `slabs[FACE_BIN]` is the slab at their face; the centers are `BINS_TO_CENTER` to each side. The
    unit of lengths is the distance between the centers.
    """

    first: int
    second: int
    slabs: Floats
    step: float = 0.0  # along that line, of the coarsest lattice: see `lattice_steps`

    @property
    def face(self) -> float:
        """The weight in the slab at the face."""
        return float(self.slabs[FACE_BIN])

    @property
    def centers(self) -> tuple[float, float]:
        """The weight in the slabs at the two centers."""
        first, second = FACE_BIN - BINS_TO_CENTER, FACE_BIN + BINS_TO_CENTER
        return float(self.slabs[first]), float(self.slabs[second])


@dataclass(frozen=True, slots=True)
class BoundaryDensity:
    """A sample of rows, the margin of each to the nearest face, and the neighbouring pairs."""

    sample: RowSample
    margin: Floats  # (m,) see `relative_margins`
    pairs: tuple[CenterPair, ...]


def measure_boundaries(
    sample: RowSample, centers: Floats, weight: Floats, threads: int
) -> BoundaryDensity:
    """Measure a sample of rows against two or more centers of clusters of these weights (k,)."""
    steps = lattice_steps(sample)
    square = labelling.squares(sample.rows, centers, threads, None)  # (m, k)
    apart = np.sqrt(labelling.squares(centers, centers, threads, None))
    margin, face = relative_margins(square, apart, sample, weight)
    members = _rows_by_label(sample.labels, len(centers))
    pairs = tuple(
        replace(pair, step=_step_between(centers[pair.first] - centers[pair.second], steps))
        for pair in _pairs(sample, square, apart, face, members)
    )
    return BoundaryDensity(sample, margin, pairs)


def relative_margins(
    square: Floats, apart: Floats, sample: RowSample, weight: Floats
) -> tuple[Floats, Ints]:
    """The margin (m,) of each row to the nearest face, and the center beyond that face.

    In standard deviations of the row's cluster across the face. `square` (m, k) are squared
    distances to the centers, `apart` (k, k) distances between them. A row does not vouch for
    itself: without it, its mean would be w / (w − 1) times as far away, where w is the `weight`
    (k,) of its cluster. Else groups found in noise of many features would look separate.
    """
    labels, own = sample.labels, weight[sample.labels]
    pull = np.divide(own, own - 1, out=np.ones(len(labels)), where=own > 1)
    margin, face = _margins(square, apart, labels, pull**2)
    members = _rows_by_label(labels, len(apart))
    deviation = np.full(len(margin), np.inf)
    for i, j, rows in _faces(labels, face):
        along = (square[members[i], j] - square[members[i], i]) / (2 * apart[i, j])
        deviation[rows] = _standard_deviation(along, sample.weight[members[i]])
    far = np.full(len(margin), np.inf)
    return np.divide(margin, deviation, out=far, where=deviation > 0), face


def _margins(square: Floats, apart: Floats, labels: Ints, factor: Floats) -> tuple[Floats, Ints]:
    """The distance (m,) of each row to the nearest face of its cell, and the center beyond it.

    The squared distance to the own center counts `factor` (m,) times. There is no face between
    coincident centers or between a center and itself.
    """
    rows = np.arange(len(labels))
    gap = square - (factor * square[rows, labels])[:, None]
    width = 2 * apart[labels]
    gap = np.divide(gap, width, out=np.full_like(gap, np.inf), where=width > 0)
    face = gap.argmin(axis=1)
    return np.maximum(gap[rows, face], 0.0), face


def _faces(labels: Ints, face: Ints) -> Iterator[tuple[int, int, Ints]]:
    """Every (cluster, neighbour), with the rows of the cluster that are nearest to that face."""
    k = int(max(labels.max(), face.max())) + 1
    key = labels.astype(np.int64) * k + face
    order = np.argsort(key, kind="stable")
    codes, start = np.unique(key[order], return_index=True)
    for code, rows in zip(codes.tolist(), np.split(order, start[1:]), strict=True):
        if code // k != code % k:
            yield code // k, code % k, rows


def _pairs(
    sample: RowSample, square: Floats, apart: Floats, face: Ints, members: list[Ints]
) -> Iterator[CenterPair]:
    weight: dict[tuple[int, int], float] = {}
    for i, j, rows in _faces(sample.labels, face):
        if apart[i, j] > 0:
            pair = (min(i, j), max(i, j))
            weight[pair] = weight.get(pair, 0.0) + float(sample.weight[rows].sum())
    edges = BIN_WIDTH * (np.arange(2 * FACE_BIN + 2) - FACE_BIN - 0.5)
    for i, j in sorted(weight, key=lambda pair: (-weight[pair], pair))[:MAX_PAIRS]:
        rows = np.concatenate([members[i], members[j]])
        position = (square[rows, i] - square[rows, j]) / (2 * apart[i, j] ** 2)  # centers at ∓½
        bins, _ = np.histogram(position, edges, weights=sample.weight[rows])
        yield CenterPair(i, j, np.convolve(bins, np.ones(3), mode="same"))


def _step_between(gap: Floats, steps: Floats) -> float:
    """The longest step of a lattice along the line between two centers, in lengths of that line."""
    return float((np.abs(gap) * steps).max() / (gap @ gap))


def _rows_by_label(labels: Ints, k: int) -> list[Ints]:
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.searchsorted(labels[order], np.arange(1, k)))


def _standard_deviation(values: Floats, weight: Floats) -> float:
    mean = float(values @ weight) / float(weight.sum())
    return float(np.sqrt((values - mean) ** 2 @ weight / weight.sum()))

"""Greedy k-means++ in NumPy, by its formulas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.weighting import weighted
from partita._kernels.crew import Crew
from partita._kernels.weighted_draws import LEAF_ROWS, draw_any, draw_rows


def leaf_sums(values: Floats) -> Floats:
    """Sums of every `LEAF_ROWS` values, in eight lanes added in a fixed tree."""
    padded = np.zeros((-(-len(values) // LEAF_ROWS), LEAF_ROWS // 8, 8))
    padded.reshape(-1)[: len(values)] = values
    lanes = np.zeros((8, len(padded)))
    for i in range(LEAF_ROWS // 8):
        lanes += padded[:, i].T
    return np.asarray(
        ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]))
        + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
    )


@dataclass(frozen=True)
class Sketch:
    """Rows as bytes, by which the compiled kernels skip most distances; unused here."""

    data: Ints
    middle: Floats
    step: float


@dataclass(frozen=True)
class FloatLeaves:
    """Rows in float32, by which the compiled kernels find the best candidates; unused here."""

    n: int
    d: int
    fine: float


def sketch_rows(rows: Floats, scale: float, sketch: Sketch) -> None:
    """Leave the sketch empty: every distance is computed."""


@np.errstate(over="ignore", invalid="ignore")
def seed_distances(rows: Floats, scale: float, candidate: Floats) -> Floats:
    """‖x − candidate‖² in X's dtype: features t, t + 16, … in lane t, lanes added in a tree."""
    y = rows * rows.dtype.type(scale)
    lanes = np.zeros((len(y), 16), dtype=y.dtype)
    for t in range(y.shape[1]):
        gap = y[:, t] - candidate[t]
        lanes[:, t % 16] += gap * gap
    while (half := lanes.shape[1] // 2) > 0:
        lanes = lanes[:, :half] + lanes[:, half:]
    return np.asarray(lanes[:, 0])


def seed_gain(
    rows: Floats,
    scale: float,
    candidates: Floats,
    closest: Floats,
    labels: Ints,
    chosen: Floats,
    marks: Ints,
    gain: Floats,
    sketch: Sketch | None = None,
    weight: Floats | None = None,
) -> None:
    """Set gain[leaf, c] = Σ w·max(0, closest − ‖x − candidate_c‖²) over the leaf, as `leaf_sums`.

    Bit i of marks[leaf, c, word]: row i of these 64 would come nearer. The compiled twin uses
    `labels` and `chosen` to skip rows by the triangle inequality.
    """
    bit = np.uint64(1) << np.arange(64, dtype=np.uint64)
    for c, candidate in enumerate(candidates):
        distance = seed_distances(rows, scale, candidate)
        less = np.zeros(marks.shape[0] * LEAF_ROWS)
        hits = np.flatnonzero(distance < closest)
        less[hits] = closest[hits].astype(np.float64) - distance[hits].astype(np.float64)
        if weight is not None:
            less[hits] *= weight[hits]
        gain[:, c] = leaf_sums(less)
        padded = np.zeros(len(less), bool)
        padded[hits] = True
        marks[:, c] = (padded.reshape(-1, LEAF_ROWS // 64, 64) * bit).sum(axis=2, dtype=np.uint64)


def seed_choose(
    rows: Floats,
    scale: float,
    candidates: Floats,
    which: int,
    closest: Floats,
    labels: Ints,
    number: int,
    marks: Ints,
    potential: Floats,
    sketch: Sketch | None = None,
    weight: Floats | None = None,
) -> None:
    """Lower `closest` to candidate `which`; set potential[leaf] = Σ w·closest over the leaf.

    `labels` becomes `number` where the distance is lower.
    """
    distance = seed_distances(rows, scale, candidates[which])
    labels[distance < closest] = number
    np.minimum(closest, distance, out=closest)
    potential[:] = leaf_sums(weighted(closest.astype(np.float64), weight))


def plusplus(
    rows: Floats,
    scale: float,
    uniform: Floats,
    trials: int,
    rounds: tuple[int, int],
    chosen: Ints,
    centers: Floats,
    closest: Floats,
    labels: Ints,
    potential: Floats,
    sketch: Sketch | None = None,
    weight: Floats | None = None,
    crew: Crew | None = None,
    copy: FloatLeaves | None = None,
) -> None:
    """Run several rounds of greedy k-means++; set `chosen` (k,) to the chosen rows."""
    leaves = len(potential)
    for j in range(*rounds):
        if j == 0:
            drawn = draw_any(len(rows), weight, uniform[:1])
        else:
            now = uniform[1 + (j - 1) * trials : 1 + j * trials]
            drawn = draw_rows(potential, closest, weight, now)
        candidates = rows[drawn] * rows.dtype.type(scale)
        marks, gain = np.empty((leaves, len(drawn), 4), np.uint64), np.empty((leaves, len(drawn)))
        seed_gain(
            rows, scale, candidates, closest, labels, centers[:j], marks, gain, sketch, weight
        )
        best = int(gain.cumsum(axis=0)[-1].argmax())
        chosen[j], centers[j] = drawn[best], candidates[best]
        seed_choose(
            rows, scale, candidates, best, closest, labels, j, marks, potential, sketch, weight
        )

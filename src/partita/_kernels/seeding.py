"""The twins of the seeding kernels: greedy k-means++ by its plain formulas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.weighting import weighted
from partita._kernels.weighted_draws import LEAF_ROWS, draw_any, draw_rows


def leaf_sums(values: Floats) -> Floats:
    """Σ of every `LEAF` values, in eight fixed lanes and a fixed tree."""
    out = np.empty(-(-len(values) // LEAF_ROWS))
    for leaf in range(len(out)):
        part = values[leaf * LEAF_ROWS : (leaf + 1) * LEAF_ROWS]
        padded = np.zeros(-(-len(part) // 8) * 8)
        padded[: len(part)] = part
        lane = np.zeros(8)
        for eight in padded.reshape(-1, 8):
            lane += eight
        out[leaf] = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + (
            (lane[4] + lane[5]) + (lane[6] + lane[7])
        )
    return out


@dataclass(frozen=True)
class Sketch:
    """Rows in bytes, which spare the compiled kernels most distances; here nothing is spared."""

    data: Ints
    middle: Floats
    step: float


def sketch_rows(rows: Floats, scale: float, sketch: Sketch) -> None:
    """The sketch stays empty: every distance is computed."""


@np.errstate(over="ignore", invalid="ignore")
def seed_distances(rows: Floats, scale: float, candidate: Floats) -> Floats:
    """‖x − candidate‖² in X's dtype: features t, t + 16, … in lane t, then a tree of the lanes."""
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
    """gain[leaf, c] = Σ over the leaf of w·max(0, closest − ‖x − candidate_c‖²), rows in order.

    Bit i of marks[leaf, c, word]: whether row i of those 64 would come nearer. `labels` and
    `chosen` are for the compiled twin, which spares rows by the triangle inequality.
    """
    bit = np.uint64(1) << np.arange(64, dtype=np.uint64)
    for c, candidate in enumerate(candidates):
        distance = seed_distances(rows, scale, candidate)
        nearer = distance < closest
        less = np.zeros(marks.shape[0] * LEAF_ROWS)
        found = np.flatnonzero(nearer)
        less[found] = closest[found].astype(np.float64) - distance[found].astype(np.float64)
        if weight is not None:
            less[found] *= weight[found]
        gain[:, c] = less.reshape(-1, LEAF_ROWS).cumsum(axis=1)[:, -1]
        padded = np.zeros(len(less), bool)
        padded[found] = True
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
    """Lower `closest` to candidate `which`; potential[leaf] = Σ over the leaf of w·closest.

    `labels` becomes `number` where it is lower.
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
) -> None:
    """Some rounds of greedy k-means++ at once; `chosen` (k,) says which rows."""
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

"""The first label on which two libraries differ from the same start, and which is right.

partita walks from the start, one iteration at a time, and both label all the rows at its centers.
At the first step where some labels differ, the distances of these rows to both centers are computed
in float64, feature by feature: the label of the nearer center is right; equal distances are a tie.
"""

from __future__ import annotations

import numpy as np
from harness.generated_data import Array
from harness.peer_process import FailedError, PeerProcess
from harness.timing import Clock


def first_difference(
    rows: Array, start: Array, ours: PeerProcess, theirs: PeerProcess, seconds: float
) -> str:
    """A sentence on the first labels that differ. Both processes hold these rows already."""
    clock = Clock()
    centers, step = start, 1
    try:
        while clock.seconds < seconds:
            mine, other = ours.call("label", centers), theirs.call("label", centers)
            differ = np.flatnonzero(mine != other)
            if differ.size:
                return f"step {step}: {_judge(rows[differ], centers, mine[differ], other[differ])}"
            after = ours.call("step", centers)
            if np.array_equal(after, centers):
                return f"the same labels in all {step} steps"
            centers, step = after, step + 1
    except FailedError as error:
        return f"not found: {error}"
    return f"the same labels in the first {step - 1} steps"


def _judge(rows: Array, centers: Array, mine: Array, other: Array) -> str:
    gap = squared_distance(rows, centers[other]) - squared_distance(rows, centers[mine])
    verdicts = {
        "ours nearer": int(np.sum(gap > 0)),
        "tie": int(np.sum(gap == 0)),
        "THEIRS nearer": int(np.sum(gap < 0)),
    }
    return ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items() if count)


def squared_distance(rows: Array, centers: Array) -> Array:
    """Σ (x_t − c_t)² of each row and its center in float64, the features in order."""
    total = np.zeros(len(rows))
    for x, c in zip(rows.T.astype(np.float64), centers.T.astype(np.float64), strict=True):
        total += (x - c) ** 2
    return total

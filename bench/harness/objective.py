"""J, computed independently of all libraries."""

from __future__ import annotations

import math

import numpy as np

from harness.generated_data import Array

_CHUNK_ROWS = 4096


def objective(rows: Array, centers: Array) -> float:
    """Σ min ‖x − c‖² in float64: the nearest by ½‖c‖² − x·c, the distance by differences.

    Both about the mean of the centers, so that data far from 0 lose no digits.
    """
    centers = centers.astype(np.float64)
    pivot = centers.mean(axis=0)
    centers -= pivot
    half = 0.5 * np.einsum("kd,kd->k", centers, centers)
    parts = []
    for begin in range(0, len(rows), _CHUNK_ROWS):
        x = rows[begin : begin + _CHUNK_ROWS].astype(np.float64) - pivot
        gap = x - centers[np.argmin(half - x @ centers.T, axis=1)]
        parts.append(float(np.vdot(gap, gap)))
    return math.fsum(parts)

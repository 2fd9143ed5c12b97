"""Rows of files in comparable units: by means and standard deviations of a first pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.exact_sum import LongSums
from partita._common.parameters import Got, must_be

BLOCK_VALUES = 1 << 20


class Standardization:
    """(x − mean) / standard deviation of each feature, measured when rows are first read.

    Sums are rounded once, so the bits depend neither on blocks nor on the format of the files.
    """

    def __init__(self) -> None:
        self.mean: Floats | None = None
        self.deviation: Floats = np.empty(0)

    def apply(self, rows: Any, weight: Floats | None) -> Iterator[Array]:
        """Yield the scaled rows, block by block; they are measured first, if none were before."""
        if self.mean is None:
            mean = self._average(rows, weight, np.zeros(rows.shape[1]), 1)
            variance = self._average(rows, weight, mean, 2)
            self.mean, self.deviation = mean, np.sqrt(np.where(variance > 0, variance, 1.0))
        d = len(self.mean)
        if rows.shape[1] != d:
            wanted = f"a scan with {d} features, as the rows to be scaled have"
            raise must_be("scale", wanted, Got(f"rows with {rows.shape[1]}"))
        for block in _blocks(rows):
            yield (block - self.mean) / self.deviation

    @staticmethod
    def _average(rows: Any, weight: Floats | None, origin: Floats, power: int) -> Floats:
        """Return the mean of (x − origin)^power; what is not finite is left for the fit to see."""
        sums, mass, done = LongSums(1, len(origin)), LongSums(1, 1), 0
        for block in _blocks(rows):
            m = len(block)
            w = np.ones(m) if weight is None else weight[done : done + m]
            with np.errstate(over="ignore", invalid="ignore"):
                values = (block - origin) ** power
            if np.isinf(values).any() and np.isfinite(block).all():
                advice = "Scale them to smaller units first."
                raise must_be("X", "of a magnitude that can be squared", Got("others"), advice)
            values[~np.isfinite(values)] = 0
            label, ones = np.zeros(m, np.int32), np.ones((m, 1))
            sums.add(values, label, w)
            mass.add(ones, label, w)
            done += m
        total = mass.totals()[0, 0]
        return np.asarray(sums.totals()[0] / total if total > 0 else sums.totals()[0])


def _blocks(rows: Any) -> Iterator[Floats]:
    step = max(1, BLOCK_VALUES // max(1, rows.shape[1]))
    for i in range(0, len(rows), step):
        yield np.asarray(rows[i : i + step], dtype=np.float64)

"""The path over bytes: products of bytes leave every row a few centers, which double decides.

It compares every row with every center, as the plain path does, in a third of the time where the
machine multiplies bytes faster than floats. cpp/kernels/byte_book.hpp has the bounds.
"""

from __future__ import annotations

from partita._common.array_types import Ints
from partita._kernels.byte_tiles import MAX_BYTE_FEATURES
from partita.centers import Centers
from partita.engine.paths.path import (
    Path,
    PathCache,
    PathKind,
    PathPass,
    PathPlan,
    PathStart,
    byte_copy,
)
from partita.engine.paths.plain_path import UnprunedPath
from partita.moments import Moments
from partita.source.pass_price import byte_cost
from partita.source.protocol import PrunableRows


class BytesPath(UnprunedPath):
    """Passes over a copy of the rows in bytes, which all runs share."""

    name = "bytes"

    def __init__(self, source: PrunableRows, labels: Ints, cache: PathCache) -> None:
        super().__init__(labels)
        self._source = source
        self._copy = byte_copy(source, cache)

    def assign(self, centers: Centers, sums: Moments | None) -> PathPass:
        source, k = self._source, len(centers.values)
        moved, open_rows, candidates = source.assign_bytes(self._copy, centers, self.labels, sums)
        n = source.n
        return PathPass(
            moved,
            row_cost=byte_cost(n, k, source.d, candidates),
            candidates=1.0 + (candidates - open_rows) / n,
        )


def byte_memory(source: PrunableRows) -> float:
    """Bytes of a copy of the rows in bytes."""
    return source.n * (-(-source.d // 4) * 4 + 16)


def _start(start: PathStart) -> Path | PathPlan:
    if start.source.d > MAX_BYTE_FEATURES:
        why = f"sums of {start.source.d} products of bytes may exceed 32 bits"
        return PathPlan("plain", why, start.plan.forced)
    return BytesPath(start.source, start.labels, start.cache)


BYTES = PathKind(
    "bytes",
    suits=lambda source, k: None,  # it takes the place of plain passes: source/pass_price.py
    memory=lambda source, k: byte_memory(source),
    start=_start,
    needs_labels=False,
    needs_trial=False,
)

"""The path over bytes: products of bytes leave every row a few centers, which double decides.

It compares every row with every center, as the plain path does, in a third of the time where the
machine multiplies bytes faster than floats. cpp/kernels/byte_book.hpp has the bounds.
"""

from __future__ import annotations

from typing import Any

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
from partita.source.pass_price import byte_cost, passes_before_bytes
from partita.source.protocol import PrunableRows

MAX_FLOAT_COPY_BYTES = 1 << 26  # of rows whose values are smaller than floats


class BytesPath(UnprunedPath):
    """Passes over a copy of the rows in bytes, which all runs share."""

    name = "bytes"

    def __init__(self, source: PrunableRows, labels: Ints, cache: PathCache) -> None:
        super().__init__(labels)
        self._source, self._cache = source, cache

    def assign(self, centers: Centers, sums: Moments | None) -> PathPass:
        source, k = self._source, len(centers.values)
        moved, open_rows, candidates = self._pass(centers, sums)
        n = source.n
        return PathPass(
            moved,
            row_cost=byte_cost(n, k, source.d, candidates),
            candidates=1.0 + (candidates - open_rows) / n,
        )

    def _pass(self, centers: Centers, sums: Moments | None) -> tuple[int, int, int]:
        """Make a pass over the copy, which the first one makes, and return its counts."""
        source = self._source
        first: list[tuple[int, int, int]] = []

        def make() -> Any:
            copy, counts = source.round_and_assign(centers, self.labels, sums)
            first.append(counts)
            return copy

        copy = byte_copy(self._cache, make)
        return first[0] if first else source.assign_bytes(copy, centers, self.labels, sums)


def byte_memory(source: PrunableRows) -> float:
    """Bytes of a copy of the rows in bytes."""
    return source.n * (-(-source.d // 4) * 4 + 16)


def stays_narrow(source: PrunableRows, k: int) -> bool:
    """Return whether rows of bytes or halves are read where they are: copies would be large."""
    if source.narrow is None or not is_large_copy(source):
        return False
    return passes_before_bytes(source.n, k, source.d, source.row_bytes) is not None


def is_large_copy(source: PrunableRows) -> bool:
    """Return whether a copy of the rows as floats would be large, and larger than they are."""
    return source.copy_bytes > max(MAX_FLOAT_COPY_BYTES, source.n * source.row_bytes)


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

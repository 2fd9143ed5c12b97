"""The path over bytes: products of bytes leave every row a few centers, which double decides.

It compares every row with every center, as the plain path does, in a third of the time where the
machine multiplies bytes faster than floats. cpp/kernels/byte_book.hpp has the bounds.
"""

from __future__ import annotations

import math
from typing import Any

from partita._common.array_types import Ints
from partita._kernels import kernels
from partita._kernels.byte_tiles import MAX_BYTE_FEATURES
from partita.centers import Centers
from partita.engine.paths.path import Path, PathCache, PathKind, PathPass, PathPlan, PathStart
from partita.engine.paths.price import byte_cost, plain_cost, rounding_cost
from partita.moments import Moments
from partita.source.protocol import PrunableRows

MIN_GAIN_SHARE = 0.1  # of a plain pass, that bytes must save
USUAL_CANDIDATES = 0.12  # of a row with several, for all rows and times ln K: before a pass tells
MAX_WAIT_PASSES = 24  # plain ones, that rounding the rows may take


class BytesPath:
    """Passes over a copy of the rows in bytes, which all runs share."""

    name, note = "bytes", ""

    def __init__(self, source: PrunableRows, labels: Ints, cache: PathCache) -> None:
        self._source, self.labels = source, labels
        self._copy: Any = cache.once("bytes", source.round_to_bytes)

    def assign(self, centers: Centers, sums: Moments | None) -> PathPass:
        source, k = self._source, len(centers.values)
        moved, open_rows, candidates = source.assign_bytes(self._copy, centers, self.labels, sums)
        n = source.n
        return PathPass(
            moved,
            row_cost=byte_cost(n, k, source.d, candidates),
            candidates=1.0 + (candidates - open_rows) / n,
        )

    def forget(self, rows: Ints) -> None:
        pass

    def relabel(self, labels: Ints) -> bool:
        self.labels = labels
        return True

    def grow(self, source: PrunableRows) -> bool:
        return False  # the scheduler makes another


def byte_memory(source: PrunableRows) -> float:
    """Bytes of a copy of the rows in bytes."""
    return source.n * (-(-source.d // 4) * 4 + 8)


def passes_before_bytes(source: PrunableRows, k: int) -> int | None:
    """Number of plain passes after which rounding the rows pays; None: never.

    As long as the passes have not cost as much as rounding, the fit may be over before it pays.
    """
    n, d = source.n, source.d
    if not kernels.has_byte_products() or d > MAX_BYTE_FEATURES or k < 2:
        return None
    plain = plain_cost(n, k, d)
    saved = plain - byte_cost(n, k, d, USUAL_CANDIDATES * math.log(k) * n)
    if saved < MIN_GAIN_SHARE * plain:
        return None
    wait = int(rounding_cost(n, d) / saved)
    return wait if wait <= MAX_WAIT_PASSES else None


def _start(start: PathStart) -> Path | PathPlan:
    if start.source.d > MAX_BYTE_FEATURES:
        why = f"sums of {start.source.d} products of bytes may exceed 32 bits"
        return PathPlan("plain", why, start.plan.forced)
    return BytesPath(start.source, start.labels, start.cache)


BYTES = PathKind(
    "bytes",
    suits=lambda source, k: None,  # it takes the place of plain passes: passes_before_bytes
    memory=lambda source, k: byte_memory(source),
    start=_start,
    needs_labels=False,
    needs_trial=False,
)

"""The path by bounds in groups, whose centers are first compared in a few rotated features."""

from __future__ import annotations

from partita._common.threads import has_room_for_blas
from partita.engine.paths.bounds_path import (
    NO_QUANTUM,
    bounds_memory,
    bounds_plan,
    grouped_bytes,
    quantum_for,
    start_bounds,
)
from partita.engine.paths.path import Path, PathKind, PathPlan, PathStart
from partita.engine.paths.prefix_filter import filter_bytes, fit_prefix
from partita.source.pass_price import passes_before_bytes
from partita.source.protocol import PrunableRows

MIN_FEATURES, MIN_CENTERS = 64, 64  # from which a prefix may pay


def _start(start: PathStart) -> Path | PathPlan:
    if quantum_for(start) is None:
        return NO_QUANTUM
    if not has_room_for_blas(start.source.workers.n):
        return bounds_plan(start.k, "too little memory for the products of a prefix")
    prefix = start.cache.once(
        "prefix", lambda: fit_prefix(start.source, start.centers, start.labels, start.plan.forced)
    )
    if prefix is None:
        return bounds_plan(start.k, "no prefix separates enough centers")
    return start_bounds(start, prefix)


def _suits(source: PrunableRows, k: int) -> str | None:
    n, d = source.n, source.d
    if d < MIN_FEATURES or k < MIN_CENTERS:
        return None
    if passes_before_bytes(n, k, d, source.row_bytes) is not None:
        return None  # bounds over bytes cost as little, and need no rotation
    return f"{d} features, {k} centers: a prefix may separate most of them"


def _memory(source: PrunableRows, k: int) -> float:
    return bounds_memory(source, k, grouped_bytes(k)) + filter_bytes(source.n, k, source.d)


PREFIX = PathKind("prefix", _suits, _memory, _start, needs_trial=False)

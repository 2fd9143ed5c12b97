"""The state of a fit as plain values, and back, with every value checked."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita.centers import Centers
from partita.engine.fit_state import FitState, LoopState, RecordedRepair
from partita.estimators.saved_state import FieldReader, restored_stats
from partita.halting import StopReason
from partita.run_record import Fit
from partita.trace import Progress, Trace

_TRACE_KINDS = {field.name: str(field.type) for field in fields(Progress)}
Sizes = tuple[int, int, int]  # clusters, rows and runs of the fit


def as_values(state: FitState, origin: Floats) -> dict[str, Any]:
    """Return plain values; centers about `origin`, that of the exact sums, say so."""
    return {
        "ended": state.ended,
        "seconds": state.seconds,
        "start": state.start,
        "loop": None if state.loop is None else _loop_values(state.loop, origin),
        "best": None if state.best is None else _best_values(state.best, origin),
    }


def read(saved: FieldReader, sizes: Sizes, origin: Floats) -> FitState:
    """Return the state of a fit of these sizes, or raise ValueError."""
    k, _, runs = sizes
    loop = _read_loop(saved.nested("loop"), sizes, origin) if saved.has("loop") else None
    best = _read_best(saved.nested("best"), sizes, origin) if saved.has("best") else None
    start = saved.floats("start", (k, len(origin))) if loop is not None else None
    ended = saved.integer("ended", 0, runs)
    if (best is None) != (ended == 0) or (loop is not None and ended == runs):
        raise ValueError("the number of runs that ended is wrong")
    return FitState(ended, best, start, loop, saved.number("seconds", 0.0, finite=True))


def _loop_values(loop: LoopState, origin: Floats) -> dict[str, Any]:
    assigned, repair = loop.assigned, loop.repair
    return {
        "centers": _center_values(loop.centers, origin),
        "assigned": None if assigned is None else _center_values(assigned, origin),
        "trace": Trace(tuple(loop.trace[: loop.iterations])).to_dict(),
        "notes": list(loop.notes),
        "repair": {field.name: getattr(repair, field.name) for field in fields(RecordedRepair)},
    }


def _read_loop(saved: FieldReader, sizes: Sizes, origin: Floats) -> LoopState:
    k, n, _ = sizes
    trace = _read_trace(saved)
    assigned = None
    if trace:
        assigned = _read_centers(saved.nested("assigned"), k, origin)
        k = len(assigned.values)
    given = saved.nested("repair")
    dropped = given.ints("dropped", (None,), 0, k - 1)
    rows = given.ints("rows", (None,), 0, n - 1)
    to = given.ints("to", (len(rows),), 0, k - 1).astype(np.int32)
    if (np.diff(dropped) <= 0).any() or (np.diff(rows) <= 0).any() or len(dropped) == k:
        raise ValueError("repair has rows or clusters twice")
    centers = _read_centers(saved.nested("centers"), k - len(dropped), origin)
    if len(centers.values) != k - len(dropped):
        raise ValueError("centers are too few")
    repair = RecordedRepair(dropped, rows, to)
    return LoopState(centers, trace, len(trace), assigned, repair, saved.texts("notes"))


def _best_values(best: Fit, origin: Floats) -> dict[str, Any]:
    stats = best.stats
    return {
        "centers": _center_values(best.centers, origin),
        "start": best.start,
        "trace": best.trace.to_dict(),
        "stopped_by": str(best.stopped_by),
        "stopped_by_kinds": list(best.stopped_by.kinds),
        "paths": list(best.paths),
        "stats": {field.name: getattr(stats, field.name) for field in fields(stats)},
    }


def _read_best(saved: FieldReader, sizes: Sizes, origin: Floats) -> Fit:
    k, d = sizes[0], len(origin)
    centers, trace = _read_centers(saved.nested("centers"), k, origin), _read_trace(saved)
    if not trace:
        raise ValueError("the best run has no iterations")
    return Fit(
        centers,
        restored_stats(saved, len(centers.values), d),
        Trace(tuple(trace)),
        StopReason(saved.text("stopped_by"), *saved.texts("stopped_by_kinds")),
        tuple(saved.texts("paths")),
        saved.floats("start", (k, d)),
    )


def _center_values(centers: Centers, origin: Floats) -> dict[str, Any]:
    return {"values": centers.values, "about_origin": centers.origin is origin}


def _read_centers(saved: FieldReader, most: int, origin: Floats) -> Centers:
    """Return 1 to `most` centers: about the very array of the sums, or about zero."""
    values = saved.floats("values", (None, len(origin)))
    if not 1 <= len(values) <= most or values.dtype != np.float64:
        raise ValueError(f"{len(values)} centers of {values.dtype} do not fit")
    about = origin if saved.flag("about_origin") else np.zeros(len(origin))
    return Centers(np.ascontiguousarray(values), about)


def _read_trace(saved: FieldReader) -> list[Progress]:
    return [Progress(**row) for row in saved.columns("trace", _TRACE_KINDS)]

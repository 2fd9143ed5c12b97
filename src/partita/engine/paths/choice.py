"""The table of paths, and the choice of one from the shape of the problem before a fit begins."""

from __future__ import annotations

from dataclasses import replace

from partita.engine.paths.bounds_path import HAMERLY, YINYANG
from partita.engine.paths.bytes_path import BYTES, byte_memory, is_large_copy, stays_narrow
from partita.engine.paths.leaves_path import BLOCKS
from partita.engine.paths.neighbours_path import NEIGHBOURS
from partita.engine.paths.panels_path import PANELS
from partita.engine.paths.path import PathPlan
from partita.engine.paths.plain_path import PLAIN, why_plain
from partita.engine.paths.prefix_path import PREFIX
from partita.source.pass_price import passes_before_bytes
from partita.source.protocol import Source

# "auto" takes the first that suits
KINDS = BLOCKS, NEIGHBOURS, PANELS, PREFIX, HAMERLY, YINYANG, BYTES, PLAIN
PATH_KINDS = {kind.name: kind for kind in KINDS}
PATHS = tuple(PATH_KINDS)
LEAN_PATHS = ("hamerly", "plain")  # in place of one that needs too much memory
MIN_FIT_PASSES = 3  # two until no label changes, and one to the centers as they are returned


def plan_for(source: Source, k: int, algorithm: str, memory: float, runs: int = 1) -> PathPlan:
    """Choose the path for k centers within `memory` bytes beyond the data.

    With several `runs` the best so far is kept while the next one is made: with its bounds, if both
    fit.
    """
    memory = max(0.0, memory)
    plan = _plan(source, k, algorithm, memory)
    needed = memory_of(plan.path, source, k)
    lean = runs > 1 and 2 * needed > memory
    spare = memory - needed * (1 if lean else min(runs, 2))
    rows = source.prunable_rows
    wait = 0 if rows is None else PATH_KINDS[plan.path].wait(rows, k)
    return _with_bytes(replace(plan, spare=spare, lean=lean, wait=wait), source, k)


def _with_bytes(plan: PathPlan, source: Source, k: int) -> PathPlan:
    """Let passes over bytes take the place of plain ones, if that pays and memory allows."""
    rows = source.prunable_rows
    if rows is None or plan.forced or plan.path == "blocks" or byte_memory(rows) > plan.spare:
        return plan
    wait = passes_before_bytes(rows.n, k, rows.d, rows.row_bytes)
    if wait is not None and wait < MIN_FIT_PASSES:
        wait = 0  # rounding pays in any fit
    spare = plan.spare - (0.0 if wait is None else byte_memory(rows))
    return replace(plan, bytes_after=wait, spare=spare)


def _plan(source: Source, k: int, algorithm: str, memory: float) -> PathPlan:
    rows = source.prunable_rows
    if rows is None:
        return PathPlan("plain", "no bounds are kept for these rows (sparse, or not in memory)")
    if k == 1:
        return PathPlan("plain", "there is one cluster")
    if algorithm != "auto":
        path = "yinyang" if algorithm == "elkan" else algorithm
        plan = PathPlan(path, f"requested by algorithm={algorithm!r}", forced=True)
    elif reason := why_plain(rows, k):
        return PathPlan("plain", reason)
    elif is_large_copy(rows) and not stays_narrow(rows, k):
        return PathPlan("plain", "a copy of the rows as floats would be larger than they are")
    else:
        plan = next(
            PathPlan(kind.name, why) for kind in PATH_KINDS.values() if (why := kind.suits(rows, k))
        )
    needed = PATH_KINDS[plan.path].memory(rows, k)
    if needed <= memory:
        return plan
    why = f"{plan.path} would need {needed / 1e6:.0f} MB of the {memory / 1e6:.0f} MB allowed"
    lean = next(path for path in LEAN_PATHS if PATH_KINDS[path].memory(rows, k) <= memory)
    return PathPlan(lean, why, plan.forced)


def memory_of(path: str, source: Source, k: int) -> float:
    """Bytes beyond the data that a path needs for its rows."""
    rows = source.prunable_rows
    return 0.0 if rows is None else PATH_KINDS[path].memory(rows, k)

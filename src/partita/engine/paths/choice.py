"""Which path a fit takes, chosen from the shape of the problem before it begins.

    plain     every row meets every center
    blocks    rows in a k-d tree; a leaf meets the centers that can be nearest in its box
    hamerly   two bounds for each row; a row that they leave open meets every center
    yinyang   bounds for up to 32 groups of centers; a row meets the groups that they leave open
    prefix    the same, and groups are first met in a few rotated features

Every path gives the labels of the plain pass, bit for bit; they differ in what they compute.
"""

from __future__ import annotations

from dataclasses import dataclass

from partita._kernels.pruned_passes import bounds_stride
from partita.engine.paths.center_groups import MOST, TILE
from partita.engine.paths.prefix import LONGEST
from partita.engine.paths.price import plain_cost
from partita.source.blocks import Source, is_small

PATHS = ("plain", "blocks", "hamerly", "yinyang", "prefix")
FLAT = 4  # features, up to which boxes are small; beyond, a tree may cost more than it saves
SHORT = 8e5  # nanoseconds of one core: what bounds save is less than what they cost
HIGH, MANY = 64, 64  # features and centers from which a prefix may pay


@dataclass(frozen=True, slots=True)
class Plan:
    """A path, why it was taken, and whether the step may leave it for another."""

    path: str
    why: str
    forced: bool = False


def plan_for(source: Source, k: int, algorithm: str, memory: float) -> Plan:
    """The path for k centers within `memory` bytes beyond the data."""
    n, d = source.n, source.d
    if not source.dense:
        return Plan("plain", "sparse rows: no bounds are kept for them")
    if k == 1:
        return Plan("plain", "there is one cluster")
    if algorithm != "auto":
        path = "yinyang" if algorithm == "elkan" else algorithm
        return _within(
            Plan(path, f"algorithm={algorithm!r} was asked for", True), source, k, memory
        )
    if is_small(n, (8 if d <= FLAT else 1) * k * d):
        return Plan("plain", "so small that a plain pass is over at once")
    if d <= FLAT:
        return _within(Plan("blocks", f"{d} features: boxes of rows are small"), source, k, memory)
    if plain_cost(n, k, d) < SHORT:
        return Plan("plain", "a plain pass takes no longer than keeping books would")
    if d >= HIGH and k >= MANY:
        why = f"{d} features, {k} centers: a prefix may tell most of them apart"
        return _within(Plan("prefix", why), source, k, memory)
    plan = bounds_plan(k, f"{d} features")
    if plan.path == "hamerly" and not source.in_place:
        return Plan("plain", "few centers, and rows that are no floats would have to be copied")
    return _within(plan, source, k, memory)


def bounds_plan(k: int, why: str) -> Plan:
    """Bounds in groups, if there are centers for two."""
    if k < 2 * TILE:
        return Plan("hamerly", f"{why}, few centers")
    return Plan("yinyang", f"{why}, {k} centers in groups")


def _within(plan: Plan, source: Source, k: int, memory: float) -> Plan:
    """The plan, or a leaner one that fits."""
    needs = memory_of(plan.path, source, k)
    if needs <= memory:
        return plan
    for path in ("hamerly", "plain"):
        if memory_of(path, source, k) <= memory:
            why = (
                f"{plan.path} would need {needs / 1e6:.0f} MB of the {memory / 1e6:.0f} MB allowed"
            )
            return Plan(path, why, plan.forced)
    raise AssertionError  # a plain pass needs nothing


def memory_of(path: str, source: Source, k: int) -> float:
    """Bytes beyond the data that a path needs for its rows."""
    n, d = source.n, source.d
    groups = bounds_stride(min(MOST, max(1, k // TILE)))
    between = 16 * k * k if k * k <= 2 * n else 0  # distances between centers, while measured
    copied = 0 if source.in_place else n * d * source.dtype.itemsize
    return {
        "plain": 0,
        "blocks": n * (12 * d + 16) + copied,  # coordinates three times while the tree grows
        "hamerly": n * 8 + between + copied,
        "yinyang": n * (6 + 2 * groups) + between + copied,
        "prefix": n * (6 + 2 * groups + 4 * (min(LONGEST, d // 4) + 1)) + between + copied,
    }[path]

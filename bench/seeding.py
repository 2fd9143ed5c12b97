"""Greedy k-means++, by the two that offer it as a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contestants import OURS
from measure import Best, rounds, turns
from objective import objective
from shapes import Shape
from stands import Stand
from tables import Table, milliseconds, verdict

_SEEDERS = ("partita", "scikit-learn")
_SEED = 0


def seeding_table(
    stands: Mapping[str, Stand], shapes: Sequence[Shape], repeat: int, seconds: float
) -> Table:
    names = [name for name in stands if name in _SEEDERS]
    return Table(
        "Seeding by greedy k-means++, milliseconds",
        "The same number of candidates per center; no target. J is of the seeds themselves: the "
        "random choices differ,\nso a few per cent either way is chance.",
        ["n, d, K", *names, "ratio", "target", "verdict", *(f"J {name}" for name in names)],
        [_row(shape, {name: stands[name] for name in names}, repeat, seconds) for shape in shapes],
    )


def _row(shape: Shape, stands: Mapping[str, Stand], repeat: int, seconds: float) -> list[str]:
    for stand in stands.values():
        stand.ask("load", shape)
    best, cost, rows = {name: Best() for name in stands}, {}, shape.rows()
    for number in rounds(repeat, seconds):
        for name in turns(list(stands), number):
            run = stands[name].ask("seed", shape.k, _SEED)
            best[name].add(run.seconds)
            cost[name] = run.centers
    times = {name: found.seconds for name, found in best.items()}
    return [
        str(shape),
        *(milliseconds(times[name]) for name in stands),
        *verdict(times, OURS, None),
        *(f"{objective(rows, cost[name]):.4g}" for name in stands),
    ]

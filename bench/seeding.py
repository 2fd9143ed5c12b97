"""Greedy k-means++, by the two that offer it as a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contestants import OURS
from measure import Best, in_turn
from objective import objective
from shapes import Array, Shape
from stands import Stand
from tables import Table, milliseconds, verdict

_SEEDERS = ("partita", "scikit-learn")
_SEED = 0


class Seeding:
    """Both on one shape, as often as it is visited."""

    def __init__(self, shape: Shape, stands: Mapping[str, Stand]) -> None:
        self._shape = shape
        self._stands = {name: stand for name, stand in stands.items() if name in _SEEDERS}
        self._best = {name: Best() for name in self._stands}
        self._centers: dict[str, Array] = {}

    def visit(self, number: int) -> None:
        for name in in_turn(list(self._stands), number):
            self._stands[name].ask("load", self._shape)
            run = self._stands[name].ask("seed", self._shape.k, _SEED)
            self._best[name].add(run.seconds)
            self._centers[name] = run.centers

    def row(self) -> list[str]:
        times = {name: best.seconds for name, best in self._best.items()}
        rows = self._shape.rows()
        return [
            str(self._shape),
            *(milliseconds(times[name]) for name in times),
            *verdict(times, OURS, None),
            *(f"{objective(rows, self._centers[name]):.4g}" for name in times),
        ]


def seeding_table(seedings: Sequence[Seeding], names: Sequence[str]) -> Table:
    both = [name for name in names if name in _SEEDERS]
    return Table(
        "Seeding by greedy k-means++, milliseconds",
        "The same number of candidates per center; no target. J is of the seeds themselves: the "
        "random choices differ,\nso a few per cent either way is chance.",
        ["n, d, K", *both, "ratio", "target", "verdict", *(f"J {name}" for name in both)],
        [seeding.row() for seeding in seedings],
    )

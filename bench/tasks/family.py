"""Other members of the family: times and objectives, each from its own starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from harness.generated_data import Array, Shape
from harness.markdown_table import Table
from harness.objective import objective
from harness.peer_process import FailedError, PeerProcess
from harness.real_data import Real
from harness.timing import BestTime, rotated

_CALL_LIMIT_SECONDS = 240.0  # seconds for one fit
_MAX_REPEATED_SECONDS = 15.0  # seconds: what took longer is not repeated
_ROUNDS = 3  # as many seeds

Cost = Callable[[Array, Array], float]  # (rows, centers)


@dataclass(frozen=True, slots=True)
class Mixture(Shape):
    """Round clusters, `spread` times as wide as they are: more overlap, more iterations."""

    spread: float = 1.0

    def __str__(self) -> str:
        return f"{Shape.__str__(self)}, spread {self.spread:g}"

    def rows(self) -> Array:
        rng = self._rng(0)
        middle = rng.normal(scale=1.5, size=(self.k, self.d)).astype(np.float32)
        rows = rng.standard_normal((self.n, self.d), dtype=np.float32)
        rows *= np.float32(self.spread)
        rows += middle[rng.integers(self.k, size=self.n)]
        return rows


@dataclass(frozen=True, slots=True)
class FamilyTask:
    """One task, who takes part (partita first), what they minimise, and the ratios wanted."""

    task: Real | Shape
    cost: Cost
    targets: Mapping[str, float | None]  # how many times each other is to take as long
    ours: str

    @property
    def names(self) -> list[str]:
        return [self.ours, *self.targets]


@dataclass(slots=True)
class Found:
    """The times and costs of every library in a match."""

    match: FamilyTask
    best: dict[str, BestTime] = field(default_factory=dict)
    costs: dict[str, list[float]] = field(default_factory=dict)

    def rows(self) -> list[list[str]]:
        return [self._row(name) for name in self.match.names]

    def _row(self, name: str) -> list[str]:
        if name not in self.best or not self.best[name]:
            return [str(self.match.task), name, "–", "–", "–", "–", "no result"]
        ours, cost = self.match.ours, float(np.mean(self.costs[name]))
        seconds, ratio = self.best[name].seconds, self.best[name].seconds / self.best[ours].seconds
        wanted = self.match.targets.get(name)
        more = cost / float(np.mean(self.costs[ours])) - 1
        verdict = "–"
        if wanted is not None:
            verdict = "reached" if ratio >= wanted else "below target"
        target = "–" if wanted is None else f"{wanted:g}"
        figures = [f"{seconds:.3g}", f"{ratio:.2f}", target, f"{more:+.2%}"]
        return [str(self.match.task), name, *figures, verdict]


def cosine(rows: Array, centers: Array) -> float:
    """Σ (1 − largest cosine) in float64, half the square of a chord."""
    unit = rows.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    centers = centers.astype(np.float64)
    return 0.5 * objective(unit, centers / np.linalg.norm(centers, axis=1, keepdims=True))


def family_tasks(quick: bool) -> list[FamilyTask]:
    many, size = (200_000, 20) if quick else (2_000_000, 100)
    full = {"partita full fit": 10.0, "sklearn mini-batch": 1.0}
    return [
        FamilyTask(
            Real("GloVe", 200),
            cosine,
            {
                "faiss spherical, 90 iterations": 3.0,
                "faiss spherical": None,
                "partita spherical": None,
            },
            "partita spherical, random start",
        ),
        *(
            FamilyTask(Mixture(many, 32, size, 1.0, spread), objective, full, "partita mini-batch")
            for spread in (1.0, 3.0)
        ),
    ]


def measure_family(match: FamilyTask, processes: Mapping[str, PeerProcess]) -> Found:
    """Three rounds in turn, each with a seed of its own; fewer where they take long."""
    rows, found = match.task.rows(), Found(match)
    here = [name for name in match.names if name in processes]
    for name in here:
        processes[name].call("load", match.task)
        found.best[name], found.costs[name] = BestTime(), []
    for number in range(_ROUNDS):
        for name in rotated(here, number):
            if found.best[name] and found.best[name].seconds > _MAX_REPEATED_SECONDS:
                continue
            try:
                run = processes[name].call("fit", number, seconds=_CALL_LIMIT_SECONDS)
            except FailedError:
                continue
            cost = match.cost(rows, run.centers)
            if math.isfinite(cost):
                found.best[name].add(run.seconds)
                found.costs[name].append(cost)
    return found


def family_table(done: Sequence[Found], title: str = "The family, seconds") -> Table:
    return Table(
        title,
        "Every library from starts of its own, up to three seeds, all threads; the best time, and "
        "the mean of J\n(recomputed in float64 from what was returned). 'ratio' is the time over "
        "partita's in the same rows, 'J' how much\nhigher than partita's. Generated rows: n, d, K, "
        "and how wide the clusters are.",
        ["data", "by", "seconds", "ratio", "target", "J", "verdict"],
        [row for found in done for row in found.rows()],
    )

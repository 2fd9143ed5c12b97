"""Libraries that choose their own start: how long does partita take to be as good?

Those that prune by a test that may miss the nearest center, and faiss's spherical K-means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness.generated_data import Array
from harness.markdown_table import Table
from harness.objective import objective
from harness.peer_process import FailedError, PeerProcess
from harness.peer_server import Run
from harness.real_data import Real
from harness.timing import BestTime
from peers.kmeans_peers import OURS

Cost = Callable[[Array, Array], float]  # (rows, centers)

_STARTS = ("random", "k-means++")
_CALL_LIMIT_SECONDS = 120.0  # seconds for one fit
_MAX_REPEATED_SECONDS = 20.0  # seconds: what took longer is not repeated
_ROUNDS = 3


@dataclass(slots=True)
class Try:
    """The times of one way to do it, and what it found."""

    best: BestTime = field(default_factory=BestTime)
    iterations: int = 0
    cost: float = float("nan")
    trouble: str = ""

    def add(self, run: Run, cost: float) -> None:
        self.best.add(run.seconds)
        self.iterations, self.cost = run.iterations, cost


@dataclass(slots=True)
class QualityRace:
    """One peer on one data set, and partita from each of its own starts until J is not above."""

    task: Real
    peer: str
    theirs: Try = field(default_factory=Try)
    ours: dict[str, Try] = field(default_factory=lambda: {init: Try() for init in _STARTS})


def quality_race(
    task: Real,
    peer: PeerProcess,
    partita: PeerProcess,
    kind: str = "KMeans",
    cost: Cost = objective,
) -> QualityRace:
    """Three rounds in turn, fewer where they take long."""
    rows = task.rows()
    found = QualityRace(task, peer.name)

    def run(target: Try, process: PeerProcess, what: str, *arguments: object) -> None:
        if target.trouble or (target.best and target.best.seconds > _MAX_REPEATED_SECONDS):
            return
        try:
            done = process.call(what, *arguments, seconds=_CALL_LIMIT_SECONDS)
        except FailedError as error:
            target.trouble = str(error)
        else:
            target.add(done, cost(rows, done.centers))

    for process in (peer, partita):
        process.call("load", task)
    for _ in range(_ROUNDS):
        run(found.theirs, peer, "fit", 1)
        if found.theirs.trouble:
            break
        for init in _STARTS:
            run(found.ours[init], partita, "reach", kind, task.k, init, found.theirs.cost, 0)
    return found


def inexact_table(duels: Sequence[QualityRace]) -> Table:
    return Table(
        "Inexact peers that choose their own start, seconds",
        "They prune by a test that may miss the nearest center, and take a start of their own. "
        "partita runs from a start of its own\n(the whole call, seeding included) until its J is "
        "not above theirs; in parentheses iterations and J relative to theirs.\n'ratio' is their "
        "time over that of the quicker of partita's.",
        ["data", "K", "peer", "seconds", "J", *(f"{OURS}, {i}" for i in _STARTS), "ratio"],
        [_duel_row(one) for one in duels],
    )


def spherical_table(duels: Sequence[QualityRace]) -> Table:
    return Table(
        "Spherical K-means until it is as good as faiss, seconds",
        "faiss makes its default of 25 iterations. partita runs from a start of its own (the whole "
        "call, seeding included) until its J\nis not above faiss's; in parentheses iterations and "
        "J relative to faiss's. 'ratio' is faiss's time over that of the quicker\nof partita's; "
        "the target is 4.",
        ["data", "K", "peer", "seconds", "J", *(f"{OURS}, {i}" for i in _STARTS), "ratio"],
        [_duel_row(one) for one in duels],
    )


def _duel_row(one: QualityRace) -> list[str]:
    key = [one.task.name, str(one.task.k), one.peer]
    if one.theirs.trouble or not one.theirs.best:
        return [*key, one.theirs.trouble or "–", *["–"] * (2 + len(_STARTS))]
    reached = [t.best.seconds for t in one.ours.values() if _as_good(t, one.theirs)]
    return [
        *key,
        f"{one.theirs.best.seconds:.3g} ({one.theirs.iterations})",
        f"{one.theirs.cost:.7g}",
        *(_own(t, one.theirs) for t in one.ours.values()),
        f"{one.theirs.best.seconds / min(reached):.2f}" if reached else "not reached",
    ]


def _as_good(ours: Try, theirs: Try) -> bool:
    return bool(ours.best) and ours.cost <= theirs.cost


def _own(ours: Try, theirs: Try) -> str:
    if not ours.best:
        return ours.trouble or "–"
    gap = ours.cost / theirs.cost - 1
    return f"{ours.best.seconds:.3g} ({ours.iterations}, {gap:+.1%})"

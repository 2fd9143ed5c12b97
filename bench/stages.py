"""The stages of a run, and what they share: processes, a clock, the report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import environment
from assessors import ASSESSORS
from calls import Iris, Predict, call_table
from choosers import CHOOSERS
from contestants import BUILDERS, OURS
from datasets import Real
from family import family_table, matches, play
from fits import fit_tables
from growth import Curve, growth_table
from growth import measure as measure_growth
from inexact import Duel, duel, inexact_table
from iteration import Contest, cost_table, time_table
from kernelfits import KernelRow, kernel_table
from kernelists import KERNEL_FITS
from ksweeps import KSweep, sweep_table
from measure import Clock
from medoids import QUALITY, Quality, Swaps, quality_table
from medoids import time_table as swap_table
from members import MEMBERS
from picture import draw
from plan import Plan
from race import Row, race
from report import Report
from seeding import Seeding, seeding_table
from shapes import Shape
from silhouettes import Silhouettes, silhouette_table
from stands import Stand, open_stands
from swappers import SWAPPERS, THEIRS
from sweepers import SWEEPERS

T = TypeVar("T", bound="Real | Shape")

_PLAIN = ("partita", "sklearn lloyd", "intelex", "faiss")  # who computes every distance


class Session:
    """One run: what it is to measure, with whom, and what is known by now."""

    def __init__(self, plan: Plan, threads: int, out: Path | None) -> None:
        self.plan = plan
        self.clock = Clock()
        self.report = Report(out, list(STAGES))
        self.notes: list[str] = []
        self.rows: list[Row] = []
        self.curves: list[Curve] = []
        self.peak: float | None = None
        self.incomplete = False
        self._threads = threads
        self._load = environment.load()
        self.stands, self.absent = open_stands(BUILDERS, threads)
        self.choosers: dict[str, Stand] = {}
        self._kernels = self.stands[OURS].ask("instruction_set") if OURS in self.stands else ""

    def open_choosers(self) -> None:
        self.choosers, absent = open_stands(CHOOSERS, self._threads)
        self.absent |= absent

    def open_members(self) -> dict[str, Stand]:
        return self._open_more(MEMBERS)

    def open_kernel_fits(self) -> dict[str, Stand]:
        return self._open_more(KERNEL_FITS)

    def _open_more(self, names: Iterable[str]) -> dict[str, Stand]:
        more, absent = open_stands(names, self._threads)
        self.absent |= absent
        self.choosers |= more
        return more

    def open_assessors(self) -> dict[str, Stand]:
        return self._open_more(ASSESSORS)

    def open_sweepers(self) -> dict[str, Stand]:
        return self._open_more(SWEEPERS)

    def open_swappers(self) -> dict[str, Stand]:
        return self._open_more(SWAPPERS)

    def say(self, what: object) -> None:
        print(f"... {self.clock.seconds:4.0f} s: {what}", file=sys.stderr, flush=True)

    def note(self, sentence: str) -> None:
        """For the head of the report, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def save(self) -> None:
        """The report as far as it goes."""
        if find_spec("matplotlib") is not None and (self.rows or self.curves):
            self.report.draw(lambda path: draw(self.rows, self.curves, path))
        self.report.write(self._head())

    def text(self) -> str:
        return self.report.text(self._head())

    def close(self) -> None:
        for stand in self._everybody():
            stand.close()

    def _everybody(self) -> list[Stand]:
        return [*self.stands.values(), *self.choosers.values()]

    def _head(self) -> list[str]:
        everybody = self._everybody()
        peak = "" if self.peak is None else f"; float32 FMA peak {self.peak / 1e9:.0f} GFLOP/s"
        return [
            f"{environment.processor()}; {self._threads} threads{peak}.",
            ", ".join(f"{stand.name} {stand.card.version}" for stand in everybody)
            + f"; partita's kernels: {self._kernels}.",
            *(f"{name} is absent ({why})." for name, why in self.absent.items()),
            *(stand.helped for stand in everybody if stand.helped),
            f"Load when it began {self._load:.1f}; {self.clock.seconds / 60:.0f} minutes.",
            *self.notes,
        ]


def fits(session: Session) -> None:
    late = []
    for task in _present(session, session.plan.fits):
        if session.clock.seconds > session.plan.fits_until:
            late.append(str(task))
            continue
        session.say(task)
        plan = session.plan
        session.rows.append(race(task, session.stands, plan.cut, plan.row_seconds))
        session.report.put("fits", *fit_tables(session.rows, list(session.stands)))
        session.save()
    if late:
        session.note(f"Fits not begun, as the time was over: {'; '.join(late)}.")


def iteration(session: Session) -> None:
    """The plain pass and the calls, everything once in every round."""
    plan = session.plan
    stands = {name: session.stands[name] for name in _PLAIN if name in session.stands}
    contests = [Contest(shape, stands) for shape in plan.shapes]
    iris, predict = Iris(stands), Predict(plan.tall, stands)
    peaks = []
    for number in session.clock.rounds(plan.rounds, plan.round_seconds):
        session.say(f"plain iterations and calls, round {number + 1}")
        for contest in contests:
            peaks.append(stands[OURS].ask("peak"))
            contest.visit(number)
        iris.visit(number)
        predict.visit(number)
    session.peak = None if None in peaks else max(peaks)
    names = list(stands)
    session.report.put(
        "iteration",
        time_table(contests, names, session.peak),
        cost_table(contests, names),
        call_table(iris, predict, names),
    )


def seeding(session: Session) -> None:
    done: list[Seeding] = []
    for task in _present(session, session.plan.seedings):
        if session.clock.seconds > session.plan.until:
            break
        session.say(f"seeding of {task}")
        done.append(Seeding(task))
        done[-1].measure(session.stands)
        session.report.put("seeding", seeding_table(done))


def inexact(session: Session) -> None:
    session.open_choosers()
    done: list[Duel] = []
    for task in _present(session, session.plan.inexact):
        for peer in session.choosers.values():
            if session.clock.seconds > session.plan.until:
                return
            session.say(f"{peer.name} on {task}")
            done.append(duel(task, peer, session.stands[OURS]))
            session.report.put("inexact", inexact_table(done))


def family(session: Session) -> None:
    done, stands = [], session.open_members()
    for match in matches(session.plan.quick):
        if session.clock.seconds > session.plan.until or not _present(session, [match.task]):
            continue
        session.say(f"{match.ours} on {match.task}")
        done.append(play(match, stands))
        session.report.put("family", family_table(done))


def growth(session: Session) -> None:
    for sweep in session.plan.sweeps:
        if session.clock.seconds > session.plan.until:
            return
        session.say(f"growth with {sweep.vary} at {sweep}")
        session.curves.append(measure_growth(sweep, session.stands))
        session.report.put("growth", growth_table(session.curves))


def medoids(session: Session) -> None:
    swappers = session.open_swappers()
    done = _measured("medoids", session, Swaps, session.plan.medoids, swappers, swap_table)
    if THEIRS in swappers and len(done) == len(session.plan.medoids):
        session.say("the loss of medoids")
        losses = [Quality(task, swappers) for task in QUALITY]
        names = list(swappers)
        session.report.put("medoids", swap_table(done, names), quality_table(losses))


def kernels(session: Session) -> None:
    stands = session.open_kernel_fits()
    _measured("kernels", session, KernelRow, session.plan.kernels, stands, kernel_table)


def silhouette(session: Session) -> None:
    stands = session.open_assessors()
    tasks = session.plan.silhouettes
    _measured("silhouette", session, Silhouettes, tasks, stands, silhouette_table)


def ksweeps(session: Session) -> None:
    stands = session.open_sweepers()
    tasks = _present(session, session.plan.ksweeps)
    _measured("ksweeps", session, KSweep, tasks, stands, sweep_table)


def _measured(
    stage: str,
    session: Session,
    kind: Callable[..., Any],
    tasks: Sequence[Any],
    stands: dict[str, Stand],
    table: Callable[[list[Any], list[str]], Any],
) -> list[Any]:
    """Every task by everybody, the table written anew after each; what there was time for."""
    done: list[Any] = []
    for task in tasks:
        if session.clock.seconds > session.plan.until:
            break
        session.say(f"{stage}: {task}")
        done.append(kind(task))
        done[-1].measure(stands)
        session.report.put(stage, table(done, list(stands)))
    return done


def _present(session: Session, tasks: Sequence[T]) -> list[T]:
    """Those whose data are there; the reason why others are not is noted."""
    here = []
    for task in tasks:
        why = task.missing() if isinstance(task, Real) else ""
        if why:
            session.note(f"Data skipped: {why}.")
        else:
            here.append(task)
    return here


STAGES: dict[str, Callable[[Session], None]] = {
    "fits": fits,
    "iteration": iteration,
    "seeding": seeding,
    "inexact": inexact,
    "family": family,
    "growth": growth,
    "medoids": medoids,
    "kernels": kernels,
    "silhouette": silhouette,
    "ksweeps": ksweeps,
}

"""The stages of a run, and their shared session: processes, clock, report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from harness import environment
from harness.generated_data import Shape
from harness.peer_process import PeerProcess, open_processes
from harness.real_data import Real
from harness.results_file import Report
from harness.timing import Clock
from peers.balanced_peers import BALANCED_PEERS
from peers.family_peers import FAMILY_PEERS
from peers.gower_peers import GOWER_PEERS
from peers.inexact_peers import INEXACT_PEERS
from peers.kernel_peers import KERNEL_PEERS
from peers.kmeans_peers import KMEANS_PEERS, OURS
from peers.medoid_peers import MEDOID_PEERS, THEIRS
from peers.prototype_peers import PROTOTYPE_PEERS
from peers.silhouette_peers import SILHOUETTE_PEERS
from peers.sweep_peers import SWEEP_PEERS
from picture import draw
from plan import Plan
from tasks.balanced import balanced_tasks
from tasks.defaults import Defaults, Named, defaults_table
from tasks.family import cosine, family_table, family_tasks, measure_family
from tasks.fit_race import Row, race
from tasks.fit_tables import fit_tables
from tasks.gower import GowerMedoids, gower_table
from tasks.growth import Curve, growth_table
from tasks.growth import measure as measure_growth
from tasks.inexact import QualityRace, inexact_table, quality_race, spherical_table
from tasks.k_sweeps import KSweep, sweep_table
from tasks.kernel_fits import KernelRow, kernel_table
from tasks.medoids import QUALITY, Quality, Swaps, quality_table
from tasks.medoids import time_table as swap_table
from tasks.plain_iteration import IterationTask, cost_table, time_table
from tasks.prototypes import Prototypes, prototypes_table
from tasks.seeding import Seeding, seeding_table
from tasks.silhouettes import Silhouettes, silhouette_table
from tasks.small_calls import Iris, Predict, call_table

T = TypeVar("T", bound="Real | Shape | Named")

_PLAIN = ("partita", "sklearn lloyd", "intelex", "faiss")  # who computes every distance


class Session:
    """One run: its plan, processes, and results so far."""

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
        self.processes, self.absent = open_processes(KMEANS_PEERS, threads)
        self.extra_processes: dict[str, PeerProcess] = {}
        self._kernels = (
            self.processes[OURS].call("instruction_set") if OURS in self.processes else ""
        )

    def open_peers(self, names: Collection[str]) -> dict[str, PeerProcess]:
        """Start the processes of more libraries, where they are installed."""
        missing = [name for name in names if name not in self.extra_processes]
        more, absent = open_processes(missing, self._threads)
        self.absent |= absent
        self.extra_processes |= more
        return {name: self.extra_processes[name] for name in names if name not in self.absent}

    def log(self, what: object) -> None:
        print(f"... {self.clock.seconds:4.0f} s: {what}", file=sys.stderr, flush=True)

    def note(self, sentence: str) -> None:
        """Add a sentence to the head of the report, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def save(self) -> None:
        """Write the report as far as it is known."""
        if find_spec("matplotlib") is not None and (self.rows or self.curves):
            self.report.draw(lambda path: draw(self.rows, self.curves, path))
        self.report.write(self._head())

    def text(self) -> str:
        return self.report.text(self._head())

    def close(self) -> None:
        for process in self._everybody():
            process.close()

    def _everybody(self) -> list[PeerProcess]:
        return [*self.processes.values(), *self.extra_processes.values()]

    def _head(self) -> list[str]:
        everyone = self._everybody()
        peak = "" if self.peak is None else f"; float32 FMA peak {self.peak / 1e9:.0f} GFLOP/s"
        return [
            f"{environment.processor()}; {self._threads} threads{peak}.",
            ", ".join(f"{process.name} {process.info.version}" for process in everyone)
            + f"; partita's kernels: {self._kernels}.",
            *(f"{name} is absent ({why})." for name, why in self.absent.items()),
            *(process.helped for process in everyone if process.helped),
            f"Load when it began {self._load:.1f}; {self.clock.seconds / 60:.0f} minutes.",
            *self.notes,
        ]


def fits(session: Session) -> None:
    late = []
    for task in _present(session, session.plan.fits):
        if session.clock.seconds > session.plan.fits_until:
            late.append(str(task))
            continue
        session.log(task)
        plan = session.plan
        session.rows.append(race(task, session.processes, plan.cut, plan.row_seconds))
        session.report.put("fits", *fit_tables(session.rows, list(session.processes)))
        session.save()
    if late:
        session.note(f"Fits not begun, as the time was over: {'; '.join(late)}.")


def iteration(session: Session) -> None:
    """The plain pass and the calls, everything once in every round."""
    plan = session.plan
    processes = {name: session.processes[name] for name in _PLAIN if name in session.processes}
    iteration_tasks = [IterationTask(shape, processes) for shape in plan.shapes]
    iris, predict = Iris(processes), Predict(plan.tall, processes)
    peaks = []
    for number in session.clock.rounds(plan.rounds, plan.round_seconds):
        session.log(f"plain iterations and calls, round {number + 1}")
        for iteration_task in iteration_tasks:
            peaks.append(processes[OURS].call("peak"))
            iteration_task.run_round(number)
        iris.run_round(number)
        predict.run_round(number)
    session.peak = None if None in peaks else max(peaks)
    names = list(processes)
    session.report.put(
        "iteration",
        time_table(iteration_tasks, names, session.peak),
        cost_table(iteration_tasks, names),
        call_table(iris, predict, names),
    )


def defaults(session: Session) -> None:
    tasks = _present(session, session.plan.defaults)
    _measured("defaults", session, Defaults, tasks, session.processes, defaults_table)


def seeding(session: Session) -> None:
    done: list[Seeding] = []
    for task in _present(session, session.plan.seedings):
        if session.clock.seconds > session.plan.until:
            break
        session.log(f"seeding of {task}")
        done.append(Seeding(task))
        done[-1].measure(session.processes)
        session.report.put("seeding", seeding_table(done))


def inexact(session: Session) -> None:
    peers = session.open_peers(INEXACT_PEERS)
    done: list[QualityRace] = []
    for task in _present(session, session.plan.inexact):
        for peer in peers.values():
            if session.clock.seconds > session.plan.until:
                return
            session.log(f"{peer.name} on {task}")
            done.append(quality_race(task, peer, session.processes[OURS]))
            session.report.put("inexact", inexact_table(done))


def family(session: Session) -> None:
    done, processes = [], session.open_peers(FAMILY_PEERS)
    for match in family_tasks(session.plan.quick):
        if session.clock.seconds > session.plan.until or not _present(session, [match.task]):
            continue
        session.log(f"{match.ours} on {match.task}")
        done.append(measure_family(match, processes))
        session.report.put("family", family_table(done))


def spherical(session: Session) -> None:
    name, done = "faiss spherical", []
    processes = session.open_peers([name])
    for task in _present(session, session.plan.spherical):
        if session.clock.seconds > session.plan.until or name not in processes:
            return
        session.log(f"{name} on {task}")
        partita = session.processes[OURS]
        done.append(quality_race(task, processes[name], partita, "SphericalKMeans", cosine))
        session.report.put("spherical", spherical_table(done))


def balanced(session: Session) -> None:
    done, processes = [], session.open_peers(BALANCED_PEERS)
    for match in balanced_tasks(session.plan.quick):
        if session.clock.seconds > session.plan.until:
            return
        session.log(f"{match.ours} on {match.task}")
        done.append(measure_family(match, processes))
        title = "K-means with clusters of equal sizes, seconds"
        session.report.put("balanced", family_table(done, title))


def growth(session: Session) -> None:
    for sweep in session.plan.sweeps:
        if session.clock.seconds > session.plan.until:
            return
        session.log(f"growth with {sweep.vary} at {sweep}")
        session.curves.append(measure_growth(sweep, session.processes))
        session.report.put("growth", growth_table(session.curves))


def medoids(session: Session) -> None:
    swappers = session.open_peers(MEDOID_PEERS)
    done = _measured("medoids", session, Swaps, session.plan.medoids, swappers, swap_table)
    if THEIRS in swappers and len(done) == len(session.plan.medoids):
        session.log("the loss of medoids")
        losses = [Quality(task, swappers) for task in QUALITY]
        names = list(swappers)
        session.report.put("medoids", swap_table(done, names), quality_table(losses))


def kernels(session: Session) -> None:
    processes = session.open_peers(KERNEL_PEERS)
    _measured("kernels", session, KernelRow, session.plan.kernels, processes, kernel_table)


def prototypes(session: Session) -> None:
    processes, tasks = session.open_peers(PROTOTYPE_PEERS), session.plan.prototypes
    _measured("prototypes", session, Prototypes, tasks, processes, prototypes_table)


def gower(session: Session) -> None:
    processes, tasks = session.open_peers(GOWER_PEERS), session.plan.gower
    _measured("gower", session, GowerMedoids, tasks, processes, gower_table)


def silhouette(session: Session) -> None:
    processes = session.open_peers(SILHOUETTE_PEERS)
    tasks = session.plan.silhouettes
    _measured("silhouette", session, Silhouettes, tasks, processes, silhouette_table)


def ksweeps(session: Session) -> None:
    processes = session.open_peers(SWEEP_PEERS)
    tasks = _present(session, session.plan.ksweeps)
    _measured("ksweeps", session, KSweep, tasks, processes, sweep_table)


def _measured(
    stage: str,
    session: Session,
    kind: Callable[..., Any],
    tasks: Sequence[Any],
    processes: dict[str, PeerProcess],
    table: Callable[[list[Any], list[str]], Any],
) -> list[Any]:
    """Measure every task with every library until time is up; rewrite the table after each."""
    done: list[Any] = []
    for task in tasks:
        if session.clock.seconds > session.plan.until:
            break
        session.log(f"{stage}: {task}")
        done.append(kind(task))
        done[-1].measure(processes)
        session.report.put(stage, table(done, list(processes)))
    return done


def _present(session: Session, tasks: Sequence[T]) -> list[T]:
    """Tasks whose data is available; note the reason for the others."""
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
    "defaults": defaults,
    "seeding": seeding,
    "inexact": inexact,
    "spherical": spherical,
    "family": family,
    "balanced": balanced,
    "growth": growth,
    "medoids": medoids,
    "kernels": kernels,
    "prototypes": prototypes,
    "gower": gower,
    "silhouette": silhouette,
    "ksweeps": ksweeps,
}

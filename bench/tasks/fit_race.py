"""One row of the comparison: all libraries fit the same data from the same start."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.generated_data import Array
from harness.objective import objective
from harness.peer_process import FailedError, PeerProcess, TooLongError
from harness.peer_server import Run
from harness.real_data import Real, target
from harness.timing import BestTime, Clock, rotated
from peers.kmeans_peers import LLOYD, OURS, UNLIMITED_ITERATIONS

from tasks.label_differences import first_difference

_ROUNDS = 5
_REACH_ROUNDS = 3
_MAX_REPEATED_SECONDS = 20.0  # seconds: who took longer is not asked again
_PRUNING_SLACK = 2.0  # how far two first iterations may overestimate the mean of those that prune
_LIMIT_RATIO, _MIN_LIMIT_SECONDS = 3.0, 10.0  # a fit ends at so many times the quickest estimate
_MAX_COST_SHARE = 1e-3  # a peer that ends with a J so much higher is not the one to beat
_SAME_COST_SHARE = 1e-12  # relative difference of J below which two results are the same
_COMPARED_ROWS_AND_SECONDS = (
    100_000,
    30.0,
)  # rows and seconds up to which a difference of J is looked into


@dataclass(slots=True)
class Cell:
    """The result of one peer: times and its last run, or the reason why there are none."""

    best: BestTime = field(default_factory=BestTime)
    last: Run | None = None
    memory: int | None = None  # the most of all its runs
    trouble: str = ""  # "–": not started, as it would be cut; ">120": cut; or an error's name

    @property
    def done(self) -> bool:
        return bool(self.best) and not self.trouble

    def add(self, run: Run) -> None:
        self.best.add(run.seconds)
        self.last = run
        self.note(run)

    def note(self, run: Run) -> None:
        self.memory = max(self.memory or 0, run.memory or 0) or None


@dataclass(slots=True)
class Row:
    """The result of a race."""

    task: Real
    n: int
    d: int
    bytes: int  # of the data
    limit: float  # seconds at which a fit was cut
    cells: dict[str, Cell]
    costs: dict[str, float] = field(default_factory=dict)
    to_cost: dict[str, BestTime] = field(default_factory=dict)  # partita's, until J is as low
    difference: str = ""

    @property
    def target(self) -> float:
        return target(self.task.name, self.n, self.d, self.task.k)

    @property
    def fastest(self) -> tuple[str, float] | None:
        """The peer to beat and its time: at least the limit, if none of them ended within it."""
        most = (1 + _MAX_COST_SHARE) * self.costs.get(OURS, math.inf)
        ended = {
            name: cell.best.seconds
            for name, cell in self.cells.items()
            if name != OURS and cell.done and self.costs[name] <= most
        }
        if ended:
            return min(ended.items(), key=lambda item: item[1] / self.own_seconds(item[0]))
        late = [name for name, cell in self.cells.items() if cell.trouble in ("–", self.cut)]
        return (late[0], self.limit) if late else None

    def own_seconds(self, name: str) -> float:
        """What partita took to match a peer: until J is as low, if that was before the end."""
        whole = self.cells[OURS].best.seconds
        sooner = self.to_cost.get(name)
        return min(whole, sooner.seconds) if sooner else whole

    @property
    def ratio(self) -> float | None:
        if not self.cells[OURS].done or self.fastest is None:
            return None
        name, seconds = self.fastest
        return seconds / self.own_seconds(name)

    @property
    def cut(self) -> str:
        return f">{self.limit:g}"


def race(task: Real, processes: Mapping[str, PeerProcess], limit: float, seconds: float) -> Row:
    """Fits in turn, for about so many `seconds` after every library has made one."""
    rows = task.rows()
    row = Row(
        task, len(rows), rows.shape[1], rows.nbytes, limit, {name: Cell() for name in processes}
    )
    for process in processes.values():
        _load(row, process)
    _fit(
        row, processes[OURS], UNLIMITED_ITERATIONS
    )  # first, since others are told how many iterations that took
    ours = row.cells[OURS].last
    if ours is None:
        return row
    _estimate(row, processes, ours.iterations)
    clock = Clock()
    for number in range(_ROUNDS):
        for name in rotated(list(processes), number):
            cell = row.cells[name]
            if not (cell.best and cell.best.seconds > _MAX_REPEATED_SECONDS):
                most = UNLIMITED_ITERATIONS if processes[name].info.stops else ours.iterations
                _fit(row, processes[name], most)
        if clock.seconds > seconds:
            break
    _compare(row, rows, processes)
    _reach(row, rows, processes[OURS])
    return row


def _load(row: Row, process: PeerProcess) -> None:
    try:
        process.call("load", row.task)
    except FailedError as error:
        row.cells[process.name].trouble = str(error)


def _fit(row: Row, process: PeerProcess, most: int) -> None:
    cell = row.cells[process.name]
    if cell.trouble:
        return
    try:
        cell.add(process.call("fit", most, seconds=row.limit))
    except TooLongError:
        cell.trouble = row.cut
    except FailedError as error:
        cell.trouble = str(error)


def _estimate(row: Row, processes: Mapping[str, PeerProcess], iterations: int) -> None:
    """Warm up the peers, and leave out those that are far from being the fastest."""
    seconds = {
        name: _seconds_of_fit(row, process, iterations)
        for name, process in processes.items()
        if name != OURS
    }
    quickest = min(seconds.values(), default=math.inf)
    row.limit = min(row.limit, max(_MIN_LIMIT_SECONDS, _LIMIT_RATIO * quickest))
    for name, estimate in seconds.items():
        slack = _PRUNING_SLACK if processes[name].info.prunes else 1.0
        if not row.cells[name].trouble and estimate > slack * row.limit:
            row.cells[name].trouble = "–"


def _seconds_of_fit(row: Row, process: PeerProcess, iterations: int) -> float:
    """Estimate the time of a whole fit from one of two iterations."""
    cell = row.cells[process.name]
    if cell.trouble:
        return math.inf
    try:
        run = process.call("fit", 2, seconds=row.limit)
    except TooLongError:
        cell.trouble = "–"
    except FailedError as error:
        cell.trouble = str(error)
    else:
        cell.note(run)
        return run.seconds / 2 * iterations
    return math.inf


def _compare(row: Row, rows: Array, processes: Mapping[str, PeerProcess]) -> None:
    """J of every library, and where scikit-learn's differs, who is right."""
    for name, cell in row.cells.items():
        if cell.done and cell.last is not None:
            row.costs[name] = objective(rows, cell.last.centers)
    theirs = row.costs.get(LLOYD)
    if theirs is None or abs(theirs / row.costs[OURS] - 1) <= _SAME_COST_SHARE:
        return
    most, seconds = _COMPARED_ROWS_AND_SECONDS
    if row.n > most:
        row.difference = "not looked into: too many rows"
        return
    start = row.task.start(rows)
    row.difference = first_difference(rows, start, processes[OURS], processes[LLOYD], seconds)


def _reach(row: Row, rows: Array, partita: PeerProcess) -> None:
    """The time until partita's J is as low as that of a peer that made other iterations."""
    ours = row.cells[OURS].last
    for name, cell in row.cells.items():
        if name not in row.costs or cell.last is None or ours is None:
            continue
        same = cell.last.iterations == ours.iterations
        if same or row.costs[name] <= (1 + _SAME_COST_SHARE) * row.costs[OURS]:
            continue
        times = BestTime()
        for _ in range(_REACH_ROUNDS):
            run = partita.call("fit_until", row.costs[name], seconds=row.limit)
            times.add(run.seconds)
        if objective(rows, run.centers) <= row.costs[name]:
            row.to_cost[name] = times

"""One marginal plain iteration of a fit, and the J that each peer reached on the way."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from harness.generated_data import Shape
from harness.markdown_table import Table, milliseconds, verdict
from harness.objective import objective
from harness.peer_process import PeerProcess
from harness.peer_server import Run
from harness.timing import BestTime, rotated
from peers.kmeans_peers import OURS

FIRST, LAST = 2, 8  # iterations: the difference of two fits is that of LAST − FIRST iterations
_ROUND_SECONDS = 1.0  # seconds after which a visit to a shape does not go once more around
_MAX_REPEATS = 3  # around, at most, in a visit


class IterationTask:
    """All peers on one shape: T(8) and T(2) in turn, as often as it is visited."""

    def __init__(self, shape: Shape, processes: Mapping[str, PeerProcess]) -> None:
        self.shape = shape
        self._processes = processes
        self._times = {(name, i): BestTime() for name in processes for i in (FIRST, LAST)}
        self._last: dict[str, Run] = {}

    def run_round(self, number: int) -> None:
        """Load the rows, warm up, and let every library fit a few times."""
        for process in self._processes.values():
            process.call("load", self.shape)
            process.call("plain", 1)
        begin = time.perf_counter()
        for again in range(_MAX_REPEATS):
            for name in rotated(list(self._processes), number + again):
                for iterations in (FIRST, LAST):
                    self._last[name] = self._processes[name].call("plain", iterations)
                    self._times[name, iterations].add(self._last[name].seconds)
            if time.perf_counter() - begin > _ROUND_SECONDS:
                break

    def marginal(self) -> dict[str, float]:
        """Seconds of one more iteration."""
        return {
            name: (self._times[name, LAST].seconds - self._times[name, FIRST].seconds)
            / (LAST - FIRST)
            for name in self._processes
        }

    def noise(self) -> float:
        """Of the peer that was disturbed most."""
        return max(best.noise for best in self._times.values())

    def costs(self) -> dict[str, float]:
        """J after LAST iterations."""
        rows = self.shape.rows()
        return {name: objective(rows, run.centers) for name, run in self._last.items()}

    def stopped_early(self) -> dict[str, int]:
        """Libraries that stopped before LAST iterations, and how many they made."""
        return {n: run.iterations for n, run in self._last.items() if run.iterations != LAST}


def time_table(
    iteration_tasks: Sequence[IterationTask], names: list[str], peak: float | None
) -> Table:
    return Table(
        "One marginal plain iteration, milliseconds",
        f"(T({LAST}) − T({FIRST})) / {LAST - FIRST} of a whole fit from the same starting centers, "
        "the best of each;\nfloat32, uniform data, every distance computed. 'ratio' is the fastest "
        "peer's time over partita's. 'noise' is how far the\nmedian fit of the most disturbed "
        "peer lies above its best: far above 10 % means run it again on a quiet machine.",
        ["n, d, K", *names, "ratio", "target", "verdict", "GFLOP/s", "of peak", "noise"],
        [_time_row(iteration_task, names, peak) for iteration_task in iteration_tasks],
    )


def _time_row(iteration_task: IterationTask, names: list[str], peak: float | None) -> list[str]:
    marginal = iteration_task.marginal()
    times = [milliseconds(marginal[name]) for name in names]
    void = ["–", f"{iteration_task.shape.target:g}", "void: stopped early or too noisy", "–", "–"]
    cells = void
    if min(marginal.values()) > 0 and not iteration_task.stopped_early():
        speed = iteration_task.shape.flops / marginal[OURS]
        share = "–" if peak is None else f"{speed / peak:.0%}"
        cells = [*verdict(marginal, OURS, iteration_task.shape.target), f"{speed / 1e9:.0f}", share]
    return [str(iteration_task.shape), *times, *cells, f"{iteration_task.noise():.0%}"]


def cost_table(iteration_tasks: Sequence[IterationTask], names: list[str]) -> Table:
    return Table(
        f"J after {LAST} iterations from the same start",
        "The same fits. In float64, recomputed from the centers that each returned: partita's, and "
        "the peers' relative to it.\nRounding in float32 moves some rows: 1e-5 is agreement; at "
        "d = 2 scikit-learn and intelex lose more digits, up to 1e-3.",
        ["n, d, K", *names, "iterations"],
        [_cost_row(iteration_task, names) for iteration_task in iteration_tasks],
    )


def _cost_row(iteration_task: IterationTask, names: list[str]) -> list[str]:
    costs = iteration_task.costs()
    ours = costs[OURS]
    cells = [f"{ours:.9g}" if n == OURS else f"{costs[n] / ours - 1:+.1e}" for n in names]
    early = ", ".join(f"{name}: {made}" for name, made in iteration_task.stopped_early().items())
    return [str(iteration_task.shape), *cells, early or f"all {LAST}"]

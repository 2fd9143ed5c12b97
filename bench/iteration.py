"""One marginal plain iteration of a fit, and the J that each contestant reached on the way."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from contestants import OURS
from desk import Run
from measure import Best, in_turn
from objective import objective
from shapes import Shape
from stands import Stand
from tables import Table, milliseconds, verdict

FEW, MANY = 2, 8
_VISIT = 1.0  # seconds after which a visit to a shape does not go once more around
_TIMES = 3  # around, at most, in a visit


class Contest:
    """All contestants on one shape: T(8) and T(2) in turn, as often as it is visited."""

    def __init__(self, shape: Shape, stands: Mapping[str, Stand]) -> None:
        self.shape = shape
        self._stands = stands
        self._times = {(name, i): Best() for name in stands for i in (FEW, MANY)}
        self._last: dict[str, Run] = {}

    def visit(self, number: int) -> None:
        """Load the rows, warm up, and let everybody fit a few times."""
        for stand in self._stands.values():
            stand.ask("load", self.shape)
            stand.ask("plain", 1)
        begin = time.perf_counter()
        for again in range(_TIMES):
            for name in in_turn(list(self._stands), number + again):
                for iterations in (FEW, MANY):
                    self._last[name] = self._stands[name].ask("plain", iterations)
                    self._times[name, iterations].add(self._last[name].seconds)
            if time.perf_counter() - begin > _VISIT:
                break

    def marginal(self) -> dict[str, float]:
        """Seconds of one more iteration."""
        return {
            name: (self._times[name, MANY].seconds - self._times[name, FEW].seconds) / (MANY - FEW)
            for name in self._stands
        }

    def noise(self) -> float:
        """Of the contestant that was disturbed most."""
        return max(best.noise for best in self._times.values())

    def costs(self) -> dict[str, float]:
        """J after MANY iterations."""
        rows = self.shape.rows()
        return {name: objective(rows, run.centers) for name, run in self._last.items()}

    def stopped_early(self) -> dict[str, int]:
        """Who did not make all the iterations, and how many they made."""
        return {n: run.iterations for n, run in self._last.items() if run.iterations != MANY}


def time_table(contests: Sequence[Contest], names: list[str], peak: float | None) -> Table:
    return Table(
        "One marginal plain iteration, milliseconds",
        f"(T({MANY}) − T({FEW})) / {MANY - FEW} of a whole fit from the same starting centers, "
        "the best of each;\nfloat32, uniform data, every distance computed. 'ratio' is the fastest "
        "peer's time over partita's. 'noise' is how far the\nmedian fit of the most disturbed "
        "contestant lies above its best: far above 10 % means run it again on a quiet machine.",
        ["n, d, K", *names, "ratio", "target", "verdict", "GFLOP/s", "of peak", "noise"],
        [_time_row(contest, names, peak) for contest in contests],
    )


def _time_row(contest: Contest, names: list[str], peak: float | None) -> list[str]:
    marginal = contest.marginal()
    times = [milliseconds(marginal[name]) for name in names]
    void = ["–", f"{contest.shape.target:g}", "void: stopped early or too noisy", "–", "–"]
    cells = void
    if min(marginal.values()) > 0 and not contest.stopped_early():
        speed = contest.shape.flops / marginal[OURS]
        share = "–" if peak is None else f"{speed / peak:.0%}"
        cells = [*verdict(marginal, OURS, contest.shape.target), f"{speed / 1e9:.0f}", share]
    return [str(contest.shape), *times, *cells, f"{contest.noise():.0%}"]


def cost_table(contests: Sequence[Contest], names: list[str]) -> Table:
    return Table(
        f"J after {MANY} iterations from the same start",
        "The same fits. In float64, recomputed from the centers that each returned: partita's, and "
        "the peers' relative to it.\nRounding in float32 moves some rows: 1e-5 is agreement; at "
        "d = 2 scikit-learn and intelex lose more digits, up to 1e-3.",
        ["n, d, K", *names, "iterations"],
        [_cost_row(contest, names) for contest in contests],
    )


def _cost_row(contest: Contest, names: list[str]) -> list[str]:
    costs = contest.costs()
    ours = costs[OURS]
    cells = [f"{ours:.9g}" if n == OURS else f"{costs[n] / ours - 1:+.1e}" for n in names]
    early = ", ".join(f"{name}: {made}" for name, made in contest.stopped_early().items())
    return [str(contest.shape), *cells, early or f"all {MANY}"]

"""One marginal iteration of a fit, and the J that each contestant reached on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contestants import OURS
from measure import Best, rounds, turns
from objective import objective
from shapes import Shape
from stands import Run, Stand
from tables import Table, milliseconds, verdict

FEW, MANY = 2, 8


@dataclass(frozen=True, slots=True)
class Contest:
    """What one shape brought."""

    shape: Shape
    marginal: Mapping[str, float]  # seconds of one more iteration
    noise: float  # of the contestant that was disturbed most
    rounds: int
    cost: Mapping[str, float]  # J after MANY iterations
    iterations: Mapping[str, int]  # how many were really made


def contest(shape: Shape, stands: Mapping[str, Stand], repeat: int, seconds: float) -> Contest:
    """T(8) and T(2) of every contestant in turn; (best T(8) − best T(2)) / 6 is an iteration."""
    for stand in stands.values():
        stand.ask("load", shape)
        stand.ask("fit", FEW)  # warm up
    times = {(name, i): Best() for name in stands for i in (FEW, MANY)}
    last: dict[str, Run] = {}
    made = 0
    for number in rounds(repeat, seconds):
        made += 1
        for name in turns(list(stands), number):
            for iterations in (FEW, MANY):
                last[name] = stands[name].ask("fit", iterations)
                times[name, iterations].add(last[name].seconds)
    rows = shape.rows()
    return Contest(
        shape,
        {
            name: (times[name, MANY].seconds - times[name, FEW].seconds) / (MANY - FEW)
            for name in stands
        },
        max(best.noise for best in times.values()),
        made,
        {name: objective(rows, run.centers) for name, run in last.items()},
        {name: run.iterations for name, run in last.items()},
    )


def time_table(contests: list[Contest], names: list[str], peak: float | None) -> Table:
    return Table(
        "One marginal iteration, milliseconds",
        f"(T({MANY}) − T({FEW})) / {MANY - FEW} of a whole fit from the same starting centers, "
        "best of each over the rounds;\nfloat32, uniform data. 'ratio' is the fastest peer's time "
        "over partita's. 'noise' is how far the median\nof a round lies above its best, for the "
        "most disturbed contestant: far above 10 % means run it again.",
        [
            *("n, d, K", *names, "ratio", "target", "verdict"),
            *("GFLOP/s", "of peak", "noise", "rounds"),
        ],
        [_time_row(contest, names, peak) for contest in contests],
    )


def _time_row(contest: Contest, names: list[str], peak: float | None) -> list[str]:
    marginal = contest.marginal
    speed = contest.shape.flops / marginal[OURS]
    return [
        str(contest.shape),
        *(milliseconds(marginal[name]) for name in names),
        *verdict(marginal, OURS, contest.shape.target),
        f"{speed / 1e9:.0f}",
        "–" if peak is None else f"{speed / peak:.0%}",
        f"{contest.noise:.0%}",
        str(contest.rounds),
    ]


def cost_table(contests: list[Contest], names: list[str]) -> Table:
    return Table(
        f"J after {MANY} iterations from the same start",
        "In float64, recomputed from the centers that each returned: partita's, and the peers' "
        "relative to it.\nFloat32 rounding moves a row here and there, so 1e-5 is agreement; "
        "more is another computation.",
        ["n, d, K", *names, "iterations"],
        [_cost_row(contest, names) for contest in contests],
    )


def _cost_row(contest: Contest, names: list[str]) -> list[str]:
    ours = contest.cost[OURS]
    cells = [
        f"{ours:.9g}" if name == OURS else f"{contest.cost[name] / ours - 1:+.1e}" for name in names
    ]
    odd = [f"{name}: {made}" for name, made in contest.iterations.items() if made != MANY]
    return [str(contest.shape), *cells, ", ".join(odd) or f"all {MANY}"]

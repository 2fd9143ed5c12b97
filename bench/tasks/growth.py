"""Growth of the time of an iteration with n, K and d, on generated clusters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from harness.generated_data import Array
from harness.markdown_table import Table, milliseconds
from harness.peer_process import FailedError, PeerProcess
from harness.timing import BestTime
from peers.kmeans_peers import LLOYD, OURS

NAMES = (OURS, LLOYD, "faiss")
_ITERATIONS = 10
_BLOB_COUNT = 100
_CALL_LIMIT_SECONDS = 60.0  # seconds for one fit
_REPEATED_BELOW_SECONDS = 1.0  # seconds below which a fit is repeated
_CHUNK_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Blobs:
    """n rows of d features in 100 round clusters, float32."""

    n: int
    d: int
    k: int

    def rows(self) -> Array:
        rng = np.random.default_rng([self.n, self.d])
        middles = rng.random((_BLOB_COUNT, self.d), dtype=np.float32)
        rows = np.empty((self.n, self.d), dtype=np.float32)
        for begin in range(0, self.n, _CHUNK_ROWS):
            part = rows[begin : begin + _CHUNK_ROWS]
            rng.standard_normal(out=part, dtype=np.float32)
            part *= np.float32(0.1)
            part += middles[rng.integers(_BLOB_COUNT, size=len(part))]
        return rows

    def start(self, rows: Array) -> Array:
        """(k, d): different rows, at random."""
        return rows[np.random.default_rng(self.k).choice(self.n, self.k, replace=False)]


@dataclass(frozen=True, slots=True)
class Sweep:
    """One of n, d, k takes several values, the others stay."""

    vary: str
    values: tuple[int, ...]
    base: Blobs

    def __str__(self) -> str:
        others = {"n": f"n={self.base.n}", "d": f"d={self.base.d}", "k": f"K={self.base.k}"}
        return ", ".join(text for key, text in others.items() if key != self.vary)

    def tasks(self) -> Iterator[tuple[int, Blobs]]:
        for value in self.values:
            yield value, replace(self.base, **{self.vary: value})


@dataclass(slots=True)
class Curve:
    """Seconds of an iteration at each value, by peer."""

    sweep: Sweep
    seconds: dict[str, dict[int, float]] = field(default_factory=dict)

    def exponent(self, name: str) -> float | None:
        """The slope of a line through the logarithms."""
        points = self.seconds.get(name, {})
        if len(points) < 2:
            return None
        x, y = np.log(list(points)), np.log(list(points.values()))
        return float(np.polyfit(x, y, 1)[0])


def measure(sweep: Sweep, processes: Mapping[str, PeerProcess]) -> Curve:
    """A curve; a peer that took too long, or failed, has no further points on it."""
    curve = Curve(sweep)
    active = [name for name in NAMES if name in processes]
    for value, task in sweep.tasks():
        for name in list(active):
            try:
                seconds = _iteration(processes[name], task)
            except FailedError:
                active.remove(name)
            else:
                curve.seconds.setdefault(name, {})[value] = seconds
    return curve


def _iteration(process: PeerProcess, task: Blobs) -> float:
    """The best of some fits over its iterations, fewer than ten where it has converged."""
    best = BestTime()
    process.call("load", task)
    for _ in range(3):
        run = process.call("fit", _ITERATIONS, seconds=_CALL_LIMIT_SECONDS)
        best.add(run.seconds / run.iterations)
        if run.seconds > _REPEATED_BELOW_SECONDS:
            break
    return best.seconds


def growth_table(curves: Sequence[Curve]) -> Table:
    return Table(
        "Growth, milliseconds per iteration",
        f"A whole fit of {_ITERATIONS} iterations over their number, from the same start; float32 "
        f"rows in {_BLOB_COUNT} round clusters.\n'exponent' is the slope of a line through the "
        "logarithms: 1 is proportional.",
        ["fixed", "growing", "library", "times", "exponent"],
        [_curve_row(curve, name) for curve in curves for name in curve.seconds],
    )


def _curve_row(curve: Curve, name: str) -> list[str]:
    label = {"n": "n", "d": "d", "k": "K"}[curve.sweep.vary]
    times = (f"{value}: {milliseconds(s)}" for value, s in curve.seconds[name].items())
    slope = curve.exponent(name)
    return [
        str(curve.sweep),
        label,
        name,
        ", ".join(times),
        "–" if slope is None else f"{slope:.2f}",
    ]


_N = (10_000, 50_000, 200_000, 1_000_000, 5_000_000)
FULL_SWEEPS = (
    Sweep("n", _N, Blobs(0, 2, 100)),
    Sweep("n", _N, Blobs(0, 8, 100)),
    Sweep("n", _N, Blobs(0, 32, 100)),
    Sweep("k", (10, 30, 100, 300, 1000, 3000), Blobs(200_000, 2, 0)),
    Sweep("k", (10, 30, 100, 300, 1000, 3000), Blobs(200_000, 32, 0)),
    Sweep("d", (2, 4, 8, 16, 32, 64, 128, 256, 512), Blobs(50_000, 0, 100)),
)
QUICK_SWEEPS = (
    Sweep("n", (10_000, 50_000, 200_000), Blobs(0, 2, 100)),
    Sweep("k", (10, 100, 1000), Blobs(50_000, 8, 0)),
    Sweep("d", (2, 16, 128), Blobs(20_000, 0, 100)),
)

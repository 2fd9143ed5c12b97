"""Small and large calls: where the price is overhead, and where it is reading the rows."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from contestants import OURS
from measure import Best, rounds, turns
from shapes import Shape
from stands import Stand
from tables import Table, milliseconds, verdict

_IRIS = ("partita", "scikit-learn", "intelex")  # faiss has no fit that stops when converged
_IRIS_TARGET = 3.0
_SEEDS = range(10)
_FIT_ITERATIONS = 2  # for centers to predict with


def call_table(stands: Mapping[str, Stand], tall: Shape, repeat: int, seconds: float) -> Table:
    iris = _iris(stands, repeat, seconds)
    for stand in stands.values():
        stand.ask("load", tall)
        stand.ask("fit", _FIT_ITERATIONS)
    one = _predict(stands, 1, repeat, seconds, calls=300)
    many = _predict(stands, tall.n, repeat, seconds, calls=3)
    where = f"d={tall.d}, K={tall.k}"
    kinds = (
        ("KMeans(3, n_init=1).fit(iris)", iris, _IRIS_TARGET),
        (f"predict 1 row, {where}", one, tall.target),
        (f"predict {tall.n:,} rows, {where}", many, tall.target),
    )
    return Table(
        "Small and large calls, milliseconds",
        f"Best of many calls; iris (float64) is the mean over {len(_SEEDS)} seeds of the best of "
        "each, its target is against\nscikit-learn alone.",
        ["call", *stands, "ratio", "target", "verdict"],
        [
            [
                what,
                *(milliseconds(times.get(name)) for name in stands),
                *verdict(_rivals(times, what), OURS, target),
            ]
            for what, times, target in kinds
            if times
        ],
    )


def _rivals(times: Mapping[str, float], what: str) -> dict[str, float]:
    """Those that the target is about."""
    return {n: t for n, t in times.items() if not (n == "intelex" and what.endswith("fit(iris)"))}


def _iris(stands: Mapping[str, Stand], repeat: int, seconds: float) -> dict[str, float]:
    try:
        from sklearn.datasets import load_iris
    except ImportError:
        return {}
    rows = load_iris().data
    names = [name for name in stands if name in _IRIS]
    best = {(name, seed): Best() for name in names for seed in _SEEDS}
    for number in rounds(repeat, seconds):
        for name in turns(names, number):
            for seed in _SEEDS:
                best[name, seed].add(stands[name].ask("fit_small", rows, 3, seed, 10))
    return {n: statistics.fmean(best[n, seed].seconds for seed in _SEEDS) for n in names}


def _predict(
    stands: Mapping[str, Stand], count: int, repeat: int, seconds: float, calls: int
) -> dict[str, float]:
    best = {name: Best() for name in stands}
    for number in rounds(repeat, seconds):
        for name in turns(list(stands), number):
            best[name].add(stands[name].ask("predict", count, calls))
    return {name: found.seconds for name, found in best.items()}

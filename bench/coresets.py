"""The error of coresets beside that of uniform samples, on real data; see docs/streams.md."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from harness.generated_data import Array
from harness.markdown_table import Table
from harness.real_data import Real

from partita import Coreset, KMeans, coreset

TASKS = (Real("skin", 20), Real("Shuttle", 7), Real("letter", 26), Real("MNIST", 10))
SIZES = (200, 1000, 5000, 20000)
MAX_VALUES = 8_000_000  # of a data set; of a larger one, a random part of the rows
N_SETS = 5  # random sets of centers, each of k rows
HEAD = ("data", "m", "coreset error", "uniform error", "coreset J", "uniform J", "ms")
N_INIT = 5  # starts of every fit
ABOUT = (
    "Error: the largest |cost of the sample / J − 1| over the centers fitted to all rows and "
    f"{N_SETS} sets of K random rows. J: that of all rows at the centers fitted to the sample, "
    f"over that of a fit to all rows; {N_INIT} starts each. Medians over seeds. ms: of making the "
    "coreset. A dash: at least as many draws as rows."
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Rows, sets of centers, and J of all rows at each."""

    rows: Array
    k: int
    centers: list[Array]
    costs: list[float]

    @classmethod
    def of(cls, task: Real) -> Problem:
        """Read the rows; the first set of centers is the fit to all of them."""
        rows, rng = task.rows(), np.random.default_rng(0)
        n = min(len(rows), MAX_VALUES // rows.shape[1])
        rows = np.ascontiguousarray(rows[np.sort(rng.permutation(len(rows))[:n])])
        fit = KMeans(task.k, n_init=N_INIT, random_state=0).fit(rows)
        sets = [rows[rng.permutation(n)[: task.k]] for _ in range(N_SETS)]
        every = Coreset(rows, np.ones(n))
        return cls(
            rows, task.k, [fit.cluster_centers_, *sets], [fit.inertia_, *map(every.cost, sets)]
        )

    def measure(self, sample: Coreset, seed: int) -> tuple[float, float]:
        """Return the largest relative error of the cost, and the ratio of J."""
        pairs = zip(self.centers, self.costs, strict=True)
        error = max(abs(sample.cost(centers) / cost - 1) for centers, cost in pairs)
        model = KMeans(self.k, n_init=N_INIT, random_state=seed)
        model.fit(sample.points, sample_weight=sample.weights)
        return error, -model.score(self.rows) / self.costs[0]


def uniform_sample(rows: Array, m: int, seed: int) -> Coreset:
    """Return m rows drawn without replacement, each of weight n/m."""
    chosen = np.random.default_rng(seed).permutation(len(rows))[:m]
    return Coreset(rows[chosen], np.full(m, len(rows) / m))


def line(name: str, problem: Problem, m: int, seeds: int) -> list[str]:
    """Measure one data set with one number of draws."""
    n, milliseconds = len(problem.rows), []
    if m >= n:
        return [name, f"{m}", *["–"] * 5]

    def drawn(seed: int) -> Coreset:
        begin = time.perf_counter()
        sample = coreset(problem.rows, m, k=problem.k, random_state=seed)
        milliseconds.append(1e3 * (time.perf_counter() - begin))
        return sample

    def uniform(seed: int) -> Coreset:
        return uniform_sample(problem.rows, m, seed)

    def medians(make: Callable[[int], Coreset]) -> Array:
        return np.median([problem.measure(make(seed), seed) for seed in range(seeds)], axis=0)

    (error, ratio), (other_error, other_ratio) = medians(drawn), medians(uniform)
    cells = [f"{100 * error:.2g} %", f"{100 * other_error:.2g} %", f"{ratio:.3f}"]
    return [name, f"{m}", *cells, f"{other_ratio:.3f}", f"{np.median(milliseconds):.0f}"]


def main() -> None:
    """Measure every data set, print the table, and write it if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = []
    for task in TASKS:
        if reason := task.missing():
            lines.append([f"{task}: {reason}", *["–"] * 6])
            continue
        problem = Problem.of(task)
        n, d = problem.rows.shape
        for m in SIZES:
            lines.append(line(f"{task.name}, {n} × {d}, K = {task.k}", problem, m, options.seeds))
            print(*lines[-1], sep="  ", flush=True)
    table = Table("Coresets beside uniform samples", ABOUT, HEAD, lines)
    if options.out:
        made = (
            f"Made by `python bench/coresets.py --seeds {options.seeds}` (`make bench-coresets`)."
        )
        options.out.write_text(f"# Coresets\n\n{made}\n\n{table.markdown()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

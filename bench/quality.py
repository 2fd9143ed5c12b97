"""The objective that fits reach, beside proven optima and best known values; see docs/search.md."""

from __future__ import annotations

import argparse
import csv
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that spin keep others waiting

import numpy as np
import sklearn.cluster
from harness.generated_data import Array
from harness.markdown_table import Table

from partita import KMeans

MAX_PEER_SECONDS = 10.0  # that a peer is repeated for, where "best" takes longer
HEAD = (
    "data, K", "kind", "scikit-learn", "s", "bkmeans", "s", "fast", "s", "balanced", "s", "best",
    "s", "scikit-learn for as long", "bkmeans for as long",
)  # fmt: skip
ABOUT = (
    "J over the proven optimum or the best known value, less 1; and seconds. scikit-learn with "
    "n_init=10, bkmeans (breathing k-means) once, partita with each quality; one seed. The last "
    f"columns: the best of runs for as long as `best` takes, at most {MAX_PEER_SECONDS:.0f} s, at "
    "least one. J of all is computed in the same way, from the centers. Below 1e-9 is 0; a "
    "negative value is better than the best known."
)
Fit = Callable[[Array, int, int], Any]  # (rows, k, seed) -> model


@dataclass(frozen=True, slots=True)
class Case:
    """Rows, a number of clusters, and the value to reach."""

    name: str
    k: int
    cost: float
    kind: str

    def rows(self, folder: Path) -> Array:
        """Read the rows as float64."""
        with np.load(folder / f"{self.name}.npz") as stored:
            return np.ascontiguousarray(stored["X"], dtype=np.float64)


def cases(folder: Path) -> list[Case]:
    """Read the cases whose optimum is known."""
    with (folder / "optima_kmeans.csv").open(encoding="utf-8") as file:
        rows = csv.DictReader(file)
        return [Case(r["file"], int(r["k"]), float(r["sse"]), r["kind"]) for r in rows]


def objective(rows: Array, centers: Array) -> float:
    """Sum the squared distances to the nearest centers."""
    total = 0.0
    for first in range(0, len(rows), 10_000):
        block = rows[first : first + 10_000]
        square = np.full(len(block), np.inf)
        for center in np.asarray(centers, dtype=np.float64):
            np.minimum(square, ((block - center) ** 2).sum(axis=1), out=square)
        total += float(square.sum())
    return total


def with_quality(quality: str) -> Fit:
    """Return the fit of partita."""
    return lambda rows, k, seed: KMeans(k, quality=quality, random_state=seed).fit(rows)


def scikit_learn(rows: Array, k: int, seed: int) -> Any:
    """Fit with ten starts."""
    return sklearn.cluster.KMeans(k, n_init=10, random_state=seed).fit(rows)


def breathing(rows: Array, k: int, seed: int) -> Any:
    """Fit by bkmeans, which is seeded by the global state."""
    from bkmeans import BKMeans

    return BKMeans(n_clusters=k, random_state=seed).fit(rows)


def excess(case: Case, rows: Array, model: Any) -> float:
    """Return J over the known value, less 1."""
    return objective(rows, model.cluster_centers_) / case.cost - 1


def text(value: float | None) -> str:
    """Format a relative excess; nothing for a peer that is absent."""
    if value is None:
        return "–"
    return "0" if abs(value) < 1e-9 else f"{value:.1e}"


def measured(fit: Fit, case: Case, rows: Array) -> tuple[float | None, float]:
    """Return the excess of one fit, and its seconds."""
    begin = time.perf_counter()
    try:
        model = fit(rows, case.k, 0)
    except ImportError:
        return None, 0.0
    seconds = time.perf_counter() - begin
    return excess(case, rows, model), seconds


def repeated(fit: Fit, case: Case, rows: Array, seconds: float) -> float | None:
    """Return the lowest excess of fits with other seeds, for so many seconds."""
    lowest, seed, end = np.inf, 0, time.perf_counter() + min(seconds, MAX_PEER_SECONDS)
    while seed == 0 or time.perf_counter() < end:
        try:
            lowest = min(lowest, excess(case, rows, fit(rows, case.k, seed)))
        except ImportError:
            return None
        seed += 1
    return float(lowest)


def line(case: Case, rows: Array) -> list[str]:
    """Measure one case."""
    cells = [f"{case.name.split('/')[1]}, {case.k}", case.kind.split(" (")[0]]
    seconds = 0.0
    fits = (scikit_learn, breathing, *map(with_quality, ("fast", "balanced", "best")))
    for fit in fits:
        value, seconds = measured(fit, case, rows)
        cells += [text(value), f"{seconds:.2g}"]
    return [*cells, *(text(repeated(peer, case, rows, seconds)) for peer in fits[:2])]


def main() -> None:
    """Measure every case, print the table, and write it if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = Path(os.environ["PARTITA_DATA"])
    lines = []
    for case in cases(folder):
        if options.only in case.name:
            lines.append(line(case, case.rows(folder)))
            print(*lines[-1], sep="  ", flush=True)
    table = Table("Quality", ABOUT, HEAD, lines)
    if options.out:
        made = "Made by `make bench-quality`."
        options.out.write_text(f"# Quality\n\n{made}\n\n{table.markdown()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

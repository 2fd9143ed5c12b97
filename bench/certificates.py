"""Gaps between fits and proven bounds, and the time they take; see docs/certificates.md."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sklearn.datasets
from harness.environment import processor
from harness.generated_data import Array
from harness.markdown_table import Table
from sklearn.preprocessing import scale

from partita import KMeans, certify

HEAD = ("rows", "n", "d", "K", "gap", "target", "kind", "method", "seconds", "gap after a tenth")
ABOUT = (
    "`certify` of `KMeans(K, quality='balanced', random_state=0)`, for at most {seconds:.0f} s "
    "({long:.0f} s for a million rows). Gap: (J − bound) / J. Target: what the gap should be at "
    "most. Seconds: of `certify`, which ends where nothing is left to gain."
)
SECONDS, LONG_SECONDS = 60.0, 180.0
FIRST_SHARE = 0.1  # of the seconds


@dataclass(frozen=True, slots=True)
class Case:
    """Rows, a number of clusters, and the gap to reach."""

    name: str
    rows: Callable[[], Array]
    k: int
    target: float | None = None
    seconds: float = SECONDS


def stored(name: str) -> Callable[[], Array]:
    """Return a reader of a data set in the folder of PARTITA_DATA."""

    def read() -> Array:
        with np.load(Path(os.environ["PARTITA_DATA"]) / f"{name}.npz") as file:
            return np.ascontiguousarray(file["X"], dtype=np.float64)

    return read


def mixture(n: int) -> Array:
    """Rows of ten Gaussians in 8 features; the nearest centers are 6 standard deviations apart."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(10, 8))
    gap = np.sqrt(((centers[:, None] - centers) ** 2).sum(axis=2))
    centers *= 6.0 / gap[np.triu_indices(10, 1)].min()
    return centers[rng.integers(0, 10, n)] + rng.normal(size=(n, 8))


def uniform(n: int, d: int) -> Array:
    """Rows without groups."""
    return np.random.default_rng(0).random((n, d))


def cases() -> Iterator[Case]:
    """List the cases: those of PARTITA_DATA, if it is set, then others."""
    if "PARTITA_DATA" in os.environ:
        yield Case("ruspini", stored("cran_cluster/ruspini"), 4, 0.001)
        yield Case("glass", stored("sossdp/glass"), 6, 0.07)
        yield Case("ecoli", stored("sossdp/ecoli"), 7, 0.07)
        yield Case("wine", stored("sossdp/wine"), 3, 0.09)
        yield Case("German towns", stored("hgmeans/german"), 5)
        yield Case("u1060", stored("tsplib/u1060"), 10)
        yield Case("s1", stored("gagolews_sipu/s1"), 15)
    bundled = sklearn.datasets
    yield Case("iris", lambda: bundled.load_iris().data, 3, 0.05)
    yield Case("wine, standardized", lambda: scale(bundled.load_wine().data), 3)
    yield Case("breast cancer, standardized", lambda: scale(bundled.load_breast_cancer().data), 2)
    yield Case("digits", lambda: bundled.load_digits().data, 10)
    yield Case("uniform in a square", lambda: uniform(300, 2), 10)
    yield Case("uniform in 10 dimensions", lambda: uniform(300, 10), 10)
    yield Case("mixture", lambda: mixture(10_000), 10, 0.05)
    yield Case("mixture", lambda: mixture(1_000_000), 10, 0.1, LONG_SECONDS)


def percent(gap: float) -> str:
    """Format a gap, rounded up."""
    return "0" if gap <= 1e-9 else f"{np.ceil(1e5 * gap) / 1e3:.2g} %"


def line(case: Case) -> list[str]:
    """Measure one case."""
    rows = case.rows()
    model = KMeans(case.k, quality="balanced", random_state=0).fit(rows)
    begin = time.perf_counter()
    found = certify(rows, model, time_limit=case.seconds, random_state=0)
    seconds = time.perf_counter() - begin
    early = [step.gap for step in found.history if step.seconds <= FIRST_SHARE * found.seconds]
    return [
        case.name,
        *(f"{number:,}" for number in (*rows.shape, case.k)),
        percent(found.gap),
        "–" if case.target is None else percent(case.target),
        found.kind if found.level is None else f"{100 * found.level:.0f} % {found.kind}",
        found.method,
        f"{seconds:.2g}",
        percent(early[-1]) if early else "–",
    ]


def main() -> None:
    """Measure every case, print the table, and write it if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = []
    for case in cases():
        if options.only in case.name:
            lines.append(line(case))
            print(*lines[-1], sep="  ", flush=True)
    about = ABOUT.format(seconds=SECONDS, long=LONG_SECONDS)
    table = Table("Certificates", about, HEAD, lines)
    if options.out:
        made = f"Made by `make bench-certificates` on {processor()}."
        options.out.write_text(f"# Certificates\n\n{made}\n\n{table.markdown()}\n", "utf-8")


if __name__ == "__main__":
    main()

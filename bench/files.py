"""Fits of files larger than the memory they may take; see docs/scaling.md.

Each fit runs in a process of its own, which is watched: the peak is the highest resident set minus
that before `fit`.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from harness.environment import load, processor
from harness.markdown_table import Table

from partita import KMeans, scan

D, K, ITERATIONS = 32, 50, 5
BLOCK_ROWS = 1 << 18
COMPUTE_ROWS = 4_000_000  # of the pass in memory, which is scaled up to all rows
SAMPLE_SECONDS = 0.01  # between two looks at the resident set
HEAD = ("file", "init", "rows", "GB", "peak MB", "passes", "seconds", "decode", "compute", "ratio")
ABOUT = (
    f"K = {K}, d = {D}, {ITERATIONS} iterations, float32. Peak: resident memory above that before "
    "`fit`. Passes: bytes read over bytes of all rows. Decode: seconds to read the file once, "
    "block by block. Compute: seconds of an iteration in memory, scaled up to all rows. Ratio: "
    "seconds over passes × the larger of both."
)


def main() -> None:
    """Make the files, fit them, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=6.0)
    parser.add_argument("--limit", default="1GiB")
    parser.add_argument("--folder", type=Path, help="for the files; a temporary one by default")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_fit(*options.child)))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rows = _measure(Path(folder), options.gigabytes, options.limit)
    title = f"Fits of files with memory_limit={options.limit!r}"
    table = Table(title, ABOUT, HEAD, rows)
    print(table.text())
    if options.out:
        made = f"Made by `make bench-scale` on {processor()}; load {load():.1f} at the end."
        options.out.write_text(f"# Files\n\n{made}\n\n{table.markdown()}\n", encoding="utf-8")


def _measure(folder: Path, gigabytes: float, limit: str) -> list[list[str]]:
    n, rows = int(gigabytes * 1e9 / (4 * D)), []
    npy, parquet = folder / "rows.npy", folder / "rows.parquet"
    _write_npy(npy, n)
    for path, inits in ((npy, ("k-means++", "k-means||")), (parquet, ("k-means||",))):
        if path is parquet:
            _write_parquet(parquet, npy)
            npy.unlink()  # the decoded rows need the room
        for init in inits:
            command = [sys.executable, __file__, "--child", str(path), init, limit, str(n)]
            out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            got = json.loads(out)
            slower = max(got["decode"], got["compute"])
            rows.append([
                path.suffix[1:], init, f"{n:,}", f"{gigabytes:.1f}", f"{got['peak'] / 1e6:.0f}",
                f"{got['passes']:.1f}", f"{got['seconds']:.0f}", f"{got['decode']:.2f}",
                f"{got['compute']:.2f}", f"{got['seconds'] / (got['passes'] * slower):.2f}",
            ])  # fmt: skip
    return rows


def _fit(path: str, init: str, limit: str, n: str) -> dict[str, float]:
    """Measure one fit, and what it is compared with."""
    KMeans(2).fit(np.random.default_rng(0).random((5000, 3)))  # what every process loads once
    model = KMeans(K, init=init, max_iter=ITERATIONS, random_state=0, memory_limit=limit)
    seconds, peak = _watched(lambda: model.fit(scan(path)))
    (passes,) = re.findall(r"([\d.]+) passes over", " ".join(model.paths_))
    decode, _ = _watched(lambda: _read_all(path))
    return {
        "peak": peak,
        "passes": float(passes),
        "seconds": seconds,
        "decode": decode,
        "compute": _seconds_in_memory(path, int(n)),
    }


def _watched(work: Callable[[], object]) -> tuple[float, int]:
    """Return the seconds of some work, and the bytes that the resident set grew at most."""
    peak, before, done = 0, _resident_bytes(), threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(SAMPLE_SECONDS):
            peak = max(peak, _resident_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    begin = time.perf_counter()
    try:
        work()
        return time.perf_counter() - begin, peak - before
    finally:
        done.set()
        watcher.join()


def _resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096


def _read_all(path: str) -> None:
    if path.endswith(".npy"):
        rows = scan(path).open(0).rows
        for i in range(0, len(rows), BLOCK_ROWS):
            rows[i : i + BLOCK_ROWS]
        return
    from pyarrow import parquet

    for batch in parquet.ParquetFile(path).iter_batches():
        for column in batch.columns:
            column.to_numpy()


def _seconds_in_memory(path: str, n: int) -> float:
    """Seconds of a pass over all rows, from passes over some of them in memory."""
    few = min(n, COMPUTE_ROWS)
    rows = _first_rows(path, few)
    model = KMeans(K, init="random", max_iter=4, tol=0, random_state=0, algorithm="plain")
    times = [step.seconds for step in model.fit(rows).trace_]
    return min(np.diff(times)) * n / few


def _first_rows(path: str, count: int) -> np.ndarray:
    if path.endswith(".npy"):
        return np.asarray(scan(path).open(0).rows[:count])
    from pyarrow import parquet

    blocks, got = [], 0
    for batch in parquet.ParquetFile(path).iter_batches():
        blocks.append(np.stack([column.to_numpy() for column in batch.columns], axis=1))
        got += len(blocks[-1])
        if got >= count:
            break
    return np.concatenate(blocks)[:count]


def _write_npy(path: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    middles = (5 * rng.normal(size=(K, D))).astype(np.float32)
    head = {"descr": "<f4", "fortran_order": False, "shape": (n, D)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, head)
        for i in range(0, n, BLOCK_ROWS):
            m = min(BLOCK_ROWS, n - i)
            noise = 4 * rng.standard_normal((m, D), dtype=np.float32)
            (middles[rng.integers(0, K, m)] + noise).tofile(file)


def _write_parquet(path: Path, npy: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    rows = np.load(npy, mmap_mode="r")
    schema = pa.schema([(f"x{t}", pa.float32()) for t in range(D)])
    with parquet.ParquetWriter(path, schema) as writer:
        for i in range(0, len(rows), BLOCK_ROWS):
            columns = [np.ascontiguousarray(column) for column in rows[i : i + BLOCK_ROWS].T]
            writer.write_table(pa.table(columns, schema=schema))


if __name__ == "__main__":
    main()

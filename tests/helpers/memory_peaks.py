"""Peaks of memory while fitting: python tests/helpers/memory_peaks.py prints them as a table.

Every fit has a process of its own, in which the modules are loaded and the threads have run before
the peak is reset. It is counted above what is resident when the fit begins, X among it.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

LIMITS = 0, 4e6, 16e6, None
FAST = {"init": "random", "n_init": 1, "max_iter": 4}
CASES = {
    "plain": {"k": 20, "d": 16, "n": 200_000, "args": {**FAST, "algorithm": "plain"}},
    "bytes": {"k": 100, "d": 64, "n": 100_000, "args": {**FAST, "algorithm": "bytes"}},
    "blocks": {"k": 20, "d": 3, "n": 200_000, "args": {**FAST, "algorithm": "blocks"}},
    "hamerly": {"k": 20, "d": 16, "n": 200_000, "args": {**FAST, "algorithm": "hamerly"}},
    "neighbours": {"k": 200, "d": 16, "n": 200_000, "args": {**FAST, "algorithm": "neighbours"}},
    "panels": {"k": 20, "d": 16, "n": 200_000, "args": {**FAST, "algorithm": "panels"}},
    "groups": {"k": 400, "d": 16, "n": 200_000, "args": {**FAST, "algorithm": "panels"}},
    "yinyang": {"k": 400, "d": 16, "n": 200_000, "args": {**FAST, "algorithm": "yinyang"}},
    "prefix": {"k": 100, "d": 256, "n": 60_000, "args": {**FAST, "algorithm": "prefix"}},
    "three runs": {"k": 100, "d": 32, "n": 100_000, "args": {**FAST, "n_init": 3, "max_iter": 8}},
    "k-means++": {"k": 20, "d": 128, "n": 100_000, "args": {"max_iter": 2}},
    "k-means||": {"k": 20, "d": 64, "n": 100_000, "args": {"max_iter": 2, "init": "k-means||"}},
    "mini-batch start": {
        "k": 20, "d": 64, "n": 100_000, "args": {"max_iter": 2, "init": "mini-batch"},
    },
    "random partition": {
        "k": 20, "d": 64, "n": 100_000,
        "args": {"max_iter": 2, "init": "random-partition", "n_init": 1},
    },
    "float64": {"k": 20, "d": 64, "n": 100_000, "dtype": "float64", "args": FAST},
    "uint8": {"k": 20, "d": 64, "n": 200_000, "dtype": "uint8", "args": {"max_iter": 4}},
    "float16": {"k": 20, "d": 64, "n": 100_000, "dtype": "float16", "args": FAST},
    "int64": {"k": 20, "d": 64, "n": 100_000, "dtype": "int64", "args": FAST},
    "bool": {"k": 20, "d": 64, "n": 100_000, "dtype": "bool", "args": FAST},
    "Fortran order": {"k": 20, "d": 64, "n": 100_000, "dtype": "Fortran", "args": FAST},
    "memmap": {"k": 20, "d": 64, "n": 100_000, "dtype": "memmap", "args": FAST},
    "pandas": {"k": 20, "d": 64, "n": 100_000, "dtype": "pandas", "args": FAST},
    "weights": {"k": 20, "d": 16, "n": 200_000, "weighted": True, "args": FAST},
    "repeated rows": {"k": 20, "d": 16, "n": 200_000, "different": 20_000, "args": FAST},
    "repeated, three runs": {
        "k": 20, "d": 16, "n": 200_000, "different": 20_000,
        "args": {"n_init": 3, "max_iter": 4},
    },
    "many centers": {"k": 1000, "d": 256, "n": 30_000, "args": {"max_iter": 2}},
    "MiniBatchKMeans": {
        "model": "MiniBatchKMeans", "k": 20, "d": 64, "n": 100_000,
        "args": {"max_no_improvement": None, "max_iter": 10},
    },
    "SphericalKMeans": {"model": "SphericalKMeans", "k": 20, "d": 64, "n": 100_000, "args": FAST},
}  # fmt: skip
N_THREADS = 2


def floor_bytes(case):
    """What every fit needs, as docs/design/engine.md states it."""
    n, k, d = case["n"], case["k"], case["d"]
    rows = n * (80 if case.get("weighted") else 32)
    centers = 160 * k * d
    return 4e6 + rows + centers + N_THREADS * (2e6 + 16 * k * d)


def measure(case, limit):
    """Peak in bytes above what was resident before the fit, and a digest of its result."""
    settings = {
        "MALLOC_MMAP_THRESHOLD_": "65536",  # so that memory goes back as soon as it is free
        "MALLOC_TRIM_THRESHOLD_": "65536",
        "MALLOC_TOP_PAD_": "0",
    }
    done = subprocess.run(
        [sys.executable, __file__, json.dumps({**case, "limit": limit})],
        env={**os.environ, **settings}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


# --- in the process of a case ---


def rows_of(case, n, folder):
    rng = np.random.default_rng(0)
    middles = rng.normal(scale=3, size=(50, case["d"]))
    rows = np.empty((n, case["d"]), np.float32)
    for i in range(0, n, 4096):
        m = min(n, i + 4096) - i
        rows[i : i + m] = middles[rng.integers(0, 50, m)] + rng.normal(size=(m, case["d"]))
    if "different" in case:
        rows = rows[rng.integers(0, min(n, case["different"]), n)]
    kind = case.get("dtype", "float32")
    if kind == "memmap":
        name = Path(folder) / f"{n}.npy"
        np.save(name, rows)
        rows = np.load(name, mmap_mode="r")
        rows.sum()  # so that it is resident
        return rows
    if kind == "pandas":
        import pandas as pd

        return pd.DataFrame(rows.astype(np.float64))
    if kind == "Fortran":
        return np.asfortranarray(rows, dtype=np.float64)
    if kind == "bool":
        return rows > 0
    return np.clip(rows * 8 + 128, 0, 255).astype(kind) if "int" in kind else rows.astype(kind)


def resident(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def run_case(case):
    import partita

    c_library = ctypes.CDLL(None)
    c_library.prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE: huge pages would round sizes up
    keywords = {"random_state": 0, "n_threads": N_THREADS, **case["args"]}
    make = getattr(partita, case.get("model", "KMeans"))
    with tempfile.TemporaryDirectory() as folder:
        warm = rows_of(case, max(3000, 2 * case["k"]), folder)
        for limit in (case["limit"], None):
            make(case["k"], memory_limit=limit, **keywords).fit(warm)
        del warm
        rows, weight = rows_of(case, case["n"], folder), None
        if case.get("weighted"):
            weight = np.random.default_rng(1).random(case["n"])
        model = make(case["k"], memory_limit=case["limit"], **keywords)
        c_library.malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        before = resident("VmRSS")
        model.fit(rows, sample_weight=weight)
        peak = resident("VmHWM") - before
    print(json.dumps({"peak": peak, "inertia": model.inertia_.hex()}))


def print_table():
    print("| case | X | what every fit needs | limit 0 | 4e6 | 16e6 | none |")
    print("|---|---|---|" + "---|" * len(LIMITS))
    for name, case in CASES.items():
        dtype = case.get("dtype", "float32")
        size = {"uint8": 1, "bool": 1, "float16": 2, "float32": 4, "memmap": 4}.get(dtype, 8)
        peaks = [f"{measure(case, limit)['peak'] / 1e6:.0f} |" for limit in LIMITS]
        row = f"| {name.replace('|', chr(92) + '|')} | {case['n'] * case['d'] * size / 1e6:.0f} |"
        print(row, f"{floor_bytes(case) / 1e6:.0f} |", *peaks, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print_table() if len(sys.argv) == 1 else run_case(json.loads(sys.argv[1]))

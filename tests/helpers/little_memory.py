"""Fits in forked processes whose address space ends soon: how each of them ended.

python tests/helpers/little_memory.py '{"case": "plain", "threads": 8, "megabytes": [1, 10]}'
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np

FAST = {"init": "random", "n_init": 1, "max_iter": 5}
CASES = {
    "plain": {"k": 20, "d": 16, "n": 60_000, "args": {**FAST, "algorithm": "plain"}},
    "blocks": {"k": 20, "d": 3, "n": 150_000, "args": {**FAST, "algorithm": "blocks"}},
    "hamerly": {"k": 20, "d": 16, "n": 60_000, "args": {**FAST, "algorithm": "hamerly"}},
    "panels": {"k": 20, "d": 16, "n": 60_000, "args": {**FAST, "algorithm": "panels"}},
    "yinyang": {"k": 200, "d": 16, "n": 60_000, "args": {**FAST, "algorithm": "yinyang"}},
    "prefix": {"k": 80, "d": 96, "n": 20_000, "args": {**FAST, "algorithm": "prefix"}},
    "k-means++": {"k": 50, "d": 32, "n": 60_000, "args": {"max_iter": 3}},
    "k-means||": {"k": 20, "d": 16, "n": 60_000, "args": {"init": "k-means||", "max_iter": 3}},
    "mini-batch": {"k": 20, "d": 16, "n": 60_000, "args": {"init": "mini-batch", "max_iter": 3}},
    "uint8": {"k": 20, "d": 64, "n": 60_000, "dtype": "uint8", "args": {"max_iter": 3}},
    "sparse": {"k": 20, "d": 32, "n": 60_000, "dtype": "sparse", "args": {"max_iter": 3}},
    "MiniBatchKMeans": {"k": 20, "d": 16, "n": 60_000, "args": {}},
    "SphericalKMeans": {"k": 20, "d": 16, "n": 60_000, "args": {"max_iter": 3}},
    "KMedoids": {"k": 5, "d": 16, "n": 3000, "args": {"max_iter": 3}},
    "KernelKMeans": {"k": 5, "d": 16, "n": 2000, "args": {"max_iter": 3}},
}
SECONDS = 300  # after which a fit is ended: it hangs


def endings(case, threads, megabytes):
    """How fits ended that had so much more address space than before: "same" is a whole fit."""
    arguments = json.dumps({"case": case, "threads": threads, "megabytes": list(megabytes)})
    # so that memory that is free is no longer part of the address space
    settings = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run(
        [sys.executable, __file__, arguments], env={**os.environ, **settings}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


# --- in the process of a case ---


def rows_of(case):
    rng = np.random.default_rng(0)
    middles = rng.normal(scale=3, size=(40, case["d"]))
    rows = middles[rng.integers(0, 40, case["n"])] + rng.normal(size=(case["n"], case["d"]))
    if case.get("dtype") == "sparse":
        import scipy.sparse as sp

        return sp.csr_array(np.where(np.abs(rows) > 2, rows, 0))
    if case.get("dtype") == "uint8":
        return np.clip(rows * 8 + 128, 0, 255).astype(np.uint8)
    return rows.astype(np.float32)


def fit(name, threads, rows, k):
    import partita

    make = getattr(partita, name, partita.KMeans)
    model = make(k, random_state=0, n_threads=threads, **CASES[name]["args"]).fit(rows)
    return hashlib.sha256(model.labels_.tobytes() + model.inertia_.hex().encode()).hexdigest()


def limit_address_space(megabytes):
    unlimited = resource.RLIM_INFINITY
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + int(megabytes * 1e6)
    resource.setrlimit(resource.RLIMIT_AS, (unlimited if megabytes < 0 else size, unlimited))


def limited(work, expected, megabytes):
    """How a fit ends, and whether the process is usable afterwards."""
    limit_address_space(megabytes)
    try:
        text = "same" if work() == expected else "other bits"
    except MemoryError as error:
        text = f"MemoryError: {error}"
    except BaseException:
        limit_address_space(-1)
        text = traceback.format_exc()
    limit_address_space(-1)
    return text if work() == expected else "other bits afterwards"


def forked(work):
    """The text that `work` returns in a forked process, or its exit code."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.write(write, work().encode()[:4000])
        os._exit(0)
    os.close(write)
    _, status = os.waitpid(child, 0)
    with os.fdopen(read) as file:
        said = file.read()
    code = os.waitstatus_to_exitcode(status)
    return said if code == 0 else f"exit code {code} {said}"


def run_case(name, threads, megabytes):
    case = CASES[name]
    rows, k = rows_of(case), case["k"]
    fit(name, 1, rows[:400], min(k, 60))  # loads the modules

    def work():
        return fit(name, threads, rows, k)

    expected = forked(work)
    endings = [forked(lambda more=more: limited(work, expected, more)) for more in megabytes]
    print(json.dumps(endings))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    given = json.loads(sys.argv[1])
    run_case(given["case"], given["threads"], given["megabytes"])

"""What the fuzzers share: bits of fits, and the same fits in processes with other instructions.

A module of cases has a function `fits(seed)` that yields (name, fitted model or error) of one
random case. As a script, `python fuzzing.py MODULE FIRST LAST` prints the digests of its fits.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

ATTRIBUTES = (
    "cluster_centers_", "labels_", "inertia_", "n_iter_", "start_", "medoid_indices_",
    "objective_interval_", "diagonal_shift_",
)  # fmt: skip


def digest(*values):
    """A short text of the bits of arrays and numbers, their types and shapes."""
    state = hashlib.blake2b(digest_size=8)
    for value in values:
        parts = [value]
        if hasattr(value, "indptr"):
            parts = [value.indptr.astype(np.int64), value.indices.astype(np.int64), value.data]
        for part in map(np.asarray, parts):
            state.update(f"{part.dtype}{part.shape}".encode())
            state.update(str(part).encode() if part.dtype.kind == "O" else part.tobytes())
    return state.hexdigest()


def model_digest(model, *more):
    """The bits of all that a model learned, and of more values."""
    if isinstance(model, Exception):
        return f"{type(model).__name__}: {model}"
    learned = [
        getattr(model, name) for name in ATTRIBUTES if getattr(model, name, None) is not None
    ]
    costs = [(step.cost, step.cost_after, step.shift) for step in getattr(model, "trace_", ())]
    stats = getattr(model, "stats_", None)
    sums = () if stats is None else (stats.weight, stats.mean, stats.sse)
    return digest(*learned, *sums, np.array(costs), *more)


def attempt(function, *errors):
    """The result of a call, or the error if it is one of these."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function()
        except errors as error:
            return error


def case_digests(module, seeds):
    """{"seed name": digest} of the fits of a module of cases."""
    fits = importlib.import_module(module).fits
    return {
        f"{seed} {name}": model_digest(model, *more)
        for seed in seeds
        for name, model, *more in fits(seed)
    }


def old_cpu():
    """The environment of an older CPU: the instructions that NumPy and OpenBLAS find."""
    core = getattr(np, "_core", None) or np.core
    umath = core._multiarray_umath
    found = [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)]
    disabled = {"NPY_DISABLE_CPU_FEATURES": " ".join(found)} if found else {}
    return {**disabled, "OPENBLAS_CORETYPE": "Nehalem"}


def case_digests_elsewhere(module, seeds, environment):
    """`case_digests` of another process with some environment variables; seeds is a range."""
    command = [sys.executable, __file__, module, str(seeds.start), str(seeds.stop)]
    folder = str(Path(__file__).parent.parent)
    path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return dict(line.rsplit("\t", 1) for line in done.stdout.splitlines())


def differences(ours, theirs):
    """Names of the cases that differ."""
    assert len(ours) == len(theirs) > 0
    return [name for name in ours if ours[name] != theirs.get(name)]


if __name__ == "__main__":
    for case, bits in case_digests(sys.argv[1], range(*map(int, sys.argv[2:4]))).items():
        print(case.replace("\n", " "), bits.replace("\n", " "), sep="\t")

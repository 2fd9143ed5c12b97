"""Call a function as on another machine: an older processor, another BLAS, no compiled core.

NumPy, SciPy and BLAS choose code by the processor when they are loaded, so this takes a process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

TESTS = Path(__file__).parents[1]


def _dispatched_features() -> str:
    """The instructions beyond the oldest processor that NumPy would use here."""
    core = np._core if hasattr(np, "_core") else np.core
    known = core._multiarray_umath
    return " ".join(name for name in known.__cpu_dispatch__ if known.__cpu_features__[name])


MACHINES = {
    "older processor": {
        "NPY_DISABLE_CPU_FEATURES": _dispatched_features(),
        "OPENBLAS_CORETYPE": "Prescott",
        "PARTITA_KERNEL": "portable",
    },
    "no compiled core": {"OPENBLAS_CORETYPE": "Nehalem", "PARTITA_KERNEL": "numpy"},
}


def text_on(machine: str, function: Callable[..., str], *arguments: str | int) -> str:
    """What a function of a module in `helpers` returns there."""
    code = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from {function.__module__} import {function.__name__} as call
sys.stdout.write(call(*{arguments!r}))
"""
    environment = {**os.environ, **MACHINES[machine]}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

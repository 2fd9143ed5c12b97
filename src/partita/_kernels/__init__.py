"""The kernels in use: the compiled core, or its NumPy twin where the core is absent.

`PARTITA_KERNEL` names an instruction set ("avx512", "avx2", "portable") or "numpy"; it is read
once, when the kernels are first needed.
"""

from __future__ import annotations

import importlib
import os
import warnings
from types import ModuleType

from partita._kernels import reference

VARIABLE = "PARTITA_KERNEL"


def _load() -> ModuleType:
    wanted = os.environ.get(VARIABLE, "")
    if wanted == "numpy":
        return reference
    try:
        core = importlib.import_module("partita._kernels.core")
    except ImportError as error:
        warnings.warn(
            f"partita's compiled core could not be loaded ({error}); the NumPy kernels are used "
            "instead: the same results, many times slower. Reinstall partita with a C++ compiler "
            "to get it.",
            RuntimeWarning,
            stacklevel=2,
        )
        return reference
    if wanted:
        core.use_instruction_set(wanted)
    return core


kernels: ModuleType = _load()


def compiled() -> bool:
    """Whether the compiled core is in use."""
    return kernels is not reference

"""The kernels in use: the compiled core, or the NumPy kernels without it.

`PARTITA_KERNEL` selects an instruction set ("avx512", "avx2", "portable") or "numpy". It is read
once, when this package is first imported.
"""

from __future__ import annotations

import importlib
import os
import warnings
from types import ModuleType

VARIABLE = "PARTITA_KERNEL"
_CORE, _TWINS = "partita._kernels.core", "partita._kernels.reference"


def _load() -> ModuleType:
    wanted = os.environ.get(VARIABLE, "")
    if wanted == "numpy":
        return importlib.import_module(_TWINS)
    try:
        core = importlib.import_module(_CORE)
    except ImportError as error:
        warnings.warn(
            f"partita's compiled core could not be loaded ({error}). The NumPy kernels are used "
            "instead: same results, but many times slower. Reinstall partita with a C++ compiler.",
            RuntimeWarning,
            stacklevel=2,
        )
        return importlib.import_module(_TWINS)
    if wanted:
        core.use_instruction_set(wanted)
    return core


kernels: ModuleType = _load()


def compiled() -> bool:
    """Return True if the compiled core is in use."""
    return kernels.__name__ == _CORE

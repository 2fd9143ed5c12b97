"""`show_versions`: text for a bug report."""

from __future__ import annotations

import functools
import platform
from importlib.metadata import PackageNotFoundError, version


def versions() -> dict[str, str]:
    """Return the versions of everything that a result may depend on."""
    import partita
    from partita._common.threads import default_threads
    from partita._kernels import VARIABLE, compiled, kernels

    packages = ("numpy", "scipy", "scikit-learn", "narwhals", "pandas", "polars", "pyarrow")
    facts = {"partita": partita.__version__, "python": platform.python_version()}
    facts |= {package: _package_version(package) for package in packages}
    facts["machine"] = f"{platform.system()} {platform.machine()}"
    facts["kernel"] = kernels.instruction_set() + ("" if compiled() else " (no compiled core)")
    facts["kernels here"] = ", ".join(kernels.instruction_sets()) + f" (choose by {VARIABLE})"
    facts["threads"] = str(default_threads())
    return facts


@functools.cache  # its metadata takes a hundred times as long to read as a small model to save
def _package_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def show_versions() -> None:
    """Print the versions, the instruction set and kernel in use, and the number of threads."""
    for name, value in versions().items():
        print(f"{name:>14}: {value}")

"""Packages that are not required: imported where used, with an error that says what to do."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import Any


def require(name: str, purpose: str, extra: str | None = None) -> ModuleType:
    """Import an optional package, or a part of one, or say which command installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        what = package if extra is None else f"'partita[{extra}]'"
        raise ImportError(f"{purpose} needs {package}: pip install {what}") from error


def dataframe(columns: dict[str, list[Any]], library: str | None = None) -> Any:
    """A frame of the named library, or of the first one installed: pandas, polars, pyarrow."""
    known = ("pandas", "polars", "pyarrow")
    if library is not None and library not in known:
        raise ValueError(f"library={library!r} was given; one of {', '.join(known)} is expected")
    installed = [name for name in known if importlib.util.find_spec(name)]
    name = library or (installed[0] if installed else "pandas")
    module = require(name, "a dataframe")
    return module.table(columns) if name == "pyarrow" else module.DataFrame(columns)

"""Optional packages: imported where used, with an error that names the command to install them."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import Any

from partita._common.parameters import check, choice, optional


def require(name: str, purpose: str, extra: str | None = None) -> ModuleType:
    """Import an optional package or module; the error names the command that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        wanted = package if extra is None else f"'partita[{extra}]'"
        raise ImportError(f"{purpose} needs {package}: pip install {wanted}") from error


def dataframe(columns: dict[str, list[Any]], library: str | None = None) -> Any:
    """Return a frame of `library`, or of the first one installed: pandas, polars, pyarrow."""
    known = ("pandas", "polars", "pyarrow")
    check("library", library, optional(choice(*known)))
    installed = [name for name in known if importlib.util.find_spec(name)]
    name = library or (installed[0] if installed else "pandas")
    module = require(name, "a dataframe")
    return module.table(columns) if name == "pyarrow" else module.DataFrame(columns)

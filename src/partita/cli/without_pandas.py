"""A process without pandas: pyarrow would import it, to test values for its types."""

from __future__ import annotations

import sys
from typing import Any

PACKAGE = "pandas"


class PandasRefuser:
    """Answers an import of pandas as if it were not installed: no command needs it.

    Importing it takes as long as everything else that labels a small file.
    """

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """Raise for pandas; leave all other modules to the usual finders."""
        if fullname == PACKAGE:
            raise ModuleNotFoundError(f"{PACKAGE} is not used here", name=PACKAGE)


def refuse_pandas() -> None:
    """Refuse later imports of pandas in this process."""
    sys.meta_path.insert(0, PandasRefuser())

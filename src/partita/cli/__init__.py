"""The command line: parse, call, show. What is computed is computed below.

Nothing heavy is imported before a command runs: `partita --help` answers at once.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def main() -> None:
    """Run the command line: the console script `partita`, and `python -m partita`."""
    from partita._optional import require

    try:
        require("typer", "the command line", "cli")
    except ImportError as error:
        raise SystemExit(f"Error: {error}") from None
    from partita.cli.commands import app
    from partita.cli.running import INTERRUPTED

    try:
        app(prog_name="partita")
    except SystemExit as end:
        if end.code == INTERRUPTED:
            # an interrupt amid an import would make Python end by the signal, not by the code
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        raise


def __getattr__(name: str) -> Any:
    if name == "app":
        from partita.cli.commands import app

        return app
    raise AttributeError(f"module 'partita.cli' has no attribute {name!r}")

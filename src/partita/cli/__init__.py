"""The command line: it parses options, calls the library and prints results.

Nothing heavy is imported before a command runs, so `partita --help` is fast.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line: the console script `partita`, and `python -m partita`."""
    code = 130
    try:
        _prepare_streams()
        code = _run()
    except KeyboardInterrupt:  # during an import, before a command could handle it
        print("Interrupted: nothing was saved", file=sys.stderr)
    if code == 130:
        # after an interrupted import, Python would end by the signal instead of the code
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise SystemExit(code)


def _run() -> int:
    from partita._common.optional_imports import require

    try:
        require("typer", "the command line", "cli")
    except ImportError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    from partita.cli.command_group import app

    try:
        app(prog_name="partita")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _prepare_streams() -> None:
    """Open closed streams as empty ones; print "?" for characters that a terminal lacks."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, open until exit
        elif mode == "w" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")

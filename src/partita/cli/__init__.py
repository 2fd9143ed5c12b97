"""The command line: it parses options, calls the library and prints results.

Nothing heavy is imported before a command runs, so `partita --help` is fast.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from typing import Any

GARBAGE_THRESHOLD = 50_000  # objects; most of those made at the start are modules, which stay
FIRST_SIGNAL_EXIT = 128  # plus the number of a signal: the exit code of what it ended


def main() -> None:
    """Run the command line: the console script `partita`, and `python -m partita`."""
    code = FIRST_SIGNAL_EXIT + signal.SIGINT
    gc.set_threshold(GARBAGE_THRESHOLD)
    try:
        _prepare_streams()
        _end_cleanly_by_signals()
        code = _run()
    except KeyboardInterrupt:  # during an import, before a command could handle it
        print("Interrupted: nothing was saved", file=sys.stderr)
    if code >= FIRST_SIGNAL_EXIT:
        # Python would flush stdout, whose reader may be gone, or repeat an interrupted import
        if code == FIRST_SIGNAL_EXIT + signal.SIGINT:
            with suppress(OSError):
                sys.stdout.flush()
        os._exit(code)
    gc.freeze()  # looking for garbage at the end takes a tenth of a short command
    raise SystemExit(code)


def _run() -> int:
    from partita._common.optional_imports import require

    try:
        require("typer", "the command line", "cli")
    except ImportError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    from partita.cli.command_group import app
    from partita.cli.without_pandas import refuse_pandas

    refuse_pandas()
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


def _end_cleanly_by_signals() -> None:
    """Let SIGTERM and SIGHUP raise SystemExit, so that temporary files are removed."""

    def terminate(number: int, frame: Any) -> None:
        signal.signal(number, signal.SIG_DFL)  # a second one ends the process at once
        raise SystemExit(FIRST_SIGNAL_EXIT + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:  # not under nohup
            signal.signal(number, terminate)

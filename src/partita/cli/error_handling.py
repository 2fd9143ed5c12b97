"""The end of a command: exit codes, errors as messages, collected warnings."""

from __future__ import annotations

import functools
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from partita._common.errors import Setting, WordedError

EXIT_BUG, EXIT_USAGE, EXIT_DATA, EXIT_NOT_CONVERGED, EXIT_INTERRUPTED = 1, 2, 3, 4, 130
EXIT_STDOUT_CLOSED = 141  # 128 + SIGPIPE, as a shell reports it
OPTION_NAMES = {"n_clusters": "k", "random_state": "seed"}  # where they differ from the parameter
ARGUMENTS_KEY = "partita.arguments"  # of the context's meta: the arguments as typed


class Interrupted(Exception):
    """Ctrl-C; the message lists the files that were saved."""


def handle_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turn the errors of a command into a message on stderr and an exit code."""

    @functools.wraps(command)
    def run(debug: bool, **values: Any) -> None:
        try:
            command(**values)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except BrokenPipeError:
            # Python flushes stdout when it exits; that must not fail again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(EXIT_STDOUT_CLOSED) from None
        except (Exception, KeyboardInterrupt) as error:
            if debug:
                raise
            code, text = _exit_of(error)
            typer.echo(_printable(text), err=True)
            raise typer.Exit(code) from None

    return run


def option_text(setting: Setting) -> str:
    """Word a setting as it is typed here: `--k 3` for n_clusters=3."""
    name = OPTION_NAMES.get(setting.parameter, setting.parameter)
    return Setting(name, setting.value).as_option()


def _printable(text: str) -> str:
    """Replace characters that a terminal would interpret."""
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text)


def _exit_of(error: BaseException) -> tuple[int, str]:
    """Return the exit code for an error, and its message."""
    text = error.worded(option_text) if isinstance(error, WordedError) else str(error)
    match error:
        case Interrupted():
            return EXIT_INTERRUPTED, f"Interrupted: {text}"
        case KeyboardInterrupt():
            return EXIT_INTERRUPTED, "Interrupted: nothing was saved"
        case FileExistsError() | ImportError():
            return EXIT_USAGE, f"Error: {text}"
        case MemoryError():
            return EXIT_DATA, "Error: not enough memory. Use fewer rows or columns."
        case OSError():
            path = f"{error.filename}: " if error.filename is not None else ""
            return EXIT_DATA, f"Error: {path}{error.strerror or text}"
        case ValueError():
            return EXIT_DATA, f"Error: {text}"
    name = type(error).__name__
    return EXIT_BUG, f"Error: {name}: {text}\nThis is a bug in partita; --debug shows a traceback."


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect the messages of warnings, each once."""
    messages: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")

        def collect(message: Any, *_: Any, **__: Any) -> None:
            if str(message) not in messages:
                messages.append(str(message))

        warnings.showwarning = collect
        yield messages


def typed_command(ctx: Any) -> str:
    """Return the command line as typed, quoted for a shell."""
    words = ctx.meta.get(ARGUMENTS_KEY) or (ctx.info_name or "",)
    return shlex.join(["partita", *words])

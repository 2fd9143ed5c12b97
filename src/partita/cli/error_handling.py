"""How a command runs: exit codes, errors in words, warnings, and what was typed."""

from __future__ import annotations

import functools
import os
import shlex
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import typer

from partita._common.errors import WordedError
from partita.cli.option_text import option_text

USAGE, DATA, NOT_CONVERGED, INTERRUPTED, BUG = 2, 3, 4, 130, 1
PIPE = 141  # who read our output went away: as a shell would say it
ARGUMENTS = "partita.arguments"  # where the context keeps what was typed

Command = TypeVar("Command", bound=Callable[..., Any])


class Interrupted(Exception):
    """Ctrl-C; the text says what was saved."""


def guarded(command: Command) -> Command:
    """A command whose errors are sentences on stderr and exit codes, not tracebacks."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except BrokenPipeError:
            # nothing more can be said there, also not when Python flushes at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE) from None
        except (Exception, KeyboardInterrupt) as error:
            if kwargs.get("debug"):
                raise
            code, text = _verdict(error)
            typer.echo(_printable(text), err=True)
            raise typer.Exit(code) from None

    return run  # type: ignore[return-value]


def _printable(text: str) -> str:
    """Replace characters that a terminal would obey."""
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text)


def _verdict(error: BaseException) -> tuple[int, str]:
    if isinstance(error, Interrupted):
        return INTERRUPTED, f"Interrupted: {error}"
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "Interrupted: nothing was saved"
    if isinstance(error, (FileExistsError, ImportError)):
        return USAGE, f"Error: {_message(error)}"
    if isinstance(error, MemoryError):
        return DATA, "Error: there is not enough memory for this; take fewer rows or columns"
    if isinstance(error, OSError):
        text = error.strerror or _message(error)
        name = f"{error.filename}: " if error.filename is not None else ""
        return DATA, f"Error: {name}{text}"
    if isinstance(error, ValueError):
        return DATA, f"Error: {_message(error)}"
    kind = type(error).__name__
    return BUG, f"Error: {kind}: {error}\nThis is a bug of partita; --debug shows where it arose."


def _message(error: BaseException) -> str:
    """The text of an error, with settings worded as options."""
    return error.worded(option_text) if isinstance(error, WordedError) else str(error)


@contextmanager
def heard_warnings() -> Iterator[list[str]]:
    """Collect the texts of warnings, each once."""
    texts: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")

        def hear(message: Any, *_: Any, **__: Any) -> None:
            if str(message) not in texts:
                texts.append(str(message))

        warnings.showwarning = hear
        yield texts


def command_line(ctx: Any) -> str:
    """What was typed, so that a shell understands it."""
    words = ctx.meta.get(ARGUMENTS) or (ctx.info_name or "",)
    return shlex.join(["partita", *words])


def check_outputs(
    labels: Any = None,
    model: Any = None,
    report: Any = None,
    *,
    others: Any = (),
    data: Any = (),
    used: Any = (),
    force: bool,
) -> None:
    """Say before the work, not after it, that a file cannot be written.

    Labels may replace the data, of which they are a copy; nothing may replace what else is used.
    """
    for name, path in (("--model", model), ("the report", report)):
        if path is not None and os.fspath(path) == "-":
            raise typer.BadParameter(f"{name} is a file; '-' is for --labels alone")
    if report is not None and not os.fspath(report).lower().endswith((".html", ".htm")):
        raise typer.BadParameter(f"the report {report} is HTML; give it a name that ends in .html")
    if labels is not None and labels != "-":
        _check_format(labels)
    if "" in (labels, *(os.fspath(path) for path in (model, report) if path is not None)):
        raise typer.BadParameter("the name of an output is empty")
    inputs = {os.path.realpath(path) for path in used}
    copied = {os.path.realpath(path) for path in data}
    for path in (labels, model, report, *others):
        read = inputs if path is labels else inputs | copied
        if path is not None and os.path.realpath(path) in read:
            raise typer.BadParameter(f"{path} is read by this command; give the output a name")
    given = [os.fspath(path) for path in (labels, model, report, *others) if path is not None]
    files = [path for path in given if path != "-" and not _is_device(path)]
    places = [os.path.realpath(path) for path in files]
    twice = next((path for path in files if places.count(os.path.realpath(path)) > 1), None)
    if twice is not None:
        raise typer.BadParameter(f"{twice} would be written twice; give every output a name")
    for path in files:
        _check_file(path, force)


def _check_format(labels: str) -> None:
    from partita.tables.compression import without_compression_suffix
    from partita.tables.file_formats import FORMAT_OF_SUFFIX

    end = without_compression_suffix(labels).suffix.lower()
    if end and end not in FORMAT_OF_SUFFIX:
        raise typer.BadParameter(
            f"--labels {labels}: files that end in {end} are not written; one of "
            f"{', '.join(FORMAT_OF_SUFFIX)} is expected"
        )


def _check_file(path: str, force: bool) -> None:
    from partita.tables import check_new

    check_new(path, force=force)
    folder = os.path.dirname(os.path.realpath(path))
    if not os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(f"{path} cannot be written: no permission for the folder {folder}")


def _is_device(path: str) -> bool:
    """Whether this is a pipe, a terminal or the like: what is not replaced, but written to."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)

"""How a command runs: exit codes, errors in words, warnings, and what was typed."""

from __future__ import annotations

import functools
import os
import shlex
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import typer

USAGE, DATA, NOT_CONVERGED, INTERRUPTED, BUG = 2, 3, 4, 130, 1
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
        except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
            raise
        except (Exception, KeyboardInterrupt) as error:
            if kwargs.get("debug"):
                raise
            code, text = _verdict(error)
            typer.echo(text, err=True)
            raise typer.Exit(code) from None

    return run  # type: ignore[return-value]


def _verdict(error: BaseException) -> tuple[int, str]:
    if isinstance(error, Interrupted):
        return INTERRUPTED, f"Interrupted: {error}"
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "Interrupted: nothing was saved"
    if isinstance(error, FileExistsError):
        text = str(error).replace("or force it", "or --force")
        return USAGE, f"Error: {text}"
    if isinstance(error, ImportError):
        return USAGE, f"Error: {error}"
    if isinstance(error, MemoryError):
        return DATA, "Error: there is not enough memory for this; take fewer rows or columns"
    if isinstance(error, OSError):
        text = error.strerror or str(error)
        name = f"{error.filename}: " if error.filename is not None else ""
        return DATA, f"Error: {name}{text}"
    if isinstance(error, ValueError):
        return DATA, f"Error: {error}"
    kind = type(error).__name__
    return BUG, f"Error: {kind}: {error}\nThis is a bug of partita; --debug shows where it arose."


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


def check_outputs(*paths: Any, force: bool) -> None:
    """Say before the work, not after it, that a file cannot be written."""
    from partita.tables import check_new

    given = [os.fspath(path) for path in paths if path is not None and os.fspath(path) != "-"]
    twice = next((path for path in given if given.count(path) > 1), None)
    if twice is not None:
        raise typer.BadParameter(f"{twice} would be written twice; give every output a name")
    for path in given:
        check_new(path, force=force)
        folder = os.path.dirname(os.path.abspath(path))
        if not os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise PermissionError(
                f"{path} cannot be written: no permission for the folder {folder}"
            )

"""The end of a command: exit codes, errors as messages, collected warnings."""

from __future__ import annotations

import functools
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer

from partita._common.errors import Setting, WordedError
from partita.cli.console import print_message

EXIT_BUG, EXIT_USAGE, EXIT_DATA, EXIT_NOT_CONVERGED, EXIT_INTERRUPTED = 1, 2, 3, 4, 130
EXIT_STDOUT_CLOSED = 141  # 128 + SIGPIPE, as a shell reports it
# where they differ from the parameter
OPTION_NAMES = {"n_clusters": "k", "random_state": "seed", "n_threads": "threads"}
PARAMETERS_WITH_OPTION = (
    *OPTION_NAMES, "encoding", "delimiter", "decimal", "thousands", "na", "skip_rows", "sheet",
    "missing", "max_iter", "n_init", "kernel", "gamma", "n_neighbors", "metric", "zero_rows",
    "halt", "checkpoint", "resume", "memory_limit", "quality", "time_budget",
    "size_min", "size_max",
)  # fmt: skip
SIZES = ("size_min", "size_max")  # limits that errors name together
ARGUMENTS_KEY = "partita.arguments"  # of the context's meta: the arguments as typed


class Interrupted(Exception):
    """Ctrl-C; the message lists the files that were saved."""


def handle_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turn the errors of a command into a message on stderr and an exit code."""

    @functools.wraps(command)
    def run(debug: bool, **values: Any) -> None:
        try:
            command(**values)
        except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
            raise
        except (Exception, KeyboardInterrupt) as error:
            if debug:
                raise
            code, text = exit_of(error)
            print_message(text)
            raise typer.Exit(code) from None

    return run


def exit_code_of(run: Callable[[], Any]) -> int:
    """Run typer's part of a command line, and return its exit code.

    Usage errors are printed as all others are. A reader that closed stdout, as `head` does, ends
    the command without a message, wherever the output was written.
    """
    try:
        return _exit_code_of(run)
    except SystemExit as end:  # of typer and of rich, if a stream is closed
        if not _is_stream_closed(end):
            raise
    except BrokenPipeError:
        pass
    _discard_stdout()
    return EXIT_STDOUT_CLOSED


def _exit_code_of(run: Callable[[], Any]) -> int:
    try:
        code = run() or 0
        sys.stdout.flush()
        return int(code)
    except BrokenPipeError:
        raise
    except OSError as error:  # stdout goes to a disk that is full
        _discard_stdout()
        code, text = exit_of(error)
        print_message(text)
        return code
    except Exception as error:
        # typer has the base class of its usage errors at another place in each version
        if not hasattr(error, "format_message"):
            raise
        _print_usage_error(error)
        return EXIT_USAGE


def _is_stream_closed(end: BaseException) -> bool:
    error: BaseException | None = end
    while error is not None and not isinstance(error, BrokenPipeError):
        error = error.__context__
    return error is not None


def _discard_stdout() -> None:
    """Let Python's last flush of stdout not fail again."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_usage_error(error: Any) -> None:
    if type(error).__name__ == "NoArgsIsHelpError":  # the help is printed
        return
    context = getattr(error, "ctx", None)
    print_message(f"Error: {error.format_message().removeprefix('Invalid value: ')}")
    if context is not None:
        print_message(f"Try '{context.command_path} --help'.")


def option_text(setting: Setting) -> str:
    """Word a setting as it is typed here: `--k 3` for n_clusters=3."""
    name = OPTION_NAMES.get(setting.parameter, setting.parameter)
    return Setting(name, setting.value).as_option()


def _with_option(text: str, parameter: str | None) -> str:
    """Call the parameter at fault by its option: `--encoding must be …`."""
    if parameter not in PARAMETERS_WITH_OPTION:
        return text
    text = text.replace(f"`{parameter}`", option_text(Setting(parameter, True)))
    return _with_sizes(text) if parameter in SIZES else text


def _with_sizes(text: str) -> str:
    """Word the other limits, the number of groups and that of rows as they are typed here."""
    text = re.sub(r"\bn_samples=(\d+)", r"\1 rows", text)
    text = re.sub(r"\bn_clusters=(\d+)", r"--k \1", text)
    for parameter in (*SIZES, "n_clusters"):
        text = re.sub(rf"\b{parameter}\b", option_text(Setting(parameter, True)), text)
    return text


def error_text(error: BaseException) -> str:
    """Word an error for this command line."""
    match error:
        case WordedError():
            return _with_option(error.worded(option_text), error.parameter)
        case MemoryError():
            return "not enough memory. Use fewer rows or columns."
        case OSError() if error.strerror:
            path = "" if error.filename is None else f"{error.filename}: "
            return f"{path}{error.strerror}"
    return str(error)


def exit_of(error: BaseException) -> tuple[int, str]:
    """Return the exit code for an error, and its message."""
    text = error_text(error)
    match error:
        case Interrupted():
            return EXIT_INTERRUPTED, f"Interrupted: {text}"
        case KeyboardInterrupt():
            return EXIT_INTERRUPTED, "Interrupted: nothing was saved"
        case FileExistsError() | ImportError():
            return EXIT_USAGE, f"Error: {text}"
        case MemoryError() | OSError() | ValueError():
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

"""Text for people, on stdout or stderr: wrapped between words, wide characters counted."""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TYPE_CHECKING

import typer

from partita._common.text import one_sentence

if TYPE_CHECKING:
    from rich.console import Console

MIN_WIDTH = 20  # characters of a line
NO_BREAK = "\xa0"  # a space at which no line ends
FILLER = "\x00"  # stands for the second cell of a wide character; no text for people has it
MAX_MESSAGE = 2000  # characters of an error: names in it may come from a file of any size


def console(*, stderr: bool = False) -> Console:
    """Return a console on which data is never read as markup."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def wrapped(text: str, width: int, indent: int = 0, hang: int = 2) -> list[str]:
    """Split a paragraph into lines; those after the first are indented by `hang` more.

    The cells of wide characters count. A word longer than the width has a line of its own: it may
    be a path to copy. Lines do not end at NO_BREAK, which is returned as a space.

    >>> wrapped("Note: see /a/long/path/to/a.csv", 20)
    ['Note: see', '  /a/long/path/to/a.csv']
    """
    from rich.cells import cell_len

    lines = textwrap.wrap(
        "".join(letter + FILLER * (cell_len(letter) - 1) for letter in text),
        max(MIN_WIDTH, width),
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hang),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(FILLER, "").replace(NO_BREAK, " ") for line in lines]


def print_message(text: str) -> None:
    """Print a note or an error on stderr: wrapped on a terminal, one line each elsewhere."""
    for paragraph in text.splitlines():
        line = one_sentence(paragraph, MAX_MESSAGE)
        width = _stderr_width()
        lines = [line] if width is None else wrapped(line, width)
        typer.echo("\n".join(lines), err=True)


def _stderr_width() -> int | None:
    """Return the width of the terminal that stderr is; None if it is none."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or None
    except (OSError, ValueError, AttributeError):
        return None

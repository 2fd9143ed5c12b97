"""Paragraphs in a terminal: wrapped between words, wide characters counted, any encoding."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.console import Console

from partita.cli.console import wrapped

NO_BREAK = "\xa0"  # a space at which no line ends
WHOLE = re.compile(r".+")  # a text in which no line ends
# substitutes of characters that only some encodings have
IN_ANY_ENCODING = str.maketrans({"−": "-", "–": "-", "→": "->", "±": "+/-"})
FILLER = "\x00"  # stands for the second cell of a wide character; no text for people has it


def unbroken(text: str, parts: re.Pattern[str]) -> str:
    """Return text in which no line ends inside such parts."""
    return parts.sub(lambda part: part[0].replace(" ", NO_BREAK), text)


def join_within(items: list[str], width: int, title: str = "") -> str:
    """Join items with commas, after a title, in lines that break only between items."""
    words = [title, *(f"{item}," for item in items[:-1]), *items[-1:]]
    text = " ".join(unbroken(word, WHOLE) for word in words if word)
    return "\n".join(wrapped_cells(text, width, hang=0))


def encodable(text: str, out: Console) -> str:
    """Return text with ordinary spaces in numbers, in characters that the stream can encode."""
    text = text.replace("\u202f", NO_BREAK)
    return text if out.encoding.startswith("utf") else text.translate(IN_ANY_ENCODING)


def wrapped_cells(text: str, width: int, indent: int = 0, hang: int = 2) -> list[str]:
    """Split a paragraph as `wrapped` does, but count the cells of wide characters.

    Lines do not end at NO_BREAK, which is printed as a space.
    """
    counted = "".join(letter + FILLER * (cell_len(letter) - 1) for letter in text)
    lines = wrapped(counted, width, indent, hang)
    return [line.replace(FILLER, "").replace(NO_BREAK, " ") for line in lines]


def print_item(out: Console, text: str, indent: int, style: str = "", hang: int = 2) -> None:
    """Print a paragraph; lines after the first are indented by `hang` more."""
    for line in wrapped_cells(encodable(text, out), out.width, indent, hang):
        out.print(line, style=style, soft_wrap=True)

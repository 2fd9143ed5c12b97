"""Paragraphs in a terminal: wrapped between words, parts kept whole, any encoding."""

from __future__ import annotations

import re

from rich.console import Console

from partita.cli.console import NO_BREAK, wrapped

WHOLE = re.compile(r".+")  # a text in which no line ends
# substitutes of characters that only some encodings have
IN_ANY_ENCODING = str.maketrans({"−": "-", "–": "-", "→": "->", "±": "+/-"})


def unbroken(text: str, parts: re.Pattern[str]) -> str:
    """Return text in which no line ends inside such parts."""
    return parts.sub(lambda part: part[0].replace(" ", NO_BREAK), text)


def join_within(items: list[str], width: int, title: str = "") -> str:
    """Join items with commas, after a title, in lines that break only between items."""
    words = [title, *(f"{item}," for item in items[:-1]), *items[-1:]]
    text = " ".join(unbroken(word, WHOLE) for word in words if word)
    return "\n".join(wrapped(text, width, hang=0))


def encodable(text: str, out: Console) -> str:
    """Return text with ordinary spaces in numbers, in characters that the stream can encode."""
    text = text.replace("\u202f", NO_BREAK)
    return text if out.encoding.startswith("utf") else text.translate(IN_ANY_ENCODING)


def print_item(out: Console, text: str, indent: int, style: str = "", hang: int = 2) -> None:
    """Print a paragraph; lines after the first are indented by `hang` more."""
    for line in wrapped(encodable(text, out), out.width, indent, hang):
        out.print(line, style=style, soft_wrap=True)

"""Text for messages: lists of names, counts, numbers, and one safe line of any text."""

from __future__ import annotations

import difflib
import math
import unicodedata
from collections.abc import Callable, Container, Iterable
from typing import Any

MAX_LISTED = 5  # items before "and 3 more"
MAX_NAME = 60  # characters of a name from a file, which may have a megabyte
MAX_COMPARED = 100  # characters of a text that may be a misspelt name
JOINERS = "\u200c\u200d"  # part of Persian words and of emoji families
NARROW_SPACE = "\u202f"  # between thousands
ISOLATES = "\u2068", "\u2069"  # begin and end text that keeps its own direction
RIGHT_TO_LEFT = ("R", "AL", "AN")  # bidirectional classes


def quoted(name: Any) -> str:
    """Return a name from a file in quotes, shortened if it is long.

    >>> quoted("age"), quoted("x" * 1000)
    ("'age'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxxxxx'")
    """
    return one_line(repr(name), MAX_NAME)


def listed(
    items: Iterable[Any], word: Callable[[Any], str] = quoted, count: int | None = None
) -> str:
    """Return the first few items, and how many are left out of `count` (default: of those given).

    >>> listed("ab"), listed(range(7), str)
    ("'a', 'b'", '0, 1, 2, 3, 4 and 2 more')
    """
    items = list(items)
    left = (len(items) if count is None else count) - MAX_LISTED
    text = ", ".join(word(item) for item in items[:MAX_LISTED])
    return text + (f" and {left} more" if left > 0 else "")


def plural(count: int, noun: str, number: Callable[[int], str] = str) -> str:
    """Return a count with its noun.

    >>> plural(1, "row"), plural(3, "row")
    ('1 row', '3 rows')
    """
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"


def did_you_mean(text: str, names: Iterable[str], word: Callable[[Any], str] = repr) -> str:
    """Return "Did you mean 'x'?" if a name is similar to the text, else nothing.

    >>> did_you_mean("kmeans++", ["random", "k-means++"]), did_you_mean("box", ["random"])
    ("Did you mean 'k-means++'?", '')
    """
    lowered = {name.lower(): name for name in names}
    similar = difflib.get_close_matches(text[:MAX_COMPARED].lower(), lowered, n=1)
    return f"Did you mean {word(lowered[similar[0]])}?" if similar else ""


def free_name(name: str, taken: Container[str]) -> str:
    """Return the name, with a number if it is taken.

    >>> free_name("cluster", ["cluster", "cluster_2"])
    'cluster_3'
    """
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def printable(item: Any) -> str:
    """Return the text of an item if every character is printable, else its repr; shortened."""
    text = str(item)
    return one_line(text if text.isprintable() else repr(text), MAX_NAME)


def isolated(name: Any) -> str:
    """Return a name that does not turn the numbers after it around, if it runs right to left.

    >>> isolated("age"), isolated("\u05d2\u05d9\u05dc") == "\u2068\u05d2\u05d9\u05dc\u2069"
    ('age', True)
    """
    text = one_line(name, MAX_NAME)
    if any(unicodedata.bidirectional(letter) in RIGHT_TO_LEFT for letter in text):
        return f"{ISOLATES[0]}{text}{ISOLATES[1]}"
    return text


def list_features(names: Iterable[str | int]) -> str:
    """List features for the middle of a sentence, by their names as written or their numbers.

    >>> list_features(["age", "income"]), list_features([2]), list_features(range(7))
    ('age, income', 'feature 2', 'features 0, 1, 2, 3, 4 and 2 more')
    """
    names = list(names)
    numbered = any(isinstance(name, int) for name in names)
    noun = f"feature{'s' * (len(names) > 1)} " if numbered else ""
    return noun + listed(names, isolated)


def one_line(text: Any, max_length: int | None = None) -> str:
    """Return text from outside as one line that neither a terminal nor a page interprets.

    Each run of spaces and unprintable characters (control characters, direction marks, halves of
    surrogate pairs) becomes one space; joiners stay inside words that need them. The middle of a
    text longer than `max_length` is replaced by an ellipsis.

    >>> one_line("a" * 100, 9), one_line("one\\n two\\u202e\\x00three")
    ('aaaaa…aaa', 'one two three')
    """
    return _one_line(str(text), max_length, "")


def one_sentence(text: Any, max_length: int | None = None) -> str:
    """Return a sentence as `one_line` does, but keep the isolates of names, if all are in pairs.

    Narrow spaces between the digits of our numbers stay too.
    """
    line = _one_line(str(text), max_length, "".join((*ISOLATES, NARROW_SPACE)))
    marks = "".join(letter for letter in line if letter in ISOLATES)
    return line if not marks.replace("".join(ISOLATES), "") else one_line(line)


def _one_line(whole: str, max_length: int | None, kept: str) -> str:
    if max_length is not None and len(whole) > 8 * max_length:  # the cell may have a megabyte
        whole = f"{whole[: 4 * max_length]}{whole[-4 * max_length :]}"
    seen = whole if whole.isprintable() else "".join(_visible(whole, kept))
    line = " ".join(part for part in seen.split(" ") if part)
    if max_length is not None and len(line) > max_length:
        first, last = line[: max_length - max_length // 3 - 1], line[-(max_length // 3) :]
        line = f"{first.rstrip(' ' + JOINERS)}…{last.lstrip(' ' + JOINERS)}"
    return line


def _visible(text: str, kept: str) -> list[str]:
    """Printable characters and spaces; a joiner only between two characters outside ASCII."""
    out = []
    for before, letter, after in zip(" " + text, text, text[1:] + " ", strict=False):
        joins = letter in JOINERS and _joinable(before) and _joinable(after)
        out.append(letter if joins or letter in kept or letter.isprintable() else " ")
    return out


def _joinable(letter: str) -> bool:
    return letter.isprintable() and not letter.isascii() and not letter.isspace()


def format_number(value: float) -> str:
    """Return a number with as many digits as a reader needs.

    >>> format_number(78.853), format_number(12300), format_number(1.23456e12 + 0.5)
    ('78.85', '12 300', '1.235e+12')
    """
    if not math.isfinite(value):
        return "not defined" if math.isnan(value) else str(value)
    if 1e4 <= abs(value) < 1e6 or (value == int(value) and abs(value) < 1e10):
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.4g}"

"""Text of the page: foreign text as one short line, and sentences as HTML."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from partita._common.text import ISOLATES, one_line, one_sentence


def safe_line(text: Any, max_length: int = 48) -> str:
    """Return text as one line of at most `max_length` characters; "(no name)" if it is empty."""
    return one_line(text, max_length) or "(no name)"


def isolate_names(text: Any, max_length: int | None = None) -> str:
    """Return a sentence as HTML, with names that run right to left as such.

    >>> isolate_names("\u2068\u05d2\u05d9\u2069 < 3") == "<bdi>\u05d2\u05d9</bdi> &lt; 3"
    True
    """
    first, last = ISOLATES
    line = escape(one_sentence(text, max_length))
    return line.replace(first, "<bdi>").replace(last, "</bdi>")


def mark_code(text: Any, max_length: int | None = None) -> str:
    """Return a sentence as HTML, with `words` in backticks and --options as code.

    >>> mark_code("use `a b` or --scale none, not <b>")
    'use <code>a b</code> or <code>--scale</code> none, not &lt;b&gt;'
    """
    return re.sub(
        r"`([^`]+)`|(?<!\S)(--[a-z][a-z-]*)",
        lambda match: f"<code>{match[1] or match[2]}</code>",
        isolate_names(text, max_length),
    )


def breakable(name: Any) -> str:
    """Return a name as HTML that may be broken after underscores, slashes, dots and hyphens.

    >>> breakable("od280/od315_of <b>")
    'od280/<wbr>od315_<wbr>of &lt;b&gt;'
    """
    return re.sub(r"([_/.\-])(?=\w)", r"\1<wbr>", escape(str(name)))

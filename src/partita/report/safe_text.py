"""Text from outside, made safe for a page: one short line, escaped."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

from partita._common.text import one_line

_NO_NAME = "(no name)"


def safe_line(text: Any, max_length: int = 48) -> str:
    """Return text as one line of at most `max_length` characters; "(no name)" if it is empty."""
    return one_line(text, max_length) or _NO_NAME


def mark_code(text: str) -> str:
    """Return a sentence as HTML, with `words` in backticks and --options as code.

    >>> mark_code("use `a b` or --scale none, not <b>")
    'use <code>a b</code> or <code>--scale</code> none, not &lt;b&gt;'
    """
    return re.sub(
        r"`([^`]+)`|(?<!\S)(--[a-z][a-z-]*)",
        lambda match: f"<code>{match[1] or match[2]}</code>",
        escape(text),
    )


def script_json(data: Any) -> str:
    """Return JSON that can stand inside a script element without ending it."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text

"""Captions and labels that pictures and the report share."""

from __future__ import annotations

import math
from collections.abc import Iterable

from partita._common.number_text import count_text, share_text


def join_sentences(remarks: Iterable[str | bool]) -> str:
    """Return remarks as one caption, each with a capital and a full stop; skip False and "".

    >>> join_sentences(["a remark", 2 > 3 and "left out", "is it so?"])
    'A remark. Is it so?'
    """
    texts = (str(remark) for remark in remarks if remark)
    parts = (text[0].upper() + text[1:].rstrip(".") for text in texts)
    return " ".join(part if part.endswith(("?", "!")) else f"{part}." for part in parts)


def left_out_text(count: int, total: int, what: str) -> str:
    """Return how many rows belong to no group, and what they are; empty if none.

    >>> left_out_text(150, 3000, "the farthest from every center").replace("\u202f", " ")
    'left out: 150 rows (5 %), the farthest from every center'
    """
    if not count:
        return ""
    share = share_text(count / total)
    return f"left out: {count_text(count, 'row')} ({share}){', ' * bool(what)}{what}"


def format_deviations(score: float) -> str:
    """Return a number of standard deviations with its sign: +1.1, −0.3, 0.0."""
    if not math.isfinite(score) or abs(score) < 0.05:
        return "0.0"
    return f"{score:+.1f}".replace("-", "−")

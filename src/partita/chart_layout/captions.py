"""Captions and labels that pictures and the report share."""

from __future__ import annotations

import math
from collections.abc import Iterable


def join_sentences(remarks: Iterable[str | bool]) -> str:
    """Return remarks as one caption, each with a capital and a full stop; skip False and "".

    >>> join_sentences(["a remark", 2 > 3 and "left out", "is it so?"])
    'A remark. Is it so?'
    """
    texts = (str(remark) for remark in remarks if remark)
    parts = (text[0].upper() + text[1:].rstrip(".") for text in texts)
    return " ".join(part if part.endswith(("?", "!")) else f"{part}." for part in parts)


def format_deviations(score: float) -> str:
    """Return a number of standard deviations with its sign: +1.1, −0.3, 0.0."""
    if not math.isfinite(score) or abs(score) < 0.05:
        return "0.0"
    return f"{score:+.1f}".replace("-", "−")

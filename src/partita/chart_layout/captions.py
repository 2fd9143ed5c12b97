"""Captions and labels that pictures and the report share."""

from __future__ import annotations

import math
from collections.abc import Iterable


def join_sentences(remarks: Iterable[str]) -> str:
    """Return remarks as one caption, each with a capital and a full stop.

    >>> join_sentences(["a remark", "", "is it so?"])
    'A remark. Is it so?'
    """
    parts = (part[0].upper() + part[1:].rstrip(".") for part in remarks if part)
    return " ".join(part if part.endswith(("?", "!")) else f"{part}." for part in parts)


def format_deviations(score: float) -> str:
    """Return a number of standard deviations with its sign: +1.1, −0.3, 0.0."""
    if not math.isfinite(score) or abs(score) < 0.05:
        return "0.0"
    return f"{score:+.1f}".replace("-", "−")

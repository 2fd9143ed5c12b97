"""The answer in one sentence."""

from __future__ import annotations

from partita._common.number_text import number_text
from partita.description.clarity import (
    GRADE_BLURRED,
    GRADE_MOSTLY,
    GRADE_NONE,
    GRADE_OVERLAPPING,
    GRADE_UNKNOWN,
    Clarity,
)

_SENTENCES = {
    GRADE_MOSTLY: "{rows} fall into {k} mostly separate groups",
    GRADE_OVERLAPPING: "{rows} fall into {k} overlapping groups",
    GRADE_BLURRED: "{rows} can be divided into {k} groups, but without clear borders",
    GRADE_UNKNOWN: "{rows} in {k} groups",
}
_CLEARLY_SEPARATED = "{rows} fall into {k} clearly separated groups"


def rows_text(count: int, noun: str, kind: str = "") -> str:
    """Return a count of rows by the noun for them, and an adjective: 3 000 new customers.

    >>> rows_text(3000, "customers"), rows_text(1, "customers", "new")
    ('3\\u202f000 customers', '1 new row')
    """
    words = (number_text(count), kind, noun if noun and count != 1 else "row" + "s" * (count != 1))
    return " ".join(word for word in words if word)


def answer_sentence(rows: int, k: int, clarity: Clarity, noun: str = "", source: str = "") -> str:
    """Return what was found: how many groups, and how clear they are.

    >>> answer_sentence(178, 3, Clarity("clear", 0.01, ""), "wines")
    '178 wines fall into 3 clearly separated groups'
    """
    if clarity.grade == GRADE_NONE:
        return f"No clusters in {source}" if source else f"No clusters in {rows_text(rows, noun)}"
    if k == 0:
        return f"None of {rows_text(rows, noun)} belongs to a group"
    if k == 1:
        return f"{rows_text(rows, noun)} in one group"
    return _SENTENCES.get(clarity.grade, _CLEARLY_SEPARATED).format(rows=rows_text(rows, noun), k=k)

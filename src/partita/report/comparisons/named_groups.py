"""Groups and rows in the sentences of the page, as HTML: a reader may edit the names of groups."""

from __future__ import annotations

from html import escape

from partita.report.page_text import number_text, safe_line
from partita.report.report_input import ReportInput

_MAX_NOUN = 30  # characters


def group_name(data: ReportInput, j: int) -> str:
    """Return the name of a group as plain text."""
    return data.group_names[j] if data.group_names else f"Group {j}"


def quoted_group(data: ReportInput, j: int) -> str:
    """Return the name of a group in quotes, to be replaced when the reader edits it."""
    return f'“<bdi data-name-of="{j}">{escape(group_name(data, j))}</bdi>”'


def quoted_name(name: str) -> str:
    """Return a name that is not edited in the page, in quotes."""
    return f"“<bdi>{escape(name)}</bdi>”"


def count_rows(data: ReportInput, count: int, kind: str = "") -> str:
    """Return a count of rows by their noun: "240 new customers", but "1 new row"."""
    noun = "row" if count == 1 else "rows"
    if data.fitted.noun and count != 1:
        noun = escape(safe_line(data.fitted.noun, _MAX_NOUN))
    return f"{number_text(count)} {kind} {noun}" if kind else f"{number_text(count)} {noun}"

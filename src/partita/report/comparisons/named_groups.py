"""Groups and rows in the sentences of the page, as HTML: a reader may edit the names of groups."""

from __future__ import annotations

from html import escape

from partita.description.sentences import rows_text
from partita.report.report_input import ReportInput


def quoted_group(data: ReportInput, j: int) -> str:
    """Return the name of a group in quotes, to be replaced when the reader edits it."""
    return f'“<bdi data-name-of="{j}">{escape(data.group_name(j))}</bdi>”'


def quoted_name(name: str) -> str:
    """Return a name that is not edited in the page, in quotes."""
    return f"“<bdi>{escape(name)}</bdi>”"


def count_rows(data: ReportInput, count: int, kind: str = "") -> str:
    """Return a count of rows by their noun, as HTML: "240 new customers", but "1 new row"."""
    return escape(rows_text(count, data.noun, kind))

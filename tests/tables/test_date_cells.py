"""Dates of text in the formats of several countries."""

from __future__ import annotations

import datetime

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables.date_cells import are_dates, parse_dates  # noqa: E402


@pytest.mark.parametrize(
    ("cells", "day"),
    [
        (["2024-05-31", None], (2024, 5, 31)),
        (["2024-05-31 12:30", "2023-01-01T00:00:00"], (2024, 5, 31)),
        (["31.5.2024", "01.01.1999"], (2024, 5, 31)),
        (["31.05.2024 7:30", "01.01.1999 23:59"], (2024, 5, 31)),
        (["2024/5/31"], (2024, 5, 31)),
        (["5/4/2024", "12/31/2024"], (2024, 5, 4)),
        (["5/4/2024", "31/12/2024"], (2024, 4, 5)),
        (["5/4/2024"], (2024, 5, 4)),
        (["31-05-2024", None], (2024, 5, 31)),
        (["2024-05-31T23:00:00Z", None], (2024, 5, 31)),
        (["2024-05-31T23:30:00.5-01:00", "2024-05-31 10:00:00+0100"], (2024, 6, 1)),
        (["5/31/24", "12/1/23"], (2024, 5, 31)),
        (["31.5.24"], (2024, 5, 31)),
        (["31-May-2024", "01-DEC-2023"], (2024, 5, 31)),
        (["31 May 2024"], (2024, 5, 31)),
        (["May 31, 2024", "December 1, 2023"], (2024, 5, 31)),
        (["5/31/2024 3:15 PM", "12/1/2023 11:00 am"], (2024, 5, 31)),
    ],
)
def test_dates_are_read(cells, day):
    parsed = parse_dates(pa.chunked_array([pa.array(cells)]))
    assert parsed[0].as_py().date() == datetime.date(*day)
    assert parsed.null_count == cells.count(None)


@pytest.mark.parametrize(
    "cells",
    [
        ["2024-13-31"], ["31.13.2024"], ["1.5"], ["5/31/2024", "31/5/2024"], ["31.5.2024", "x"],
        ["31 abc 2024"], ["2024-05-31", "2024-05-31T10:00Z"],
        [None], ["12-34"], ["1.2.3"], ["2024-05-31", "31.5.2024"],
    ],
)  # fmt: skip
def test_other_text_is_not(cells):
    assert not are_dates(pa.chunked_array([pa.array(cells, pa.string())]))

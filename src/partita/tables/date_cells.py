"""Dates in cells of text: 2024-05-31, 31.05.2024, 5/31/2024, each perhaps with a time."""

from __future__ import annotations

import re
from typing import Any

from partita.tables.table import arrow

_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"[ T]\d\d?:\d\d(:\d\d)?$")
# by the first cell; where two formats fit all cells, the first is meant
_FORMATS = {
    r"\d{1,2}\.\d{1,2}\.\d{4}": ("%d.%m.%Y",),
    r"\d{4}/\d{1,2}/\d{1,2}": ("%Y/%m/%d",),
    r"\d{1,2}-\d{1,2}-\d{4}": ("%d-%m-%Y", "%m-%d-%Y"),
    r"\d{1,2}/\d{1,2}/\d{4}": ("%m/%d/%Y", "%d/%m/%Y"),
}


def are_dates(values: Any) -> bool:
    """Return whether all cells that are not null are dates of one format."""
    return parse_dates(values) is not None


def parse_dates(values: Any) -> Any:
    """Return cells of text as times, null where they are; None if one is no date."""
    pa, pc = arrow(), arrow(".compute")
    known = values.drop_null()
    first = known[0].as_py() if len(known) else ""
    if _ISO.match(first):
        try:
            return pc.cast(values, pa.timestamp("us"))
        except pa.ArrowInvalid:
            return None
    day, time = _TIME.sub("", first), _TIME.search(first)
    clock = "" if time is None else f"{time[0][0]}%H:%M{':%S' if time[1] else ''}"
    formats = next((all_of for like, all_of in _FORMATS.items() if re.fullmatch(like, day)), ())
    for format in formats:
        parsed = pc.strptime(values, format=format + clock, unit="us", error_is_null=True)
        if parsed.null_count == values.null_count:
            return parsed
    return None

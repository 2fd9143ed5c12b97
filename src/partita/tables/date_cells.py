"""Dates in cells of text: 2024-05-31, 31.05.2024, 5/31/24, 31 May 2024, perhaps with a time."""

from __future__ import annotations

import re
from typing import Any

from partita.tables.table import arrow

_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_ZONE = re.compile(r"\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$")
_TIME = re.compile(r"[ T]\d\d?:\d\d(:\d\d)?( ?[AP]M)?$", re.IGNORECASE)
# by the first cell; where two formats fit all cells, the first is meant
_FORMATS = {
    r"\d{1,2}\.\d{1,2}\.\d{4}": ("%d.%m.%Y",),
    r"\d{4}/\d{1,2}/\d{1,2}": ("%Y/%m/%d",),
    r"\d{1,2}-\d{1,2}-\d{4}": ("%d-%m-%Y", "%m-%d-%Y"),
    r"\d{1,2}/\d{1,2}/\d{4}": ("%m/%d/%Y", "%d/%m/%Y"),
    r"\d{1,2}\.\d{1,2}\.\d\d": ("%d.%m.%y",),
    r"\d{1,2}/\d{1,2}/\d\d": ("%m/%d/%y", "%d/%m/%y"),
    r"\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{4}": ("%d-%b-%Y", "%d %b %Y"),
    r"[A-Za-z]{3,9} \d{1,2}, ?\d{4}": ("%b %d, %Y",),
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
        zone = "UTC" if _ZONE.search(first) else None
        try:
            return pc.cast(values, pa.timestamp("us", zone))
        except pa.ArrowInvalid:
            return None
    day, time = _TIME.sub("", first), _TIME.search(first)
    clock = "" if time is None else _clock_format(time)
    formats = next((all_of for like, all_of in _FORMATS.items() if re.fullmatch(like, day)), ())
    for format in formats:
        parsed = pc.strptime(values, format=format + clock, unit="us", error_is_null=True)
        if parsed.null_count == values.null_count:
            return parsed
    return None


def _clock_format(time: re.Match[str]) -> str:
    """Return the format of a time like T13:15, or 1:15:00 PM."""
    start, seconds, half = time[0][0], ":%S" if time[1] else "", time[2]
    if half is None:
        return f"{start}%H:%M{seconds}"
    return f"{start}%I:%M{seconds}{' ' if half.startswith(' ') else ''}%p"

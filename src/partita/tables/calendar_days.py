"""Days that are written as integers like 20240531."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats

YEARS = (1900, 2100)
MIN_CALENDAR_DAY = YEARS[0] * 10_000  # days since 1970 are far below


def are_calendar_days(known: Array) -> bool:
    """Return whether integers are years, months and days in one number; False if there are none.

    >>> are_calendar_days(np.array([20240531, 19991231])), are_calendar_days(np.array([20241331]))
    (True, False)
    """
    if not len(known):
        return False
    month, day = known // 100 % 100, known % 100
    is_day = (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    low, high = known.min() // 10_000, known.max() // 10_000
    return bool(YEARS[0] <= low <= high <= YEARS[1] and is_day.all())


def to_days(values: Any) -> Floats:
    """Return integers like 20240531 as days since 1970; other numbers stay as they are.

    >>> to_days([19700102, 20240531, 7.5, np.nan]).tolist()
    [1.0, 19874.0, 7.5, nan]
    """
    days: Floats = np.array(values, dtype=np.float64)
    is_calendar = days >= MIN_CALENDAR_DAY
    numbers = days[is_calendar].astype(np.int64)
    months = (numbers // 10_000 - 1970) * 12 + numbers // 100 % 100 - 1
    first = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    days[is_calendar] = first + numbers % 100 - 1
    return days

"""Best times over rounds that measure everything once.

A busy minute spoils one round of everything, not every round of one thing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence


class BestTime:
    """Wall times of one repeated call. The least is the least disturbed."""

    def __init__(self) -> None:
        self._seconds: list[float] = []

    def add(self, seconds: float) -> None:
        self._seconds.append(seconds)

    def __bool__(self) -> bool:
        return bool(self._seconds)

    @property
    def seconds(self) -> float:
        return min(self._seconds)

    @property
    def noise(self) -> float:
        """Median time minus best time, as a share of the best."""
        return statistics.median(self._seconds) / self.seconds - 1


class Clock:
    """Seconds since it was made, and whether a time is up."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._begin

    def rounds(self, most: int, seconds: float) -> Iterator[int]:
        """Count to `most`, but begin no third round that would not end within `seconds`."""
        begin = self.seconds
        for number in range(most):
            spent = self.seconds - begin
            if number >= 2 and spent * (number + 1) / number > seconds:
                return
            yield number


def rotated(names: Sequence[str], number: int) -> list[str]:
    """The order of a round: a different library begins each time."""
    first = number % len(names)
    return [*names[first:], *names[:first]]

"""Rounds in which every contestant has its turn, and the best that each of them did."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence


class Best:
    """Wall times of one thing done again and again. The least is the one least disturbed."""

    def __init__(self) -> None:
        self._seconds: list[float] = []

    def add(self, seconds: float) -> None:
        self._seconds.append(seconds)

    @property
    def seconds(self) -> float:
        return min(self._seconds)

    @property
    def noise(self) -> float:
        """How much longer than the best the median took, as a share of the best."""
        return statistics.median(self._seconds) / self.seconds - 1


def rounds(most: int, seconds: float) -> Iterator[int]:
    """Count to `most`, but begin no third round after `seconds`."""
    begin = time.perf_counter()
    for number in range(most):
        if number >= 2 and time.perf_counter() - begin > seconds:
            return
        yield number


def turns(names: Sequence[str], number: int) -> list[str]:
    """The order of a round: each time somebody else begins."""
    first = number % len(names)
    return [*names[first:], *names[:first]]

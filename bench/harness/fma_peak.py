"""The most multiply-adds this machine can do: a loop that touches nothing but registers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

_TRY_SECONDS = 0.05  # of one try: long enough that threads which began on one core have parted


def peak_flops(threads: int, tries: int = 3) -> float:
    """float32 operations per second of `threads` threads at once, the best of some tries."""
    from partita._kernels import core

    rounds = 1 << 16
    while _seconds(partial(core.spin, rounds, True)) < _TRY_SECONDS:
        rounds *= 2
    start = threading.Barrier(threads)

    def work() -> tuple[float, float, float]:
        core.spin(rounds, True)  # warm up, all threads together
        start.wait()
        begin = time.perf_counter()
        done = core.spin(rounds, True)
        return 2 * done, begin, time.perf_counter()

    best = 0.0
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(tries):
            flops, begins, ends = zip(*pool.map(lambda _: work(), range(threads)), strict=True)
            best = max(best, sum(flops) / (max(ends) - min(begins)))
    return best


def _seconds(call: Callable[[], float]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin

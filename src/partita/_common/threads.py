"""The number of threads, and the distribution of blocks of work to them.

A pool exists as long as the fit that created it: nothing starts at import, nothing survives a fork,
and several fits may run at once. Passes that run in C++ only use the threads of a crew
(cpp/crew.hpp), which stay awake between passes; passes with work in Python use Python threads, and
the kernels release the GIL.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from typing import Any

from partita._kernels import kernels

MAX_THREADS = 1024  # of a call, whatever is asked for: every thread takes memory


def default_threads() -> int:
    """Return PARTITA_NUM_THREADS, else OMP_NUM_THREADS, else the cores this process may use.

    Inside a Dask worker it is 1: the cluster already runs one task per core.
    """
    for variable in ("PARTITA_NUM_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(variable, "").split(",")[0].strip()
        digits = text.lstrip("0")[:9]  # a longer number is above the maximum too
        if text.isdecimal() and digits:
            return min(int(digits), MAX_THREADS)
    worker = sys.modules.get("distributed.worker")
    if worker is not None and getattr(worker.thread_state, "execution_state", None) is not None:
        return 1
    return _cores()


def _cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(cores or 1, _cgroup_limit()))


@functools.cache
def _cgroup_limit() -> int:
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()
        return max(1, -(-int(quota) // int(period)))
    except (OSError, ValueError):
        return sys.maxsize


def one_blas_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS runs in the calling thread, not in threads of its own."""
    limits: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limits


@functools.cache
def _libraries() -> Any:
    """NumPy's and SciPy's BLAS; finding them takes as long as a small fit."""
    import scipy.linalg.blas  # noqa: F401, so that it is loaded and found
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


class Workers:
    """Up to n threads that share a list of tasks; used as a context manager."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._pool: ThreadPoolExecutor | None = None
        self._crew: Any = None

    @property
    def crew(self) -> Any:
        """The threads of the kernels."""
        if self._crew is None:
            self._crew = kernels.Crew(self.n)
        return self._crew

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        if self._crew is not None:
            self._crew.dismiss()  # a traceback may keep it alive
            self._crew = None
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def share(self, tasks: int, work: Callable[[Iterator[int]], None]) -> None:
        """Run `work(numbers)` in each thread; together they process all numbers below `tasks`.

        After an interrupt or an error, no thread starts another task.
        """
        threads = min(self.n, tasks)
        if threads <= 1:
            work(iter(range(tasks)))
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n - 1, thread_name_prefix="partita")
        stop = threading.Event()
        counter = itertools.count()
        lock = threading.Lock()

        def draw() -> Iterator[int]:
            while not stop.is_set():
                with lock:
                    number = next(counter)
                if number >= tasks:
                    return
                yield number

        def join() -> None:
            try:
                work(draw())
            except BaseException:
                stop.set()
                raise

        # The caller works too; threads that have not started when it is done are cancelled.
        futures = [self._pool.submit(join) for _ in range(threads - 1)]
        try:
            work(draw())
        finally:
            stop.set()
            started = [future for future in futures if not future.cancel()]
            wait(started)
        for future in started:
            future.result()

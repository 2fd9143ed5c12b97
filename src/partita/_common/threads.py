"""The number of threads, and the distribution of blocks of work to them.

A pool exists as long as the fit that created it: nothing starts at import, nothing survives a fork,
and several fits may run at once. Passes that run in C++ only use the threads of a crew
(cpp/crew.hpp), which stay awake between passes; passes with work in Python use Python threads, and
the kernels release the GIL.
"""

from __future__ import annotations

import _thread
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from queue import SimpleQueue
from typing import Any

import numpy as np

from partita._kernels import kernels

MAX_THREADS = 1024  # of a call, whatever is asked for: every thread takes memory
THREAD_HEADROOM_BYTES = 1 << 20  # that must be free for a thread to start
END_SECONDS = 5.0  # after which a thread that has nothing to do is taken for lost
START_SECONDS = 5.0  # after which a new thread is taken for lost: it had no memory to report
BLAS_BUFFER_BYTES = 160 << 20  # of address space, that each thread of OpenBLAS maps at first
MEMORY_ADVICE = "Use a smaller memory_limit (in bytes), fewer threads (n_threads) or fewer rows."


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


def openmp_threads(count: int) -> AbstractContextManager[object]:
    """Return a context in which libraries that use OpenMP take so many threads."""
    limits: AbstractContextManager[object] = _libraries().limit(limits=count, user_api="openmp")
    return limits


def has_room_for_blas(threads: int) -> bool:
    """Return whether BLAS can map its buffers: OpenBLAS ends the process where it cannot."""
    try:
        np.empty(threads * BLAS_BUFFER_BYTES, np.uint8)
    except MemoryError:
        return False
    return True


def check_room_for_blas(threads: int) -> None:
    """Raise a MemoryError where BLAS would end the process."""
    if not has_room_for_blas(threads):
        need = threads * BLAS_BUFFER_BYTES / 1e6
        raise MemoryError(f"BLAS needs {need:.0f} MB of address space for its buffers")


@functools.cache
def _libraries() -> Any:
    """NumPy's and SciPy's BLAS; finding them takes as long as a small fit."""
    import scipy.linalg.blas  # noqa: F401, so that it is loaded and found
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error says that memory is exhausted.

    Where even an exception cannot be allocated, NumPy may fail without one: Python then raises a
    SystemError.
    """
    lacks_exception = isinstance(error, SystemError) and "without exception set" in str(error)
    return isinstance(error, MemoryError) or lacks_exception


class Workers:
    """Up to n threads that share a list of tasks; used as a context manager.

    Where the system allows fewer threads, fewer do the work; the caller alone if need be. For
    `many_passes`, threads start even if a single pass is too short for that.
    """

    def __init__(self, n: int, many_passes: bool = False) -> None:
        self.n, self.many_passes = n, many_passes
        self._helpers: Helpers | None = None
        self._crew: Any = None

    @property
    def crew(self) -> Any:
        """The threads of the kernels."""
        if self._crew is None:
            self._crew = kernels.Crew(self.n)
        return self._crew

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._crew is not None:
            self._crew.dismiss()  # a traceback may keep it alive
            self._crew = None
        if self._helpers is not None:
            self._helpers.dismiss()
            self._helpers = None
        if is_out_of_memory(error) and MEMORY_ADVICE not in str(error):
            raise MemoryError(f"Out of memory ({error}). {MEMORY_ADVICE}") from error

    def share(self, tasks: int, work: Callable[[Iterator[int]], None]) -> None:
        """Run `work(numbers)` in each thread; together they process all numbers below `tasks`.

        After an interrupt or an error, no thread starts another task.
        """
        threads = min(self.n, tasks)
        if threads <= 1:
            work(iter(range(tasks)))
            return
        if self._helpers is None:
            self._helpers = Helpers()
        shared = SharedTasks(tasks, work)
        self._helpers.call(threads - 1, shared)
        shared.lead()


class Gate:
    """Counts the threads inside; one that ends before it enters is not waited for."""

    def __init__(self) -> None:
        self.inside = 0
        self._is_open = True
        self._lock, self._last_left = threading.Lock(), threading.Lock()
        self._last_left.acquire()

    def enter(self) -> bool:
        """Enter, unless the gate is closed."""
        with self._lock:
            self.inside += self._is_open
            return self._is_open

    def leave(self) -> None:
        """Leave, without taking memory (as `with` does): there may be none."""
        self._lock.acquire()
        self.inside -= 1
        if self.inside == 0 and not self._is_open:
            self._last_left.release()
        self._lock.release()

    def close(self) -> int:
        """Let no more threads in; return how many are inside."""
        with self._lock:
            self._is_open = False
            return self.inside

    def wait(self, seconds: float = -1) -> None:
        """Wait until the last of those inside has left, or so many seconds."""
        self._last_left.acquire(timeout=seconds)


class SharedTasks:
    """Tasks that the caller and its helpers draw from.

    The caller waits only for helpers that have begun, so one that is late or never started holds
    nobody up.
    """

    def __init__(self, tasks: int, work: Callable[[Iterator[int]], None]) -> None:
        self._tasks, self._work = tasks, work
        self._next, self._lock = 0, threading.Lock()
        self._gate, self._is_stopped = Gate(), False
        self._error: BaseException | None = None

    def lead(self) -> None:
        """Work in the calling thread, wait for the helpers, and raise the error of one of them."""
        try:
            self._work(self._draw())
        except BaseException:
            self._is_stopped = True
            raise
        finally:
            if self._gate.close():
                self._gate.wait()
        if self._error is not None:
            raise self._error

    def help(self) -> None:
        """Work in another thread, unless the caller is done."""
        drawn: list[int] = []  # before it is inside: there may be no memory for it
        if not self._gate.enter():
            return
        try:
            self._work(self._draw(drawn))
        except BaseException as error:
            # without memory to begin, it leaves all tasks to the others
            if drawn or not isinstance(error, MemoryError):
                self._is_stopped, self._error = True, error
        finally:
            self._gate.leave()

    def _draw(self, last: list[int] | None = None) -> Iterator[int]:
        while True:
            with self._lock:
                number = self._next
                self._next += 1
            if number >= self._tasks or self._is_stopped:
                return
            if last is not None:
                last[:] = [number]
            yield number


class Helpers:
    """Threads that wait for tasks.

    Started by `_thread`, as `threading.Thread.start` waits for ever if the new thread runs out of
    memory before it reports itself. A thread counts only while it serves, so none that ended early
    is waited for.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[SharedTasks | None] = SimpleQueue()
        self._gate, self._can_start = Gate(), True
        self._process = os.getpid()

    def call(self, count: int, tasks: SharedTasks) -> None:
        """Let up to `count` threads help; start those that are missing, if the system allows."""
        while self._gate.inside < count and self._can_start:
            self._can_start = self._start()
        for _ in range(min(count, self._gate.inside)):
            self._calls.put(tasks)

    def dismiss(self) -> None:
        """End the threads."""
        if os.getpid() != self._process:  # a forked child has none of them
            return
        serving = self._gate.close()
        for _ in range(serving):
            self._calls.put(None)
        if serving:
            self._gate.wait(END_SECONDS)

    def _start(self) -> bool:
        ready = threading.Lock()
        ready.acquire()
        try:
            np.empty(THREAD_HEADROOM_BYTES, np.uint8)  # what a thread needs at once, or it aborts
            _thread.start_new_thread(self._serve, (ready,))
        except (RuntimeError, MemoryError):  # "can't start new thread"
            return False
        return ready.acquire(timeout=START_SECONDS)

    def _serve(self, ready: Any) -> None:
        if not self._gate.enter():
            return
        try:
            try:
                kernels.Crew(1)  # the memory that a C++ exception needs, while there is some
            finally:
                ready.release()
            while (tasks := self._calls.get()) is not None:
                tasks.help()
                del tasks  # which may hold the rows of a fit
        finally:
            self._gate.leave()

"""Where memory or threads end, a fit is whole or raises MemoryError, and the process goes on."""

from __future__ import annotations

import _thread
import os

import numpy as np
import pytest
from helpers import little_memory
from helpers.cases import same_bits
from helpers.slow_cases import slow

from partita import KMeans
from partita._common import threads
from partita._common.threads import MEMORY_ADVICE, Workers

needs_limits = pytest.mark.skipif(
    not hasattr(os, "fork") or not os.path.exists("/proc/self/statm"),
    reason="this system cannot fork or has no /proc",
)


def assert_whole_or_memory_error(endings):
    wrong = [
        ending
        for ending in endings
        if ending != "same"
        and not (ending.startswith("MemoryError: Out of memory") and MEMORY_ADVICE in ending)
    ]
    assert wrong == []


@needs_limits
@pytest.mark.compiled
@pytest.mark.parametrize("case", ["blocks", "uint8", *slow("prefix")])
def test_a_fit_is_whole_or_raises_memory_error(case):
    endings = little_memory.endings(case, 8, [0.3, 2.5, 10, 90, 8000])
    assert_whole_or_memory_error(endings)
    assert endings[-1] == "same"


@needs_limits
@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("n_threads", [2, 8])
@pytest.mark.parametrize("case", little_memory.CASES)
def test_every_fit_is_whole_or_raises_memory_error(case, n_threads):
    megabytes = 0.3 * 1000.0 ** (np.arange(40) / 39)
    assert_whole_or_memory_error(little_memory.endings(case, n_threads, megabytes))


@pytest.mark.parametrize(
    "error", [MemoryError(), SystemError("error return without exception set")]
)
def test_out_of_memory_gets_advice(error):
    with pytest.raises(MemoryError, match="Use a smaller memory_limit"), Workers(1):
        raise error


def test_other_errors_of_native_code_stay_as_they_are():
    with pytest.raises(SystemError, match="bad argument"), Workers(1):
        raise SystemError("bad argument to internal function")


# --- threads ---


def refuse_after(monkeypatch, allowed):
    """Let the system start only so many threads."""
    started = []

    def start(function, arguments):
        if len(started) == allowed:
            raise RuntimeError("can't start new thread")
        started.append(function)
        return _thread.start_new_thread(function, arguments)

    monkeypatch.setattr(threads, "_thread", type("few", (), {"start_new_thread": start}))
    return started


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_the_threads_that_start_do_all_the_work(monkeypatch, allowed):
    started, done = refuse_after(monkeypatch, allowed), []
    with Workers(4) as workers:
        for _ in range(3):
            done.clear()
            workers.share(100, done.extend)
            assert sorted(done) == list(range(100))
    assert len(started) == allowed


@pytest.mark.parametrize("allowed", [0, 1])
def test_a_fit_with_fewer_threads_has_the_same_bits(monkeypatch, allowed):
    rows = np.random.default_rng(0).integers(0, 255, (30_000, 40)).astype(np.uint8)
    whole = KMeans(20, random_state=0, max_iter=3, n_threads=4).fit(rows)
    refuse_after(monkeypatch, allowed)
    assert same_bits(KMeans(20, random_state=0, max_iter=3, n_threads=4).fit(rows), whole)


def test_a_thread_without_memory_to_begin_leaves_the_tasks_to_the_others():
    done, caller = [], _thread.get_ident()

    def work(numbers):
        if _thread.get_ident() != caller:
            raise MemoryError
        done.extend(numbers)

    with Workers(3) as workers:
        workers.share(50, work)
    assert done == list(range(50))


@pytest.mark.parametrize("in_caller", [False, True])
def test_memory_that_ends_in_a_task_is_an_error_that_says_what_to_do(in_caller):
    caller, other_began = _thread.get_ident(), _thread.allocate_lock()
    other_began.acquire()

    def work(numbers):
        for _ in numbers:
            is_caller = _thread.get_ident() == caller
            if is_caller == in_caller:
                other_began.release()
                raise MemoryError("no bytes")
            with other_began:
                pass

    def share():
        with Workers(1), Workers(2) as workers:
            workers.share(1000, work)

    with pytest.raises(MemoryError, match=r"no bytes.*memory_limit") as raised:
        share()
    assert str(raised.value).count("Out of memory") == 1


def test_threads_end_with_the_workers_after_an_error():
    before = _thread._count()
    for _ in range(20):
        with pytest.raises(ZeroDivisionError), Workers(3) as workers:
            workers.share(30, lambda numbers: [1 // (number - 5) for number in numbers])
    assert _thread._count() <= before + 1  # one may still be on its way out

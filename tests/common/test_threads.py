"""Fits from several threads, after a fork, in a worker; and Ctrl-C."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.cases import same_bits

from partita import KMeans
from partita._common.threads import Workers, _cores, default_threads
from partita._kernels import compiled

pytestmark = pytest.mark.sanitize


def some_rows(n=20_000):
    return np.random.default_rng(0).normal(size=(n, 8)).astype(np.float32)


def small_fit(seed):
    return KMeans(10, random_state=seed, max_iter=8, n_threads=2).fit(some_rows())


@pytest.mark.heavy
def test_fits_from_several_python_threads_do_not_disturb_each_other():
    alone = [small_fit(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(small_fit, range(4)))
    assert all(same_bits(a, b) for a, b in zip(alone, together, strict=True))


@pytest.mark.heavy
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fit_after_fork_gives_the_same_bits():
    before = small_fit(1)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        after = pool.map_async(small_fit, [1, 1]).get(timeout=60)
    assert all(same_bits(before, fit) for fit in after)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="this system has no /proc")
def test_no_thread_survives_a_fit():
    def threads():
        return set(os.listdir("/proc/self/task"))

    before, during = threads(), []  # those of earlier tests may end any time
    KMeans(
        10, random_state=0, max_iter=8, n_threads=3, callback=lambda _: during.append(threads())
    ).fit(some_rows())
    own = set().union(*during) - before
    assert len(own) == (2 if compiled() else 0)
    for _ in range(3000):  # they are told to end, not waited for
        if not own & threads():
            break
        time.sleep(0.01)
    assert not own & threads()


@pytest.mark.heavy
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_in_the_middle_of_a_fit_finishes_it_with_the_same_bits():
    """The child has the fit but not its threads: it must neither wait for them nor crash."""
    whole, children = small_fit(2), []

    def fork_once(progress):
        if progress.iteration == 3:
            children.append(os.fork())
            if children[-1] == 0:
                small_fit(1)  # with threads of its own, among the handles of those it has not

    fit = KMeans(10, random_state=2, max_iter=8, n_threads=2, callback=fork_once).fit(some_rows())
    if children[-1] == 0:
        os._exit(0 if same_bits(whole, fit) else 1)
    assert same_bits(whole, fit)
    assert wait_for(children[-1]) == 0


def wait_for(child, seconds=30):
    """The exit code of a process; it is ended if it does not end by itself."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "it hung"


def test_an_error_in_one_block_stops_the_others():
    drawn = []

    def work(numbers):
        for number in numbers:
            drawn.append(number)
            if number == 3:
                raise RuntimeError("block three")
            time.sleep(0.001)

    with Workers(2) as workers, pytest.raises(RuntimeError, match="block three"):
        workers.share(10_000, work)
    assert len(drawn) < 10_000


@pytest.mark.heavy
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_a_long_fit_within_a_second(threads):
    code = f"""
import numpy as np, time
from partita import KMeans
rows = np.random.default_rng(0).random((200_000, 64), dtype=np.float32)
def say(progress):
    if progress.iteration == 1:
        print("fitting", flush=True)
try:
    KMeans(2000, init="random", n_init=1, tol=0, max_iter=10_000, n_threads={threads},
           callback=say).fit(rows)
finally:
    print(time.process_time(), flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline().strip() == "fitting"
    before = cpu_seconds(process.pid)
    process.send_signal(signal.SIGINT)
    output, error = process.communicate(timeout=300)
    assert "KeyboardInterrupt" in error
    if before is not None:  # CPU time: a busy machine makes no difference
        assert float(output) - before < 1.5 * threads


def cpu_seconds(pid):
    """The CPU time of a process so far, or None where the system does not tell."""
    try:
        times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


def test_one_thread_inside_a_dask_worker(monkeypatch):
    """distributed keeps the state of a task in a thread-local; the cluster is the parallelism."""
    for variable in ("OMP_NUM_THREADS", "PARTITA_NUM_THREADS"):
        monkeypatch.delenv(variable, raising=False)
    task = SimpleNamespace(thread_state=SimpleNamespace(execution_state={"key": "fit"}))
    monkeypatch.setitem(sys.modules, "distributed.worker", task)
    assert default_threads() == 1
    idle = SimpleNamespace(thread_state=SimpleNamespace())
    monkeypatch.setitem(sys.modules, "distributed.worker", idle)
    assert default_threads() == _cores()


def test_the_number_of_threads_follows_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert default_threads() == 3
    monkeypatch.setenv("PARTITA_NUM_THREADS", "5")
    assert default_threads() == 5
    monkeypatch.setenv("PARTITA_NUM_THREADS", "many")
    assert default_threads() == 3
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert default_threads() >= 1

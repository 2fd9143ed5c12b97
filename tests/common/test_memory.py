"""Free memory is known everywhere, also where the system reports nothing."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import numpy as np
import pytest

from partita import KernelKMeans, KMeans, KMedoids
from partita._common import memory

FIND_GROUPS = memory._limited_groups.__wrapped__  # which does not remember them


def only_files(monkeypatch, **files):
    """Let `open` know only some files, by the last part of their names."""

    def open_only(path, *args, **kwargs):
        name = str(path).rsplit("/", 1)[-1].replace(".", "_")
        if name in files:
            return io.StringIO(files[name])
        raise FileNotFoundError(path)

    monkeypatch.setattr(memory, "open", open_only, raising=False)
    monkeypatch.setattr(memory, "_limited_groups", FIND_GROUPS)


def test_the_machine_or_its_container_if_that_has_less(monkeypatch):
    machine = "MemTotal: 9 kB\nMemAvailable:    1000 kB\n"
    only_files(monkeypatch, meminfo=machine)
    assert memory.free_memory() == 1000 * 1024
    only_files(monkeypatch, meminfo=machine, memory_max="max\n", memory_current="5\n")
    assert memory.free_memory() == 1000 * 1024
    only_files(monkeypatch, meminfo=machine, memory_max="5000\n", memory_current="4000\n")
    assert memory.free_memory() == 1000
    only_files(monkeypatch, meminfo=machine, memory_max="5000\n", memory_current="9000\n")
    assert memory.free_memory() == 0


MACHINE = "MemAvailable:    1000000 kB\n"


def groups(monkeypatch, files):
    """Let `open` know the files of control groups by their whole names."""
    files = {"/proc/meminfo": MACHINE, **files}

    def open_only(path, *args, **kwargs):
        if path in files:
            return io.StringIO(files[path])
        raise FileNotFoundError(path)

    monkeypatch.setattr(memory, "open", open_only, raising=False)
    monkeypatch.setattr(memory, "_limited_groups", FIND_GROUPS)


def test_every_control_group_around_the_process_counts(monkeypatch):
    root = "/sys/fs/cgroup"
    inner = {
        "/proc/self/cgroup": "0::/user/job\n",
        f"{root}/user/job/memory.max": "max\n",
        f"{root}/user/memory.max": "9000\n",
        f"{root}/user/memory.current": "8000\n",
        f"{root}/user/memory.stat": "anon 1\ninactive_file 500\n",  # the kernel can drop it
    }
    groups(monkeypatch, inner)
    assert memory.free_memory() == 1500
    groups(monkeypatch, {**inner, f"{root}/user/job/memory.max": "70\n",
                         f"{root}/user/job/memory.current": "50\n"})  # fmt: skip
    assert memory.free_memory() == 20


def test_control_groups_of_the_first_version_count(monkeypatch):
    root = "/sys/fs/cgroup/memory"
    files = {
        "/proc/self/cgroup": "5:devices:/\n4:cpu,memory:/box\n0::/\n",
        f"{root}/memory.limit_in_bytes": "9223372036854771712\n",  # no limit
        f"{root}/memory.usage_in_bytes": "7\n",
    }
    groups(monkeypatch, files)
    assert memory.free_memory() == 1_000_000 * 1024
    box = {
        f"{root}/box/memory.limit_in_bytes": "900\n",
        f"{root}/box/memory.usage_in_bytes": "300\n",
    }
    groups(monkeypatch, files | box)
    assert memory.free_memory() == 600


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="this system has no /proc")
def test_a_limit_of_the_address_space_counts():
    code = """
import resource
from partita._common.memory import free_memory
before = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (before + 50_000_000, resource.RLIM_INFINITY))
assert 30e6 < free_memory() <= 50e6, free_memory()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="this system has no sysconf")
def test_half_of_the_physical_memory_where_nothing_else_is_known(monkeypatch):
    only_files(monkeypatch)
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__)
    assert memory.free_memory() == 4096 * 1000 / 2


@pytest.mark.parametrize("make", [KMeans, KMedoids, KernelKMeans])
def test_a_default_fit_works_where_the_system_has_neither_sysconf_nor_proc(monkeypatch, make):
    rows = np.arange(12.0)[:, None] ** 2
    expected = make(2, random_state=0).fit(rows).labels_
    monkeypatch.delattr(os, "sysconf", raising=False)
    only_files(monkeypatch)
    assert memory.free_memory() == memory.DEFAULT_FREE_BYTES
    np.testing.assert_array_equal(make(2, random_state=0).fit(rows).labels_, expected)

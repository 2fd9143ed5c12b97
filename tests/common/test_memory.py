"""Free memory is known everywhere, also where the system reports nothing."""

from __future__ import annotations

import io
import os

import numpy as np
import pytest

from partita import KernelKMeans, KMeans, KMedoids
from partita._common import memory


def only_files(monkeypatch, **files):
    """Let `open` know only some files, by the last part of their names."""

    def open_only(path, *args, **kwargs):
        name = str(path).rsplit("/", 1)[-1].replace(".", "_")
        if name in files:
            return io.StringIO(files[name])
        raise FileNotFoundError(path)

    monkeypatch.setattr(memory, "open", open_only, raising=False)


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

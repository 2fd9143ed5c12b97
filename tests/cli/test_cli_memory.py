"""The memory that commands take while they read large files."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.cli import PARTITA, pa

N_ROWS, N_FEATURES = 1_500_000, 10  # 120 MB
MAX_GROWTH_MB = 260  # beyond that of a small file; a table in memory takes some 750
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere"),
]


def peak_megabytes(*words):
    """Return the peak of the resident memory of a command."""
    run = subprocess.Popen([*PARTITA, *map(str, words)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    assert run.returncode == 0
    return usage.ru_maxrss / 1024


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    centers = 6 * rng.normal(size=(5, N_FEATURES))
    rows = centers[rng.integers(0, 5, N_ROWS)] + rng.normal(size=(N_ROWS, N_FEATURES))
    return pa.table({f"f{i}": (i + 1) * rows[:, i] for i in range(N_FEATURES)})


@pytest.mark.parametrize("format", ["parquet", "csv", "npy"])
def test_fit_and_predict_read_a_large_file_in_little_memory(tmp_path, table, format):
    from partita.tables import write_table

    n_rows = N_ROWS if format != "csv" else N_ROWS // 3  # as many bytes
    data, few = tmp_path / f"data.{format}", tmp_path / f"few.{format}"
    write_table(table.slice(0, n_rows), data)
    write_table(table.slice(0, 2000), few)
    model, labels = tmp_path / "a.partita", tmp_path / "labels.csv"
    words = ("--quiet", "--force", "--labels", labels)
    limit = ("--memory-limit", "100MB")
    base = peak_megabytes("fit", few, "-k", 5, *words)
    grown = peak_megabytes("fit", data, "-k", 5, *words, *limit, "--model", model) - base
    assert grown < MAX_GROWTH_MB
    base = peak_megabytes("predict", few, "--model", model, *words)
    grown = peak_megabytes("predict", data, "--model", model, *words, *limit) - base
    assert grown < MAX_GROWTH_MB

"""Kernel K-means where memory is scarce: a result or a MemoryError, not the end of the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

LIMITED = """
import os, resource, warnings
import numpy as np
from partita import KernelKMeans
warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(1200, 5))
KernelKMeans(3, random_state=0, n_init=1, n_threads=2).fit(X[:50])
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * os.sysconf("SC_PAGE_SIZE") + 40 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for keywords in ({}, {"approximation": "nystrom"}, {"kernel": "sigmoid"}, {"init": "spectral"}):
    model = KernelKMeans(3, random_state=0, max_iter=3, n_threads=2, **keywords)
    model.set_params(n_init=1)
    try:
        print(model.fit(X).paths_[0].split(":")[0])
    except MemoryError as error:
        print("MemoryError", "BLAS" in str(error))
"""


@pytest.mark.compiled  # the twins need more memory
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_blas_does_not_end_the_process():
    """OpenBLAS exits where it cannot map its buffers; kernels without it need none."""
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    exact, *others = done.stdout.splitlines()
    assert exact in ("gram", "gram rows made again")
    # where the allocator ends first, that MemoryError is as good
    assert len(others) == 3
    assert all(line.startswith("MemoryError ") for line in others)
    assert "MemoryError True" in others

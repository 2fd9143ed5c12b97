"""Environment variables that libraries read at load, and a description of the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PARTITA_NUM_THREADS")
_CORE = "OPENBLAS_CORETYPE"
_OLD_OPENBLAS = (
    *("faiss", "faiss SuperKmeans", "faiss spherical", "faiss spherical, 90 iterations"),
    "mlpack",
)


def variables(name: str, threads: int) -> dict[str, str]:
    """The variables that a peer's process is started with."""
    return dict.fromkeys(_POOLS, str(threads)) | help_for(name)


def help_for(name: str) -> dict[str, str]:
    """Variables that let a library run at full speed; those already set stay."""
    chosen = {}
    if name in _OLD_OPENBLAS and (core := _openblas_core()):
        chosen[_CORE] = core
    if name == "mlpack":  # its short parallel loops lose much by spinning on a busy machine
        chosen["OMP_WAIT_POLICY"] = "passive"
    return {key: value for key, value in chosen.items() if key not in os.environ}


def _openblas_core() -> str | None:
    """The kernels that suit this processor, by name.

    faiss-cpu and mlpack come with an OpenBLAS of 2021 that does not know newer processors and takes
    SSE3 kernels ("Prescott") for them, which makes faiss two to four times slower than it need be.
    """
    flags = _cpuinfo("flags").split()
    if "avx512vl" in flags:
        return "SkylakeX"
    return "Haswell" if "avx2" in flags and "fma" in flags else None


@contextmanager
def changed(chosen: Mapping[str, str]) -> Iterator[None]:
    """The environment with some variables set, for processes started inside the block."""
    before = dict(os.environ)
    os.environ.update(chosen)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def processor() -> str:
    """The processor's name and how many cores this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_cpuinfo('model name') or 'unknown processor'}, {cores} cores"


def load() -> float:
    """The load average of the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")


def _cpuinfo(key: str) -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == key:
                return value.strip()
    return ""

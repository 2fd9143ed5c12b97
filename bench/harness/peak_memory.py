"""Peak memory of a call beyond what the process held before it."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SELF = Path("/proc/self")


class PeakMemory:
    """Bytes at the peak beyond those at the beginning; None where the system does not report it."""

    extra: int | None = None


@contextmanager
def peak_memory() -> Iterator[PeakMemory]:
    """Watch the resident memory of this process during a block."""
    found = PeakMemory()
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # what an earlier call freed would hide this one's need
    try:
        (_SELF / "clear_refs").write_text("5")  # sets VmHWM back to VmRSS
        before = _status("VmRSS")
    except OSError:
        yield found
        return
    yield found
    found.extra = max(0, _status("VmHWM") - before)


def _status(key: str) -> int:
    for line in (_SELF / "status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return 1024 * int(value.split()[0])
    raise OSError(f"no {key} in /proc/self/status")

"""Free memory."""

from __future__ import annotations

import os

# where neither /proc nor sysconf exists (Windows): enough for every small fit
DEFAULT_FREE_BYTES = 2.0**31


def free_memory() -> float:
    """Return the bytes available without swapping: of the machine, or of its container if less.

    Half of the physical memory where the system does not report what is free.
    """
    return min(_free_on_machine(), _free_in_container())


def _free_on_machine() -> float:
    try:
        with open("/proc/meminfo") as file:
            available = next(line for line in file if line.startswith("MemAvailable:"))
        return float(available.split()[1]) * 1024
    except (OSError, ValueError, StopIteration):
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2)
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        return DEFAULT_FREE_BYTES


def _free_in_container() -> float:
    try:
        with open("/sys/fs/cgroup/memory.max") as file:
            limit = float(file.read())  # "max" is not a number
        with open("/sys/fs/cgroup/memory.current") as file:
            return max(0.0, limit - float(file.read()))
    except (OSError, ValueError):
        return float("inf")

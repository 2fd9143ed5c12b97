"""How much memory is free."""

from __future__ import annotations

import os


def free_memory() -> float:
    """Bytes that can be had without swapping: of the machine, or of the container if that is less.

    Half of the machine's memory where the system does not say.
    """
    free = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2)
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":", 1) for line in file)
        free = float(lines["MemAvailable"].split()[0]) * 1024
        with open("/sys/fs/cgroup/memory.max") as file:
            limit = file.read().strip()
        with open("/sys/fs/cgroup/memory.current") as file:
            used = float(file.read())
        if limit != "max":
            free = min(free, max(0.0, float(limit) - used))
    except (OSError, ValueError, KeyError):
        pass
    return free

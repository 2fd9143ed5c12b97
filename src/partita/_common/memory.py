"""Free memory."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator

# where neither /proc nor sysconf exists (Windows): enough for every small fit
DEFAULT_FREE_BYTES = 2.0**31
NO_LIMIT_BYTES = 2.0**60  # version 1 of cgroups has the largest number instead of "max"
# (controllers, mount point, limit, use, use that the kernel can drop) of cgroups version 2 and 1
CGROUP_FILES = (
    ("", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    (
        "memory",
        "/sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)


def free_memory() -> float:
    """Return the bytes available without swapping to the machine, its container and this process.

    Half of the physical memory where the system does not report what is free.
    """
    return min(_free_on_machine(), _free_in_container(), _free_address_space())


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
    """Return what the tightest of the control groups of this process leaves."""
    free = float("inf")
    for allowed, use_file, stat_file, droppable in _limited_groups():
        try:
            with open(use_file) as file:
                used = float(file.read())
        except (OSError, ValueError):
            continue
        free = min(free, max(0.0, allowed - used + _statistic(stat_file, droppable)))
    return free


@functools.cache
def _limited_groups() -> list[tuple[float, str, str, str]]:
    """List the control groups of this process that have a limit: it, and the files of their use."""
    groups = []
    for controller, root, limit, use, droppable in CGROUP_FILES:
        for folder in _cgroup_folders(controller):
            try:
                with open(f"{root}{folder}/{limit}") as file:
                    allowed = float(file.read())  # "max" is not a number
            except (OSError, ValueError):
                continue
            if allowed < NO_LIMIT_BYTES:
                place = root + folder
                groups.append((allowed, f"{place}/{use}", f"{place}/memory.stat", droppable))
    return groups


def _cgroup_folders(controller: str) -> Iterator[str]:
    """Yield the control group of this process and those that contain it, "" for the root."""
    path = ""
    try:
        with open("/proc/self/cgroup") as file:
            for line in file:
                _, controllers, name = line.rstrip("\n").split(":", 2)
                if controller in controllers.split(","):
                    path = name.rstrip("/")
    except (OSError, ValueError):
        pass
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield ""


def _statistic(file_name: str, name: str) -> float:
    try:
        with open(file_name) as file:
            return float(next(line for line in file if line.startswith(f"{name} ")).split()[1])
    except (OSError, ValueError, StopIteration):
        return 0.0


def _free_address_space() -> float:
    """Return what `ulimit -v` leaves; inf without such a limit."""
    try:
        import resource

        allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
        if allowed == resource.RLIM_INFINITY:
            return float("inf")
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, AttributeError, OSError, ValueError):  # not a POSIX system, or no /proc
        return float("inf")
    return max(0.0, float(allowed - used))

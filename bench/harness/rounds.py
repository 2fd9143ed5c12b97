"""One task by every library, in turn, again and again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.peer_process import FailedError, PeerProcess
from harness.timing import BestTime, rotated


@dataclass(frozen=True, slots=True)
class Rounds:
    """The number of repeats, and limits on the time of one call."""

    count: int
    long: float  # seconds: what took longer is not repeated
    limit: float | None = None  # seconds after which a call is given up

    def turns(
        self, task: Any, processes: Mapping[str, PeerProcess], best: dict[str, BestTime]
    ) -> Iterator[tuple[str, int, PeerProcess]]:
        """Yield (library, round, process); slow libraries, by `best`, are not repeated."""
        best.update({name: BestTime() for name in processes})
        for process in processes.values():
            process.call("load", task)
        for number in range(self.count):
            for name in rotated(list(processes), number):
                if not (best[name] and best[name].seconds > self.long):
                    yield name, number, processes[name]

    def call(self, process: PeerProcess, task: Any, *what: Any) -> Any:
        """Fit once; return None and reload the task if the call failed."""
        try:
            return process.call("fit", *what, seconds=self.limit)
        except FailedError:
            process.call("load", task)
            return None

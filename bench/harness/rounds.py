"""One task by every library, in turn, again and again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.peer_process import FailedError, PeerProcess
from harness.timing import BestTime, rotated


@dataclass(frozen=True, slots=True)
class Rounds:
    """How often, and how long one call may take."""

    count: int
    long: float  # seconds: what took longer is not repeated
    limit: float | None = None  # seconds after which a call is given up

    def turns(
        self, task: Any, processes: Mapping[str, PeerProcess], best: dict[str, BestTime]
    ) -> Iterator[tuple[str, int, PeerProcess]]:
        """Whose turn it is, in which round; `best` says who need not be asked again."""
        best.update({name: BestTime() for name in processes})
        for process in processes.values():
            process.call("load", task)
        for number in range(self.count):
            for name in rotated(list(processes), number):
                if not (best[name] and best[name].seconds > self.long):
                    yield name, number, processes[name]

    def call(self, process: PeerProcess, task: Any, *what: Any) -> Any:
        """A fit by one of them; None if it failed, and then it begins anew."""
        try:
            return process.call("fit", *what, seconds=self.limit)
        except FailedError:
            process.call("load", task)
            return None

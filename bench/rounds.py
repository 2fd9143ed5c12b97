"""One task by everybody, in turn, again and again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from measure import Best, in_turn
from stands import FailedError, Stand


@dataclass(frozen=True, slots=True)
class Rounds:
    """How often, and how long one call may take."""

    count: int
    long: float  # seconds: what took longer is not repeated
    limit: float | None = None  # seconds after which a call is given up

    def play(
        self, task: Any, stands: Mapping[str, Stand], best: dict[str, Best]
    ) -> Iterator[tuple[str, int, Stand]]:
        """Whose turn it is, in which round; `best` says who need not be asked again."""
        best.update({name: Best() for name in stands})
        for stand in stands.values():
            stand.ask("load", task)
        for number in range(self.count):
            for name in in_turn(list(stands), number):
                if not (best[name] and best[name].seconds > self.long):
                    yield name, number, stands[name]

    def ask(self, stand: Stand, task: Any, *what: Any) -> Any:
        """A fit by one of them; None if it failed, and then it begins anew."""
        try:
            return stand.ask("fit", *what, seconds=self.limit)
        except FailedError:
            stand.ask("load", task)
            return None

"""`StopReason`: why a fit stopped, as text for people with a kind for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

# kinds of reasons that end a run before it has converged
LIMITS = frozenset({"max_iter", "max_rows", "deadline", "callback"})


class StopReason(str):
    """A sentence with a `kind`; no program depends on the wording.

    >>> reason = StopReason("no point changed its cluster", "same_partition")
    >>> reason.kind, reason.is_limit, reason.upper()[:8]
    ('same_partition', False, 'NO POINT')
    """

    kinds: tuple[str, ...]

    def __new__(cls, text: str, *kinds: str) -> Self:
        """Make a reason of `text`; a combined reason has several kinds."""
        reason = super().__new__(cls, text)
        reason.kinds = kinds
        return reason

    @classmethod
    def of(cls, answer: str, kind: str) -> StopReason:
        """Give plain text, such as a user's callable returns, a kind."""
        return answer if isinstance(answer, StopReason) else cls(answer, kind)

    @classmethod
    def all_of(cls, reasons: Iterable[str]) -> StopReason:
        """Combine reasons that hold at the same iteration."""
        parts = [cls.of(reason, "when") for reason in reasons]
        return cls(" and ".join(parts), *(kind for part in parts for kind in part.kinds))

    @property
    def kind(self) -> str:
        """The kinds in one word, joined by "&"."""
        return "&".join(self.kinds)

    @property
    def is_limit(self) -> bool:
        """True if a limit or a callback ended the run, not convergence."""
        return not LIMITS.isdisjoint(self.kinds)

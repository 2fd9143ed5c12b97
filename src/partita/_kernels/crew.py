"""The thread pool of the kernels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Crew:
    """The threads of the compiled kernels. The NumPy kernels run in the calling thread."""

    threads: int

    def dismiss(self) -> None:
        """Join the threads; there are none here."""

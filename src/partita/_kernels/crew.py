"""Who does the work of a kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Crew:
    """Threads that the compiled kernels share their rows among; NumPy text runs in the caller's."""

    threads: int

    def dismiss(self) -> None:
        """Nobody is there."""

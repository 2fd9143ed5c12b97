"""A look: one thing to look for, and what it needs to be looked for at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from partita.diagnosis.finding import Finding
from partita.diagnosis.fit_context import View


@dataclass(frozen=True, slots=True)
class Look:
    """`see` gives a finding of that name, or None; the model must not lack any of `needs`."""

    name: str
    see: Callable[[View], Finding | None]
    needs: tuple[str, ...] = ()

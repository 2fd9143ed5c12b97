"""The record of one check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from partita.diagnosis.finding import Finding
from partita.diagnosis.fit_context import FitContext


@dataclass(frozen=True, slots=True)
class Check:
    """A named check: `run` returns a finding of that name or None, or raises `CheckSkipped`.

    It is skipped if the model lacks any of `needs` (see `model_facts`).
    """

    name: str
    run: Callable[[FitContext], Finding | None]
    needs: tuple[str, ...] = ()

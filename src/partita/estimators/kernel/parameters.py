"""The parameters of `KernelKMeans`, checked and put in the engine's terms."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from partita._common.parameters import Rule, choice, either, integer, number
from partita._common.random_state import generator, spawn_generators
from partita.empty_clusters import POLICIES, EmptyPolicy
from partita.estimators.kernel import kernel_input
from partita.estimators.kernel.starts import Start, starts
from partita.estimators.lloyd_parameters import FitParameters
from partita.halting import Halt, Shift


class KernelParameters(FitParameters):
    """The parameters of `KernelKMeans`, checked, in the engine's terms."""

    rules: ClassVar[Mapping[str, Rule]] = {
        **FitParameters.rules,
        **kernel_input.RULES,
        "tol": number(0),
        "empty": choice(*POLICIES),
        "n_components": either(integer(1), choice("auto")),
    }
    free_memory_share = 0.5  # for the Gram matrix

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.begin = time.perf_counter()
        self.rng = generator(model.random_state)

    @property
    def empty(self) -> EmptyPolicy:
        """The policy for clusters without weight."""
        return POLICIES[self.model.empty]

    def halt_at(self, variance: float) -> Halt:
        """Stop at a fixed point, by `tol` or the user's criterion, or at the limit."""
        tol = self.model.tol * max(0.0, variance)
        return self.until(Shift(math.sqrt(tol)) if tol else None)

    def starts(self, X: Any) -> list[Start]:
        """Return one function rng -> start for every run, for the rows as the user gave them."""
        return starts(self, X, self.model.kernel in kernel_input.GIVEN)

    def seeded(
        self, every: list[Start], run: Callable[[Start, np.random.Generator], Any]
    ) -> list[Any]:
        """Return run(start, rng) for every start, as functions without arguments."""
        return [
            lambda start=start, rng=rng: run(start, rng)
            for start, rng in zip(every, spawn_generators(self.rng, len(every)), strict=True)
        ]

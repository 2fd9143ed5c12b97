"""The parameters of an estimator, checked and put in the engine's terms."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita._common.memory import free_memory
from partita._common.random_state import legacy
from partita._common.warnings import warn
from partita.empty_clusters import POLICIES, EmptyPolicy
from partita.engine.paths.choice import PATHS
from partita.estimators import validation
from partita.halting import Halt, MaxIter, SamePartition, Shift
from partita.init import STARTS
from partita.run_record import RunRecord
from partita.source.blocks import Source
from partita.trace import Callback, Progress

# scikit-learn's names, and ours for what they mean here: the same answer, by the fastest path.
FASTEST = ("lloyd", "elkan", "auto")
CAREFUL = ("k-means++", "k-means||", "mini-batch")  # starts of which one is enough


class Settings:
    """The parameters that the whole family has, checked, in the engine's terms."""

    def __init__(self, model: Any) -> None:
        self.model = model
        if model.halt is not None and not isinstance(model.halt, Halt):
            raise ValueError(
                f"halt={model.halt!r} was given; a criterion from partita.halting is expected, "
                "for example halt=partita.halting.RelDecrease(1e-3)"
            )
        if model.callback is not None and not callable(model.callback):
            raise ValueError(f"callback={model.callback!r} was given; a callable is expected")
        if model.memory_limit is not None and not validation.is_amount(model.memory_limit):
            raise ValueError(
                f"memory_limit={model.memory_limit!r} was given; a number of bytes is expected, or "
                "None for a quarter of what is free"
            )
        self.k = validation.whole("n_clusters", model.n_clusters)
        self.max_iter = validation.whole("max_iter", model.max_iter)
        self.threads = validation.check_threads(model.n_threads)
        self.verbose = bool(model.verbose)

    @property
    def memory(self) -> float:
        """How many bytes beyond the data a fit may take: a quarter of what is free, if not said."""
        limit = self.model.memory_limit
        return free_memory() / 4 if limit is None else float(limit)

    @property
    def callbacks(self) -> list[Callback]:
        """Who hears of every iteration."""
        heard = [self.model.callback] if self.model.callback is not None else []
        return [*heard, _print_progress] if self.verbose else heard

    @property
    def on_run_end(self) -> Callable[[RunRecord], None] | None:
        """Who hears of the end of every run."""
        return _print_end if self.verbose else None

    def until(self, otherwise: Halt | None = None) -> Halt:
        """No label changed, then the user's criterion or what stands in for it, then the limit."""
        if self.model.halt is not None:
            otherwise = self.model.halt
        last = MaxIter(self.max_iter)
        return SamePartition() | (last if otherwise is None else otherwise | last)

    def runs(self, auto: int) -> int:
        """How many runs `n_init` asks for."""
        n_init = self.model.n_init
        if isinstance(n_init, str) and n_init == "auto":
            return auto
        return validation.whole("n_init", n_init, instead=", or 'auto'")


class LloydSettings(Settings):
    """And those of the members whose centers are vectors."""

    few, many = 1, 10  # runs, if `n_init` does not say; many where starts leave much to chance

    def __init__(self, model: Any) -> None:
        self._algorithm = getattr(model, "algorithm", "lloyd")
        one_of("algorithm", self._algorithm, (*FASTEST, *PATHS))
        one_of("empty", model.empty, tuple(POLICIES))
        if not validation.is_amount(model.tol):
            raise ValueError(
                f"tol={model.tol!r} was given; a number that is not negative is expected"
            )
        super().__init__(model)
        if self._algorithm == "elkan" and model.n_clusters == 1:
            warn(
                "algorithm='elkan' doesn't make sense for a single cluster. Using 'lloyd' instead.",
                RuntimeWarning,
            )

    @property
    def algorithm(self) -> str:
        """The path to take, or "auto"."""
        return "auto" if self._algorithm in FASTEST else str(self._algorithm)

    @property
    def empty(self) -> EmptyPolicy:
        """The policy for clusters without weight."""
        return POLICIES[self.model.empty]

    def halt(self, source: Source) -> Halt:
        """No label changed, then `tol` or the user's criterion, then the limit."""
        if self.model.halt is not None:  # no survey is needed
            return self.until()
        tol = self.model.tol
        return self.until(Shift(math.sqrt(tol) * source.survey().spread if tol else 0.0))

    def starts(self, X: Any) -> list[Callable[[Source, np.random.Generator], Floats]]:
        """One function (source, rng) -> centers for every run."""
        init, k = self.model.init, self.k
        if isinstance(init, str):
            one_of("init", init, tuple(STARTS))
            named = STARTS[init]
            runs = self.runs(self.few if init in CAREFUL else self.many)
            return [lambda source, rng: named(source, k, rng)] * runs
        if callable(init) and not hasattr(init, "get_params"):

            def call(source: Source, rng: np.random.Generator) -> Floats:
                return validation.check_start(init(X, k, random_state=legacy(rng)), X, k)

            return [call] * self.runs(self.many)
        if init is None or isinstance(init, numbers.Number):
            raise ValueError(
                f"init={init!r} was given; one of {', '.join(STARTS)}, an array of centers, a "
                "fitted model or a callable is expected"
            )
        given = validation.check_start(init, X, k)
        if self.runs(1) != 1:
            warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(self.model).__name__} instead of n_init={self.model.n_init}.",
                RuntimeWarning,
            )
        return [lambda source, rng: given]


def one_of(name: str, value: Any, known: tuple[str, ...]) -> None:
    """A parameter that must be one of some names."""
    if value not in known:
        raise ValueError(f"{name}={value!r} was given; one of {', '.join(known)} is expected")


def _print_progress(progress: Progress) -> None:
    if progress.iteration == 1:
        print("Initialization complete")
    print(f"Iteration {progress.iteration - 1}, inertia {progress.cost}.")


def _print_end(fit: RunRecord) -> None:
    print(f"Stopped at iteration {len(fit.trace) - 1}: {fit.stopped_by}.")

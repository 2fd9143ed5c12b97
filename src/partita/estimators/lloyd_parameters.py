"""The parameters of an estimator, checked and put in the engine's terms."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from partita._common import parameters as accept
from partita._common.array_types import Floats
from partita._common.byte_sizes import as_bytes, bytes_in
from partita._common.memory import free_memory
from partita._common.parameters import Rule, check, check_parameters, must_be
from partita._common.random_state import as_random_state
from partita._common.warnings import warn
from partita.empty_clusters import POLICIES, EmptyPolicy
from partita.engine.paths.choice import PATHS
from partita.engine.search.search_options import SearchOptions
from partita.estimators import validation
from partita.estimators.gaps import MISSING_RULE
from partita.halting import Deadline, Halt, MaxIter, SamePartition, Shift
from partita.init import STARTS, Start
from partita.run_record import RunRecord
from partita.source.protocol import Source
from partita.trace import Callback, Progress

# scikit-learn's names, and ours; all give the same answer by the fastest path
FASTEST_PATH_NAMES = ("lloyd", "elkan", "auto")
QUALITIES = ("fast", "balanced", "best")
SPREAD_STARTS = ("k-means++", "k-means||", "mini-batch")  # one run from such a start is enough
SMALL_BYTES = 1 << 18  # of data, whose fits take no more than SMALL_FIT_BYTES
SMALL_FIT_BYTES = 2.0**24
MAX_RUNS = 100_000  # of `n_init`; each has a random generator of its own
BYTE_SIZE = Rule(
    ("a size such as '2GiB'",), lambda v: isinstance(v, str) and bytes_in(v) is not None
)
INIT_ADVICE = "init may also be an array, a fitted model or a callable."


class FitParameters:
    """The parameters of an estimator, checked by `rules`, which may name more than it has."""

    rules: ClassVar[Mapping[str, Rule]] = {
        "n_clusters": replace(accept.integer(1), advice="partita.choose_k(X) recommends a number."),
        "n_init": accept.either(accept.integer(1, MAX_RUNS), accept.choice("auto")),
        "max_iter": accept.integer(1),
        "tol": accept.number(0),
        "empty": accept.choice(*POLICIES),
        "algorithm": accept.choice(*FASTEST_PATH_NAMES, *PATHS),
        "halt": accept.optional(
            accept.instance(Halt, "a criterion from partita.halting"),
            "For example, halt=partita.halting.RelDecrease(1e-3).",
        ),
        "callback": accept.optional(accept.CALLABLE),
        "verbose": accept.VERBOSITY,
        "n_threads": validation.N_THREADS,
        "memory_limit": accept.optional(
            accept.either(accept.number(0), BYTE_SIZE),
            "The unit of a number is bytes; None means a share of free memory.",
        ),
    }
    free_memory_share = 0.25  # that a fit may take, if `memory_limit` is None

    def __init__(self, model: Any) -> None:
        check_parameters(model, self.rules)
        self.model = model
        self.k, self.max_iter = int(model.n_clusters), int(model.max_iter)
        self.threads = validation.check_threads(model.n_threads)

    @property
    def memory(self) -> float:
        """Bytes that a fit may take beyond the data."""
        limit = self.model.memory_limit
        return free_memory() * self.free_memory_share if limit is None else as_bytes(limit)

    def memory_for(self, X: Any) -> float:
        """The same for a fit of X: for small data, without a look at how much is free."""
        is_small = getattr(X, "nbytes", SMALL_BYTES + 1) <= SMALL_BYTES
        return SMALL_FIT_BYTES if is_small and self.model.memory_limit is None else self.memory

    @property
    def callbacks(self) -> list[Callback]:
        """Functions to call after every iteration."""
        of_user = [self.model.callback] if self.model.callback is not None else []
        return [*of_user, _print_progress] if self.model.verbose else of_user

    @property
    def on_run_end(self) -> Callable[[RunRecord], None] | None:
        """Function to call after every run."""
        return _print_end if self.model.verbose else None

    @property
    def empty(self) -> EmptyPolicy:
        """The policy for clusters without weight."""
        return POLICIES[self.model.empty]

    def until(self, otherwise: Halt | None = None) -> Halt:
        """Stop at a fixed point, by the user's criterion (or `otherwise`), or at the limit."""
        if self.model.halt is not None:
            otherwise = self.model.halt
        last = MaxIter(self.max_iter)
        return SamePartition() | (last if otherwise is None else otherwise | last)

    def run_count(self, auto: int) -> int:
        """Return how many runs to make; `auto` of them for n_init="auto"."""
        return auto if isinstance(self.model.n_init, str) else int(self.model.n_init)

    def warn_of_single_start(self) -> None:
        """Warn if `n_init` is above 1 although one start was given."""
        if self.run_count(1) != 1:
            warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(self.model).__name__} instead of n_init={self.model.n_init}.",
                RuntimeWarning,
            )


class LloydParameters(FitParameters):
    """The parameters of estimators whose centers are vectors."""

    rules: ClassVar[Mapping[str, Rule]] = {
        **FitParameters.rules,
        "quality": accept.choice(*QUALITIES),
        "time_budget": accept.optional(accept.number(0), "The unit is seconds."),
        "missing": MISSING_RULE,
    }
    spread_runs, random_runs = 1, 10  # for n_init="auto", by how much a start leaves to chance

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        quality, budget = getattr(model, "quality", "fast"), getattr(model, "time_budget", None)
        self.time_budget = None if budget is None else float(budget)
        self.search = None
        if quality != "fast":
            self.search = SearchOptions(quality, self.run_count(1), self.time_budget)
        algorithm = getattr(model, "algorithm", "lloyd")
        self.algorithm = "auto" if algorithm in FASTEST_PATH_NAMES else str(algorithm)
        if algorithm == "elkan" and self.k == 1:
            warn(
                "algorithm='elkan' doesn't make sense for a single cluster. Using 'lloyd' instead.",
                RuntimeWarning,
            )

    def halt(self, source: Source) -> Halt:
        """Stop at a fixed point, by `tol` or the user's criterion, or at the limit."""
        if self.model.halt is not None:  # no survey is needed
            halt = self.until()
        else:
            tol = self.model.tol
            halt = self.until(Shift(math.sqrt(tol) * source.survey().spread if tol else 0.0))
        is_limited = self.search is None and self.time_budget is not None
        return halt | Deadline(self.time_budget) if is_limited else halt  # type: ignore[arg-type]

    def starts(
        self, X: Any, table: Mapping[str, Start] = STARTS
    ) -> list[Callable[[Source, np.random.Generator, float], Floats]]:
        """Return one function (source, rng, memory) -> centers for every run."""
        init, k = self.model.init, self.k
        if isinstance(init, str):
            start = table[check("init", init, accept.choice(*STARTS), INIT_ADVICE)]
            runs = self.run_count(self.spread_runs if init in SPREAD_STARTS else self._random_runs)
            return [lambda source, rng, memory: start(source, k, rng, memory)] * runs
        if callable(init) and not hasattr(init, "get_params"):

            def call(source: Source, rng: np.random.Generator, memory: float) -> Floats:
                return validation.check_initial_centers(
                    init(X, k, random_state=as_random_state(rng)), X, k
                )

            return [call] * self.run_count(self._random_runs)
        if init is None or isinstance(init, numbers.Number):
            raise must_be("init", accept.choice(*STARTS).text, init, INIT_ADVICE)
        centers = validation.check_initial_centers(init, X, k)
        self.warn_of_single_start()
        return [lambda source, rng, memory: centers]

    @property
    def _random_runs(self) -> int:
        """Runs from random starts for n_init="auto": a search needs no more than one."""
        return self.random_runs if self.search is None else 1


def _print_progress(progress: Progress) -> None:
    if progress.iteration == 1:
        print("Initialization complete")
    print(f"Iteration {progress.iteration - 1}, inertia {progress.cost}.")


def _print_end(fit: RunRecord) -> None:
    print(f"Stopped at iteration {len(fit.trace) - 1}: {fit.stopped_by}.")

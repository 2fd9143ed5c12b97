"""Fits of kernel K-means: by a Gram matrix, or by Nyström's features and the Euclidean engine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.memory import free_memory
from partita._common.random_state import family, generator
from partita._common.threads import Workers
from partita._common.warnings import warn
from partita.empty_clusters import POLICIES, EmptyPolicy
from partita.engine.kernel.definiteness import dimension
from partita.engine.kernel.nystrom import Nystrom
from partita.engine.kernel.step import KernelResult, best_means
from partita.engine.restarts import LloydOptions, best_of
from partita.estimators import validation
from partita.estimators.kernel import kernel_input
from partita.estimators.kernel.feature_space import MeansSpace, PivotSpace, Space
from partita.estimators.kernel.starts import Start, in_features, in_gram, starts
from partita.estimators.lloyd_parameters import Settings, one_of
from partita.halting import Halt, MaxIter, Shift
from partita.init.plusplus import plusplus
from partita.run_record import Fit
from partita.source.blocks import Source
from partita.source.gram_matrix import Gram
from partita.source.kernel_function import KernelFunction
from partita.stats import ClusterStats

_RANK = 64  # to begin with, where the rank of an approximation is to be found
_MOST = 1024  # and at most
_GOOD = 0.05  # of the objective: what an approximation may miss
_LOOK = 20  # iterations that show about what the objective will be


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a fit found, and what new rows need."""

    labels: Ints
    inertia: float
    interval: tuple[float, float]  # of the true objective of the partition
    stats: ClusterStats
    run: Fit
    space: Space
    dimension: float  # how many directions the data fills in feature space
    kernel: KernelFunction | None
    sigma: float = 0.0
    degree: Floats | None = None  # of the nodes, if X was a graph


class KernelSettings(Settings):
    """The parameters of `KernelKMeans`, checked, in the engine's terms."""

    def __init__(self, model: Any) -> None:
        kernel_input.check_kernel(model)
        one_of("empty", model.empty, tuple(POLICIES))
        if not validation.is_amount(model.tol):
            raise ValueError(
                f"tol={model.tol!r} was given; a number that is not negative is expected"
            )
        if not (isinstance(model.n_components, str) and model.n_components == "auto"):
            validation.whole("n_components", model.n_components, instead=", or 'auto'")
        super().__init__(model)
        self.begin = time.perf_counter()
        self.rng = generator(model.random_state)

    @property
    def memory(self) -> float:
        """How many bytes a Gram matrix may take: half of what is free, if not said."""
        limit = self.model.memory_limit
        return free_memory() / 2 if limit is None else float(limit)

    @property
    def empty(self) -> EmptyPolicy:
        """The policy for clusters without weight."""
        return POLICIES[self.model.empty]

    def halt_at(self, variance: float) -> Halt:
        """No label changed, then `tol` or the user's criterion, then the limit."""
        tol = self.model.tol * max(0.0, variance)
        return self.until(Shift(math.sqrt(tol)) if tol else None)

    def starts(self, X: Any) -> list[Start]:
        """One function rng -> start for every run, from the rows as they were given."""
        return starts(self, X, self.model.kernel in kernel_input.GIVEN)

    def seeded(
        self, every: list[Start], run: Callable[[Start, np.random.Generator], Any]
    ) -> list[Any]:
        """run(start, rng) for every start, as functions without arguments."""
        seeds = family(self.rng, len(every))
        return [
            lambda start=start, seed=seed: run(start, seed)
            for start, seed in zip(every, seeds, strict=True)
        ]


def fit_matrix(settings: KernelSettings, X: Any, weight: Floats | None, workers: Workers) -> Fitted:
    """A fit to a Gram matrix, or to the affinities of a graph."""
    model, asked = settings.model, settings.model.diagonal_shift
    if model.approximation == "nystrom":
        raise ValueError(
            f"approximation='nystrom' was given with kernel={model.kernel!r}: a matrix that is "
            "there needs no approximation; take 'exact'"
        )
    if model.kernel == kernel_input.CUT:
        if weight is not None:
            raise ValueError(
                "sample_weight was given with kernel='normalized-cut', where the weight of a node "
                "is its degree; scale the affinities instead"
            )
        every = settings.starts(X)
        X, weight = kernel_input.cut_matrix(X)
        asked = "auto" if asked is None else asked
    else:
        kernel_input.check_square(X, "The Gram matrix")
        every = settings.starts(X)
    gram = kernel_input.given_gram(X, weight, workers)
    found = _fit_gram(settings, every, gram, None, X, asked, "the matrix was given")
    return replace(found, degree=weight) if model.kernel == kernel_input.CUT else found


def fit_rows(
    settings: KernelSettings, X: Any, weight: Floats | None, source: Source, workers: Workers
) -> Fitted:
    """A fit to rows of features; `source` has surveyed them."""
    survey = source.survey()
    kernel = kernel_input.kernel_of(settings.model, kernel_input.middle(X, weight), survey.spread)
    every, rows = settings.starts(X), kernel.place(X)
    model, n = settings.model, X.shape[0]
    room, need = settings.memory, float(n) * n * X.dtype.itemsize
    if model.approximation == "nystrom" and model.diagonal_shift is not None:
        raise ValueError(
            f"diagonal_shift={model.diagonal_shift!r} was given with approximation='nystrom', "
            "which needs a positive semidefinite kernel and shifts nothing; take 'exact'"
        )
    auto = model.approximation == "auto" and need > room and kernel.definite
    if auto and model.diagonal_shift is None:
        warn(
            f"The Gram matrix of {n} rows needs {need / 1e9:.3g} GB and memory_limit allows "
            f"{room / 1e9:.3g}: it is approximated (approximation='nystrom'). 'exact' computes its "
            "rows again and again instead.",
            UserWarning,
        )
    if model.approximation == "nystrom" or (auto and model.diagonal_shift is None):
        return _fit_features(settings, every, kernel, rows, weight, workers)
    gram = kernel_input.computed_gram(kernel, rows, weight, workers, room)
    note = f"{need / 1e9:.3g} GB for the Gram matrix {'fit' if gram.exact else 'do not fit'}"
    return _fit_gram(settings, every, gram, kernel, rows, model.diagonal_shift, note)


def _fit_gram(
    settings: KernelSettings,
    every: list[Start],
    gram: Gram,
    kernel: KernelFunction | None,
    X: Any,
    asked: Any,
    note: str,
) -> Fitted:
    known = kernel is not None and kernel.definite
    warned, sigma = kernel_input.shift_of(asked, gram, known)
    weight, k = gram.weight, settings.k

    def run(start: Start, rng: np.random.Generator) -> Any:
        return in_gram(start(rng), gram, kernel, X, k, rng, sigma)

    result: KernelResult = best_means(
        gram,
        settings.seeded(every, run),
        k=k,
        halt=settings.halt_at(float(weight @ gram.diagonal / weight.sum())),
        empty=settings.empty,
        sigma=sigma,
        definite=known or sigma > 0,
        note=note,
        callbacks=settings.callbacks,
        on_run_end=settings.on_run_end,
        begin=settings.begin,
    )
    if not (known or warned or sigma) and _rises(result.fit):
        kernel_input.warn_indefinite()
    stats = result.stats
    beyond = np.count_nonzero(weight) - np.count_nonzero(stats.weight)
    cost = exact_total(stats.sse) - sigma * beyond
    return Fitted(
        result.labels,
        result.inertia,
        (cost, cost),
        stats,
        result.fit,
        MeansSpace(gram, result, kernel, X),
        dimension(gram),
        kernel,
        sigma,
    )


def _rises(fit: Fit) -> bool:
    """Whether an iteration raised the objective, other than by mending an empty cluster."""
    pairs = zip(fit.trace[:-1], fit.trace[1:], strict=True)
    return any(b.cost > a.cost_after * (1 + 1e-9) and not a.empty for a, b in pairs)


def _fit_features(
    settings: KernelSettings,
    every: list[Start],
    kernel: KernelFunction,
    X: Any,
    weight: Floats | None,
    workers: Workers,
) -> Fitted:
    n, plain = X.shape[0], np.ones(X.shape[0]) if weight is None else weight
    rng = settings.rng.spawn(1)[0]
    nystrom = Nystrom(kernel, X, plain, workers)
    note = _find_rank(settings, nystrom, weight, rng)
    features = nystrom.features
    source = validation.make_source(features, weight, workers)
    mapped = nystrom.map()

    def run(start: Start, seed: np.random.Generator) -> Floats:
        def of_points(points: Floats) -> Floats:
            return mapped.features(kernel.place(points.astype(X.dtype)), workers)

        return in_features(start(seed), source, of_points, settings.k, seed)

    variance = source.survey().spread ** 2 * features.shape[1]
    ways = LloydOptions(
        settings.k,
        settings.halt_at(variance),
        settings.empty,
        settings.callbacks,
        settings.on_run_end,
        memory=max(0.0, settings.memory - features.nbytes),
    )
    result = best_of(source, settings.seeded(every, run), ways)
    low = exact_total(result.stats.sse)
    missing = nystrom.trace
    note = f"nystrom: {features.shape[1]} of {n} columns, {note}"
    return Fitted(
        result.labels,
        result.inertia,
        (low, low + missing),
        replace(result.stats, mean=result.stats.mean[:, :0]),
        replace(result.fit, paths=(note, *result.fit.paths)),
        PivotSpace(mapped, result.centers),
        nystrom.dimension(),
        kernel,
    )


def _find_rank(
    settings: KernelSettings, nystrom: Nystrom, weight: Floats | None, rng: np.random.Generator
) -> str:
    """Grow the features as far as is asked for, or is of use; why it ended there."""
    n, asked = len(nystrom.weight), settings.model.n_components
    room = max(1, int(settings.memory / (3 * 8 * n)))  # the features, a copy, and the engine's
    if asked != "auto":
        nystrom.grow(min(int(asked), n), rng)
        enough = len(nystrom.pivots) < int(asked)
        return "more would add nothing" if enough else "as many as were asked for"
    most = min(n, _MOST, room)
    rank = min(most, max(_RANK, 4 * settings.k))
    while True:
        nystrom.grow(rank, rng)
        cost = _look(settings, nystrom, weight)
        off = f"the objective may be off by {nystrom.trace / cost:.2g} of itself" if cost else ""
        if nystrom.trace <= _GOOD * cost or nystrom.features.shape[1] < rank:
            return off or "nothing is missing"
        if rank == most:
            limit = "memory_limit" if most == room < min(n, _MOST) else "the limit"
            return f"which is {limit}: {off}"
        rank = min(most, 2 * rank)


def _look(settings: KernelSettings, nystrom: Nystrom, weight: Floats | None) -> float:
    """About what the objective will be."""
    source: Source = validation.make_source(nystrom.features, weight, nystrom.workers)
    ways = LloydOptions(settings.k, settings.until(MaxIter(_LOOK)), POLICIES["keep"])
    start = [lambda: plusplus(source, settings.k, np.random.default_rng(0))[0]]
    return best_of(source, start, ways).inertia

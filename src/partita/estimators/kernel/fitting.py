"""Fits of kernel K-means: by a Gram matrix, or by Nyström features and the Euclidean engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.parameters import Got, must_be
from partita._common.random_state import spawn_generators
from partita._common.threads import Workers, check_room_for_blas, has_room_for_blas, one_blas_thread
from partita._common.warnings import warn
from partita.empty_clusters import POLICIES
from partita.engine.kernel.definiteness import dimension, variance
from partita.engine.kernel.nystrom_cholesky import BLOCK_ROWS, Nystrom
from partita.engine.kernel.step import best_means
from partita.engine.lloyd import LloydOptions
from partita.engine.restarts import best_of
from partita.estimators import validation
from partita.estimators.kernel import kernel_input, matrices
from partita.estimators.kernel.feature_space import MeansSpace, PivotSpace, Space
from partita.estimators.kernel.kernel_input import KernelParameters
from partita.estimators.kernel.starts import Start, in_features, in_gram, starts
from partita.halting import MaxIter
from partita.init.plusplus import plusplus
from partita.run_record import Fit
from partita.source.gram_matrix import Gram
from partita.source.kernel_function import KernelFunction
from partita.source.kernel_rows import KernelRows
from partita.source.protocol import Source
from partita.stats import ClusterStats

INITIAL_RANK, MAX_RANK = 64, 1024  # of an approximation with n_components="auto"
MAX_RELATIVE_ERROR = 0.05  # of the objective by an approximation
MAX_ROUNDING_ERROR = 1e-9  # relative difference of equal sums
ESTIMATE_ITERATIONS = 20  # of a run that estimates the objective


@dataclass(frozen=True, slots=True)
class KernelFit:
    """The result of a fit, and the space for new rows."""

    labels: Ints
    inertia: float
    interval: tuple[float, float]  # of the true objective of the partition
    stats: ClusterStats
    run: Fit
    space: Space
    dimension: float  # effective, of the data in feature space
    kernel: KernelFunction | None
    sigma: float = 0.0
    degree: Floats | None = None  # of the nodes, if X was a graph


def fit_matrix(
    parameters: KernelParameters, X: Any, weight: Floats | None, workers: Workers
) -> KernelFit:
    """Fit a Gram matrix, or the affinities of a graph."""
    model, diagonal_shift = parameters.model, parameters.model.diagonal_shift
    if model.approximation == "nystrom":
        advice = "A given matrix needs no approximation."
        wanted = f"'exact' or 'auto' with kernel={model.kernel!r}"
        raise must_be("approximation", wanted, "nystrom", advice)
    if model.kernel == kernel_input.CUT:
        if weight is not None:
            advice = "The weight of a node is its degree; scale the affinities instead."
            raise must_be(
                "sample_weight", "None with kernel='normalized-cut'", Got("weights"), advice
            )
        every = starts(parameters, X)
        X, weight = matrices.cut_matrix(X)
        diagonal_shift = "auto" if diagonal_shift is None else diagonal_shift
    else:
        matrices.check_square(X, "Gram matrix")
        every = starts(parameters, X)
    gram = matrices.given_gram(X, weight, workers)
    fit = _fit_gram(parameters, every, gram, None, diagonal_shift, "the matrix was given")
    return replace(fit, degree=weight) if model.kernel == kernel_input.CUT else fit


def fit_rows(
    parameters: KernelParameters, X: Any, weight: Floats | None, source: Source
) -> KernelFit:
    """Fit rows of features; `source` has surveyed them."""
    model, n, workers = parameters.model, X.shape[0], source.workers
    kernel = kernel_input.kernel_of(model, X.shape[1], source.survey().spread)
    every = starts(parameters, X)
    room, need = parameters.memory, matrices.gram_bytes(n)
    if model.approximation == "nystrom" and model.diagonal_shift is not None:
        advice = "Nyström needs a positive semidefinite kernel; use approximation='exact'."
        wanted = "None with approximation='nystrom'"
        raise must_be("diagonal_shift", wanted, model.diagonal_shift, advice)
    auto = model.approximation == "auto" and model.diagonal_shift is None
    threads = min(workers.n, -(-n // BLOCK_ROWS))  # that call BLAS
    too_large = auto and need > room and kernel.definite and has_room_for_blas(threads)
    if too_large:
        warn(
            f"The Gram matrix of {n} rows needs {need / 1e9:.3g} GB and memory_limit allows "
            f"{room / 1e9:.3g}: it is approximated (approximation='nystrom'). 'exact' recomputes "
            "its rows in every iteration instead.",
            UserWarning,
        )
    if model.approximation == "nystrom" or too_large:
        check_room_for_blas(threads)
        kernel = kernel.about(source.survey().grid.origin)
        with one_blas_thread():
            return _fit_features(parameters, every, kernel, kernel.place(X), weight, workers)
    rows = kernel.prepare(kernel.place(X), numbered=True)
    gram = matrices.computed_gram(kernel, rows, weight, workers, room)
    note = f"{need / 1e9:.3g} GB for the Gram matrix {'fit' if need <= room else 'do not fit'}"
    return _fit_gram(parameters, every, gram, (kernel, rows), model.diagonal_shift, note)


def _fit_gram(
    parameters: KernelParameters,
    every: list[Start],
    gram: Gram,
    computed: tuple[KernelFunction, KernelRows] | None,
    diagonal_shift: Any,
    note: str,
) -> KernelFit:
    """Fit by a Gram; `computed`: the kernel and the rows it is of, unless it was given."""
    kernel, rows = computed or (None, None)
    known = kernel is not None and kernel.descends
    warned, sigma = matrices.shift_of(diagonal_shift, gram, known)
    k = parameters.k

    def run(start: Start, rng: np.random.Generator) -> Any:
        return in_gram(start(rng), gram, kernel, rows, k, rng, sigma)

    halt = parameters.halt_at(variance(gram) if parameters.model.tol else 0.0)
    result = best_means(
        gram,
        _with_generators(parameters, every, run),
        LloydOptions(k, halt, parameters.empty, parameters.callbacks, parameters.on_run_end),
        sigma=sigma,
        definite=known or sigma > 0,
        note=note,
        begin=parameters.begin,
    )
    if not (known or warned or sigma) and _rises(result.fit):
        matrices.warn_indefinite()
    return KernelFit(
        result.labels,
        result.inertia,
        _interval(result.unshifted_cost, 0.0, None if sigma else result.inertia),
        result.stats,
        result.fit,
        MeansSpace(gram, result, kernel, None if rows is None else rows.values),
        dimension(gram),
        kernel,
        sigma,
    )


def _interval(cost: float, missing: float, inertia: float | None) -> tuple[float, float]:
    """Bounds of the objective of a partition by the true kernel, with the inertia between them.

    `cost` is the sum of squares about the means of the partition, of which an approximation may
    miss something. After convergence the inertia (None: that of a shifted kernel) is the same sum,
    in another order; before, it is the sum about the means of the last update, which is larger
    unless the kernel is indefinite.
    """
    if inertia is None:
        return cost, cost + missing
    if math.isclose(cost, inertia, rel_tol=MAX_ROUNDING_ERROR):
        cost = inertia
    return cost, max(cost + missing, inertia)


def _with_generators(
    parameters: KernelParameters,
    every: list[Start],
    run: Callable[[Start, np.random.Generator], Any],
) -> list[Any]:
    """Return run(start, rng) for every start, as functions without arguments."""
    generators = spawn_generators(parameters.rng, len(every))
    return [partial(run, *pair) for pair in zip(every, generators, strict=True)]


def _rises(fit: Fit) -> bool:
    """Return whether an iteration raised the objective, except by repairing an empty cluster."""
    pairs = zip(fit.trace[:-1], fit.trace[1:], strict=True)
    return any(b.cost > a.cost_after * (1 + 1e-9) and not a.empty for a, b in pairs)


def _fit_features(
    parameters: KernelParameters,
    every: list[Start],
    kernel: KernelFunction,
    X: Any,
    weight: Floats | None,
    workers: Workers,
) -> KernelFit:
    nystrom = Nystrom(kernel, X, np.ones(X.shape[0]) if weight is None else weight, workers)
    note = _find_rank(parameters, nystrom, weight)
    features, mapped = nystrom.features, nystrom.map()
    source = validation.make_source(features, weight, workers)

    def run(start: Start, seed: np.random.Generator) -> Floats:
        def of_points(points: Floats) -> Floats:
            return mapped.features(kernel.place(points.astype(X.dtype), X), workers)

        return in_features(start(seed), source, of_points, parameters.k, seed)

    variance = source.survey().spread ** 2 * features.shape[1]
    options = LloydOptions(
        parameters.k,
        parameters.halt_at(variance),
        parameters.empty,
        parameters.callbacks,
        parameters.on_run_end,
        memory=max(0.0, parameters.memory - features.nbytes),
    )
    result = best_of(source, _with_generators(parameters, every, run), options)
    low = exact_total(result.stats.sse)
    note = f"nystrom: {features.shape[1]} of {X.shape[0]} columns, {note}"
    return KernelFit(
        result.labels,
        result.inertia,
        _interval(low, nystrom.trace, result.inertia),
        replace(result.stats, mean=result.stats.mean[:, :0]),
        replace(result.fit, paths=(note, *result.fit.paths)),
        PivotSpace(mapped, result.centers),
        nystrom.dimension(),
        kernel,
    )


def _find_rank(parameters: KernelParameters, nystrom: Nystrom, weight: Floats | None) -> str:
    """Grow the features to the given rank, or until the error is small; return the reason."""
    rng = parameters.rng.spawn(1)[0]
    n, n_components = len(nystrom.weight), parameters.model.n_components
    # the features, a copy, and the engine's; `memory_limit` may be infinite
    room = max(1, int(min(n, parameters.memory / (3 * 8 * n))))
    if n_components != "auto":
        nystrom.grow(min(int(n_components), n), rng)
        enough = len(nystrom.pivots) < int(n_components)
        return "the residual is zero" if enough else "n_components"
    max_rank = min(n, MAX_RANK, room)
    rank = min(max_rank, max(INITIAL_RANK, 4 * parameters.k))
    while True:
        nystrom.grow(rank, rng)
        cost = _estimated_cost(parameters, nystrom, weight)
        off = f"the objective may be off by {nystrom.trace / cost:.2g} of itself" if cost else ""
        if nystrom.trace <= MAX_RELATIVE_ERROR * cost or nystrom.features.shape[1] < rank:
            return off or "the residual is zero"
        if rank == max_rank:
            limit = "memory_limit" if max_rank == room < min(n, MAX_RANK) else "the limit"
            return f"which is {limit}: {off}"
        rank = min(max_rank, 2 * rank)


def _estimated_cost(parameters: KernelParameters, nystrom: Nystrom, weight: Floats | None) -> float:
    """Estimate the final objective by a short run."""
    source = validation.make_source(nystrom.features, weight, nystrom.workers)
    halt = parameters.until(MaxIter(ESTIMATE_ITERATIONS))
    options = LloydOptions(parameters.k, halt, POLICIES["keep"])
    start = [lambda: plusplus(source, parameters.k, np.random.default_rng(0))[0]]
    return best_of(source, start, options).inertia

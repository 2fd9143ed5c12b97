"""Starts of kernel K-means: the `init` of a user, and the centers it leads to."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.number_arrays import as_any_array
from partita._common.parameters import Got, check, choice, must_be
from partita._common.random_state import as_random_state
from partita.centers import Centers
from partita.estimators import validation
from partita.estimators.kernel.kernel_input import CUT, GIVEN, NEIGHBOURS
from partita.estimators.lloyd_parameters import FitParameters
from partita.init.kernel_starts import (
    at_means,
    at_points,
    at_rows,
    plusplus_rows,
    spectral_labels,
)
from partita.init.plusplus import plusplus
from partita.init.random_starts import forgy, forgy_rows, random_partition
from partita.source.gram_matrix import Gram
from partita.source.gram_tiles import closeness_to
from partita.source.kernel_function import KernelFunction
from partita.source.kernel_rows import KernelRows
from partita.source.protocol import Source
from partita.stats import ClusterStats

START_NAMES = ("auto", "k-means++", "random", "forgy", "random-partition", "spectral")
AUTO_N_INIT = 10  # for n_init="auto"; a spectral start needs one
INIT_ADVICE = "init may also be an array of centers, row numbers or labels, or a callable."


class KernelStart(NamedTuple):
    """A start: one of `START_NAMES`, or what a user gave."""

    kind: str  # a name, "points", "rows" or "labels"
    values: Any = None  # points (k, d), rows (k,) or labels (n,)


Start = Callable[[np.random.Generator], KernelStart]


def starts(parameters: FitParameters, X: Any) -> list[Start]:
    """Return one function rng -> start for every run, for X as the user gave it."""
    init, k, is_matrix = parameters.model.init, parameters.k, parameters.model.kernel in GIVEN
    if isinstance(init, str):
        name = check("init", init, choice(*START_NAMES), INIT_ADVICE)
        if name == "auto":
            of_graph = parameters.model.kernel in (CUT, NEIGHBOURS)
            name = "spectral" if of_graph else "k-means++"
        auto = 1 if name == "spectral" else AUTO_N_INIT
        return [lambda rng: KernelStart(name)] * parameters.run_count(auto)
    if callable(init) and not hasattr(init, "get_params"):

        def call(rng: np.random.Generator) -> KernelStart:
            return _given_start(init(X, k, random_state=as_random_state(rng)), X, k, is_matrix)

        return [call] * parameters.run_count(AUTO_N_INIT)
    if init is None or isinstance(init, numbers.Number):
        raise must_be("init", choice(*START_NAMES).text, init, INIT_ADVICE)
    start = _given_start(init, X, k, is_matrix)
    parameters.warn_of_single_start()
    return [lambda rng: start]


def _given_start(init: Any, X: Any, k: int, is_matrix: bool) -> KernelStart:
    wanted = f"{k} row numbers or {X.shape[0]} labels, as integers"
    flat = None if hasattr(init, "get_params") else as_any_array("init", init, wanted)
    if flat is not None and flat.ndim == 1 and flat.dtype.kind in "iu":
        return _rows_or_labels(flat, X.shape[0], k)
    if is_matrix or (flat is not None and flat.ndim == 1):
        advice = "A matrix has no points that could be centers." if is_matrix else ""
        raise must_be("init", wanted, Got(f"an array of shape {np.shape(init)}"), advice)
    return KernelStart("points", validation.check_initial_centers(init, X, k))


def _rows_or_labels(flat: Array, n: int, k: int) -> KernelStart:
    if len(flat) not in (n, k):
        wanted = f"the numbers of {k} rows or {n} labels"
        raise must_be("init", wanted, Got(f"{len(flat)} integers"))
    wanted, limit = ("labels", k) if len(flat) == n else ("row numbers", n)
    if flat.min() < 0 or flat.max() >= limit:
        got = Got(f"{flat.min()} to {flat.max()}")
        raise must_be("init", f"{wanted} from 0 to {limit - 1}", got)
    if len(flat) == n:
        return KernelStart("labels", flat.astype(np.int32))
    return KernelStart("rows", flat.astype(np.int64))


def in_gram(
    start: KernelStart,
    gram: Gram,
    kernel: KernelFunction | None,
    rows: KernelRows | None,
    k: int,
    rng: np.random.Generator,
    sigma: float,
) -> Centers:
    """Return the centers of a start in feature space, by a Gram matrix."""
    if start.kind == "points":
        assert kernel is not None
        assert rows is not None
        points = kernel.place(start.values.astype(rows.values.dtype), rows.values)
        return at_points(closeness_to(kernel, kernel.prepare(points), rows, gram.workers))
    if start.kind == "rows":
        return at_rows(gram, start.values, sigma)
    if start.kind == "labels":
        return at_means(gram, start.values, k, rng, sigma)
    if start.kind == "random-partition":
        labels = rng.integers(k, size=gram.n, dtype=np.int32)
        return at_means(gram, labels, k, rng, sigma)
    if start.kind == "spectral":
        return at_means(gram, spectral_labels(gram, k, rng), k, rng, sigma)
    if start.kind == "k-means++":
        return at_rows(gram, plusplus_rows(gram, k, rng), sigma)
    return at_rows(gram, forgy_rows(gram.weights, gram.n, k, rng), sigma)


def in_features(
    start: KernelStart,
    source: Source,
    features: Callable[[Floats], Floats],
    k: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the centers (k, r) of a start among Nyström features; `features` maps points."""
    if start.kind == "points":
        return features(start.values)
    if start.kind == "rows":
        return source.take_rows(start.values)
    if start.kind == "labels":
        rows, weight = source.take_rows(np.arange(source.n)), source.weights.as_floats(source.n)
        stats = ClusterStats.of_block(rows, start.values, k=k, weight=weight)
        return np.where(stats.weight[:, None] > 0, stats.mean, forgy(source, k, rng))
    if start.kind == "random-partition":
        return random_partition(source, k, rng)
    if start.kind == "spectral":
        advice = "Nyström has no Gram matrix: use 'k-means++', or approximation='exact'."
        raise must_be("init", "a start other than 'spectral' with 'nystrom'", start.kind, advice)
    return plusplus(source, k, rng)[0] if start.kind == "k-means++" else forgy(source, k, rng)

"""What `init` may be for kernel K-means, and the starting points it leads to."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.random_state import legacy
from partita._common.warnings import warn
from partita.centers import Centers
from partita.estimators import validation
from partita.estimators.kernel.kernel_input import CUT
from partita.estimators.lloyd_parameters import Settings, one_of
from partita.init.forgy import forgy
from partita.init.kernel_starts import (
    at_inner,
    at_means,
    at_rows,
    plusplus_rows,
    random_labels,
    random_rows,
    spectral_labels,
)
from partita.init.plusplus import plusplus
from partita.init.random_partition import random_partition
from partita.source.blocks import Source
from partita.source.gram_matrix import Gram
from partita.source.kernel_function import KernelFunction, gram_rows
from partita.stats import ClusterStats

NAMES = ("auto", "k-means++", "random", "forgy", "random-partition", "spectral")


@dataclass(frozen=True, slots=True)
class Given:
    """A start from outside: points, rows, or a partition."""

    points: Floats | None = None  # (k, d)
    rows: Ints | None = None  # (k,)
    labels: Ints | None = None  # (n,)


Start = Callable[[np.random.Generator], "str | Given"]


def starts(settings: Settings, X: Any, given_matrix: bool) -> list[Start]:
    """One function rng -> start for every run."""
    init, k = settings.model.init, settings.k
    if isinstance(init, str):
        one_of("init", init, NAMES)
        if init == "auto":
            init = "spectral" if settings.model.kernel == CUT else "k-means++"
        return [lambda rng: init] * settings.runs(1 if init == "spectral" else 10)
    if callable(init) and not hasattr(init, "get_params"):

        def call(rng: np.random.Generator) -> Given:
            return _given(init(X, k, random_state=legacy(rng)), X, k, given_matrix)

        return [call] * settings.runs(10)
    if init is None or isinstance(init, numbers.Number):
        raise ValueError(
            f"init={init!r} was given; one of {', '.join(NAMES)}, an array of centers, of rows or "
            "of labels, or a callable is expected"
        )
    known = _given(init, X, k, given_matrix)
    if settings.runs(1) != 1:
        warn(
            "Explicit initial center position passed: performing only one init in "
            f"{type(settings.model).__name__} instead of n_init={settings.model.n_init}.",
            RuntimeWarning,
        )
    return [lambda rng: known]


def _given(init: Any, X: Any, k: int, given_matrix: bool) -> Given:
    flat = None if hasattr(init, "get_params") else np.asarray(init)
    if flat is not None and flat.ndim == 1 and flat.dtype.kind in "iu":
        return _whole(flat, X.shape[0], k)
    if given_matrix or (flat is not None and flat.ndim == 1):
        raise ValueError(
            f"init is an array of shape {np.shape(init)}; {k} rows or {X.shape[0]} labels are "
            "expected, as whole numbers" + " (centers are no points of a matrix)" * given_matrix
        )
    return Given(points=validation.check_start(init, X, k))


def _whole(flat: Array, n: int, k: int) -> Given:
    """Labels of all rows, or the numbers of k of them."""
    if len(flat) == n:
        if flat.min() < 0 or flat.max() >= k:
            raise ValueError(
                f"init holds labels from {flat.min()} to {flat.max()}; 0 to {k - 1} are expected"
            )
        return Given(labels=flat.astype(np.int32))
    if len(flat) != k:
        raise ValueError(
            f"init holds {len(flat)} whole numbers; {n} labels or the numbers of {k} rows are "
            "expected"
        )
    if flat.min() < 0 or flat.max() >= n:
        raise ValueError(f"init holds rows {flat.min()} to {flat.max()}; there are {n} rows")
    return Given(rows=flat.astype(np.int64))


def in_gram(
    start: str | Given,
    gram: Gram,
    kernel: KernelFunction | None,
    X: Any,
    k: int,
    rng: np.random.Generator,
    sigma: float,
) -> Centers:
    """Centers in feature space by a Gram matrix."""
    if isinstance(start, Given):
        if start.points is not None:
            assert kernel is not None
            points = kernel.place(start.points.astype(X.dtype))
            inner = gram_rows(kernel, points, X, gram.workers)
            return at_inner(gram, inner, kernel.diagonal(points))
        if start.rows is not None:
            return at_rows(gram, start.rows, sigma)
        assert start.labels is not None
        return at_means(gram, start.labels, k, rng, sigma)
    if start == "random-partition":
        return at_means(gram, random_labels(gram, k, rng), k, rng, sigma)
    if start == "spectral":
        return at_means(gram, spectral_labels(gram, k, rng), k, rng, sigma)
    rows = plusplus_rows if start == "k-means++" else random_rows
    return at_rows(gram, rows(gram, k, rng), sigma)


def in_features(
    start: str | Given,
    source: Source,
    features: Callable[[Floats], Floats],
    k: int,
    rng: np.random.Generator,
) -> Floats:
    """Centers (k, r) among features; `features` gives those of points."""
    if isinstance(start, Given):
        if start.points is not None:
            return features(start.points)
        if start.rows is not None:
            return source.take_rows(start.rows)
        assert start.labels is not None
        rows, weight = source.take_rows(np.arange(source.n)), source.weights.as_floats(source.n)
        stats = ClusterStats.of_block(rows, start.labels, k=k, weight=weight)
        return np.where(stats.weight[:, None] > 0, stats.mean, forgy(source, k, rng))
    if start == "random-partition":
        return random_partition(source, k, rng)
    if start == "spectral":
        raise ValueError(
            "init='spectral' was given with approximation='nystrom', which has no Gram matrix to "
            "take directions from; take 'k-means++', or approximation='exact'"
        )
    return plusplus(source, k, rng)[0] if start == "k-means++" else forgy(source, k, rng)

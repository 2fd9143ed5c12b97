"""The capabilities of `KernelKMeans`, and its state in model files."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats
from partita._common.threads import Workers
from partita.engine.kernel.nystrom_cholesky import NystromMap
from partita.estimators import capabilities as needs
from partita.estimators.capabilities import AFFINITIES, INNER_PRODUCTS, ROWS, Capabilities, lacking
from partita.estimators.kernel import kernel_input
from partita.estimators.kernel.certified_pairs import certified_pairs
from partita.estimators.kernel.feature_space import MeansSpace, PivotSpace
from partita.estimators.kernel.link_space import LinkSpace
from partita.estimators.saved_state import FieldReader, restored_stats
from partita.exact_weights import Weights
from partita.moments import bits_for
from partita.source.kernel_function import KernelFunction

# Kernels to which every feature contributes on its own scale
_ADDITIVE_KERNELS = (
    *("rbf", "laplacian", "linear", "polynomial", "poly", "sigmoid"),
    kernel_input.NEIGHBOURS,
)
_UNIT_KERNELS = ("rbf", "laplacian", "cosine")  # of length 1 in feature space
_MAX_COLUMNS = 2**31 - 1


def declare(model: Any) -> Capabilities:
    """The capabilities of a `KernelKMeans`."""
    name = model.kernel if isinstance(model.kernel, str) else ""
    kind = {"precomputed": INNER_PRODUCTS, kernel_input.CUT: AFFINITIES}.get(name, ROWS)
    places = needs.SPACE, needs.CELLS, needs.MEANS, needs.METRIC, needs.REPLAY
    lacks = lacking(needs.FEATURE_SPACE, *places)
    if kind != ROWS:
        lacks |= needs.MATRIX_LACKS
    elif name not in _ADDITIVE_KERNELS:
        lacks[needs.FEATURES] = "the kernel decides what a feature counts"
    if name == kernel_input.NEIGHBOURS:
        lacks[needs.SWEEP] = (
            "the graph of neighbours is another one for each K, and silhouettes and uniform "
            "references do not judge groups of any shape"
        )
    if kind == AFFINITIES:
        lacks[needs.MERGES] = "the weights of a normalised cut are degrees of nodes"
    return Capabilities(
        input=kind,
        geometry=None,
        lacks=lacks,
        metric=None,
        distance_name="distance to the center in feature space",
        merge_rule="distances",
        warm_start="labels",
        costs=model._costs,
        distances=None if kind == AFFINITIES else model.distances,
        unrelated=partial(_unrelated, model) if name in _UNIT_KERNELS else None,
        pairs=None if kind == AFFINITIES else lambda X: (_pairwise(model, X), "precomputed"),
        certified=partial(certified_pairs, model),
    )


def _unrelated(model: Any) -> Floats:
    """Distances (k,) of a row at a right angle to the rows of a cluster: d² = 1 + ‖mean‖²."""
    stats = model.stats_
    spread = np.divide(stats.sse, stats.weight, np.zeros_like(stats.sse), where=stats.weight > 0)
    return np.asarray(np.sqrt(2 - np.clip(spread, 0, 1)))


def _pairwise(model: Any, X: Any) -> Floats:
    """Distances (n, n) in feature space between rows, or of a matrix of inner products."""
    if isinstance(model._space, LinkSpace):
        squares = _squares_by(model._space.inner_products(X, Workers(1)))
    elif model.kernel_ is not None:
        rows = model.kernel_.prepare(model.kernel_.place(X), numbered=True)
        squares = -2.0 * model.kernel_.closeness(rows, rows)
    else:
        squares = _squares_by((X.toarray() if sp.issparse(X) else X).astype(np.float64, copy=False))
    distances = np.sqrt(np.maximum(squares, 0.0))
    distances = np.maximum(distances, distances.T)
    np.fill_diagonal(distances, 0.0)
    return np.asarray(distances)


def _squares_by(gram: Floats) -> Floats:
    diagonal = gram.diagonal()
    return np.asarray((diagonal[:, None] - gram) + (diagonal - gram))


# --- model files ----------------------------------------------------------------------------------


def own_state(model: Any) -> dict[str, Any]:
    """The kernel, and what feature space keeps of the fit."""
    kernel, space = model.kernel_, model._space
    if isinstance(space, LinkSpace):
        kept = space.saved()
    elif isinstance(space, PivotSpace):
        kept = {"pivots": space.map.pivots, "factor": space.map.factor, "centers": space.centers}
    else:
        kept = {name: value for name, value in vars(space).items() if name != "kernel"}
    known = None
    if kernel is not None:
        known = {"name": kernel.metric, "params": kernel.params, "origin": kernel.origin}
    return {"kernel": known, "space": kept, "dimension": model._dimension, "degree": model._degree}


def restore(model: Any, saved: FieldReader, d: int) -> int:
    """Set the attributes of a fit from a file; return the number of clusters."""
    kernel = None
    if saved.has("kernel"):
        known = saved.nested("kernel")
        name, params = known.text("name"), known.mapping("params")
        kernel_input.check_kernel_params(name, params)
        origin = known.floats("origin", (d,)) if known.has("origin") else None
        kernel = KernelFunction(name, params, origin)
    k = len(saved.nested("stats").floats("weight", (None,)))
    if k == 0:
        raise ValueError("stats is empty")
    model.objective_interval_ = saved.pair("objective_interval")
    model.stats_ = restored_stats(saved, k, None, -np.inf)
    model.diagonal_shift_ = saved.number("diagonal_shift", finite=True)
    model.kernel_ = kernel
    model._space = _restore_space(saved.nested("space"), kernel, k, d)
    model._dimension = saved.number("dimension", 0.0, finite=True)
    model._degree = saved.floats("degree", (d,)) if saved.has("degree") else None
    if model._degree is not None and (kernel is not None or (model._degree <= 0).any()):
        raise ValueError("degree must be positive, and only a graph has one")
    return k


def _restore_space(saved: FieldReader, kernel: Any, k: int, d: int) -> Any:
    if saved.has("pivots"):
        if kernel is None:
            raise ValueError("space has pivots, but no kernel")
        pivots = saved.rows("pivots", (None, d))
        r = pivots.shape[0]
        factor = saved.floats("factor", (r, r))
        if r == 0 or (np.diagonal(factor) == 0).any():
            raise ValueError("space.factor has no inverse")
        return PivotSpace(NystromMap(kernel, pivots, factor), saved.floats("centers", (k, r)))
    if saved.has("linked_rows"):
        if kernel is not None:
            raise ValueError("space has links, and also a kernel")
        return LinkSpace.restored(saved, k, d)
    m = len(saved.ints("columns", (None,), 0, _MAX_COLUMNS if kernel else d - 1))
    if m == 0:
        raise ValueError("space.columns is empty")
    square, mass = saved.floats("square", (k,), finite=False), saved.floats("mass", (k,))
    members, weight = saved.ints("members", (m,), 0, k - 1), saved.floats("weight", (m,))
    scale, limb = saved.number("scale", finite=True), saved.number("limb", finite=True)
    if not (weight > 0).all() or not (mass[members] > 0).all():
        raise ValueError("space.weight and space.mass of members must be positive")
    max_limb = 2.0 ** bits_for(Weights.of(weight, m).count)  # above it, sums would overflow
    if not (_is_power_of_two(scale) and _is_power_of_two(limb) and limb <= max_limb):
        raise ValueError(f"space.scale and space.limb (up to {max_limb:g}) must be powers of two")
    return MeansSpace.of_parts(
        kernel=kernel,
        rows=saved.rows("rows", (m, d)) if kernel else None,
        columns=saved.ints("columns", (m,), 0, _MAX_COLUMNS),
        members=members.astype(np.int32),
        weight=weight,
        off=saved.floats("off", (m,)),
        mass=mass,
        square=square,
        scale=scale,
        limb=limb,
    )


def _is_power_of_two(value: float) -> bool:
    return value > 0 and math.frexp(value)[0] == 0.5

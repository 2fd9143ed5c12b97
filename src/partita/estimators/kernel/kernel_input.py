"""The kernel of a user, and the matrix it gives: parsed, checked, put where it fits."""

from __future__ import annotations

import inspect
import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats
from partita._common.spaced_rows import evenly_spaced
from partita._common.threads import Workers
from partita._common.warnings import IndefiniteKernelWarning, warn
from partita.engine.kernel.definiteness import is_indefinite, needed_shift
from partita.estimators import validation
from partita.estimators.lloyd_parameters import one_of
from partita.source.gram_matrix import DenseGram, FleetingGram, Gram, SparseGram
from partita.source.kernel_function import KernelFunction, gram_matrix, is_symmetric
from partita.weights import Weights

CUT = "normalized-cut"
GIVEN = ("precomputed", CUT)  # X is the matrix
_ALSO = {"poly": "polynomial"}
_TAKES = {
    "rbf": ("gamma",),
    "laplacian": ("gamma",),
    "polynomial": ("gamma", "degree", "coef0"),
    "sigmoid": ("gamma", "coef0"),
}
_BLOCK = 1 << 22  # values looked at together
_SOME = 1024  # rows whose median is near enough to that of all


def check_kernel(model: Any) -> None:
    """Check what does not depend on the data."""
    from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

    if not callable(model.kernel):
        one_of("kernel", model.kernel, tuple(sorted({*PAIRWISE_KERNEL_FUNCTIONS, *GIVEN})))
    numbers_given = {"degree": model.degree, "coef0": model.coef0}
    if isinstance(model.gamma, str) or model.gamma is None:
        one_of("gamma", model.gamma, ("scale", "auto"))
    else:
        numbers_given["gamma"] = model.gamma
    _check_numbers(numbers_given)
    if model.kernel_params is not None and not isinstance(model.kernel_params, dict):
        raise ValueError(
            f"kernel_params={model.kernel_params!r} was given; a dictionary is expected"
        )
    shift = model.diagonal_shift
    if isinstance(shift, str) or not (shift is None or validation.is_amount(shift)):
        one_of("diagonal_shift", shift, ("auto",))
    one_of("approximation", model.approximation, ("auto", "exact", "nystrom"))


def kernel_of(model: Any, origin: Floats, spread: float) -> KernelFunction:
    """The kernel, with the parameters it takes; `spread` is the root of the mean variance."""
    metric = model.kernel
    params: dict[str, Any] = {}
    if isinstance(metric, str):
        metric = _ALSO.get(metric, metric)
        params = {name: getattr(model, name) for name in _TAKES.get(metric, ())}
    if "gamma" in params:
        params["gamma"] = _gamma(model.gamma, metric, len(origin), spread)
    elif metric == "chi2" and not isinstance(model.gamma, str):
        params["gamma"] = float(model.gamma)
    params.update(model.kernel_params or {})
    if isinstance(metric, str):
        check_params(metric, params)
    return KernelFunction.about(origin, metric, params)


def middle(X: Any, weight: Floats | None) -> Floats:
    """The median of some rows: amid the data, wherever an outlier is."""
    some = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight)
    some = some[evenly_spaced(len(some), _SOME)]
    rows = X[some]
    if sp.issparse(rows):
        return np.zeros(X.shape[1])  # zeros stay zeros
    return np.asarray(np.median(rows, axis=0), dtype=np.float64)


def _gamma(given: Any, metric: str, d: int, spread: float) -> float:
    """1 / (d·variance): units do not matter. By deviation where distances are not squared."""
    if given == "auto":
        return 1.0 / d
    if given != "scale":
        return float(given)
    unit = d * (spread if metric == "laplacian" else spread * spread)
    return 1.0 / unit if 1e-300 < unit < 1e300 else 1.0


def _check_numbers(given: dict[str, Any]) -> None:
    """Parameters of kernels that must be numbers, wherever they were given."""
    for name in ("gamma", "degree"):
        if name in given and not (validation.is_amount(given[name]) and given[name] > 0):
            instead = ", 'scale' or 'auto'" if name == "gamma" else ""
            raise ValueError(
                f"{name}={given[name]!r} was given; a positive number{instead} is expected"
            )
    coef0 = given.get("coef0", 0)
    if not isinstance(coef0, numbers.Real) or isinstance(coef0, bool):
        raise ValueError(f"coef0={coef0!r} was given; a number is expected")


def check_params(metric: str, params: dict[str, Any]) -> None:
    """A kernel that is known by name takes these parameters."""
    from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

    one_of("kernel", metric, tuple(PAIRWISE_KERNEL_FUNCTIONS))
    known = inspect.signature(PAIRWISE_KERNEL_FUNCTIONS[metric]).parameters
    extra = [name for name in params if name not in known or name in "XY"]
    if extra:
        raise ValueError(
            f"kernel_params has {', '.join(map(repr, extra))}, which kernel={metric!r} does not "
            f"take; it takes {', '.join(name for name in known if name not in 'XY') or 'none'}"
        )
    _check_numbers(params)


# --- matrices -------------------------------------------------------------------------------------


def check_square(X: Any, what: str) -> None:
    """A matrix of inner products or affinities is square, finite and symmetric."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"{what} has the shape {X.shape}: a square matrix is expected, with one row and one "
            "column per sample"
        )
    data = X.data if sp.issparse(X) else X
    if not _finite(data):
        kinds = {"NaN": np.isnan(data).any(), "infinity": np.isinf(data).any()}
        found = " and ".join(kind for kind, there in kinds.items() if there)
        raise ValueError(f"{what} contains {found}; every entry must be a finite number")
    gap, most = _asymmetry(X)
    if gap > np.sqrt(np.finfo(X.dtype).eps) * most:
        raise ValueError(
            f"{what} is not symmetric: entries differ from those across the diagonal by up to "
            f"{gap:.3g}, the largest is {most:.3g}; take (K + K.T) / 2 if that is what is meant"
        )


def _finite(data: Any) -> bool:
    step = max(1, _BLOCK // max(1, data[:1].size))
    return all(np.isfinite(data[i : i + step]).all() for i in range(0, len(data), step))


def _asymmetry(X: Any) -> tuple[float, float]:
    """The largest |K_ij − K_ji|, and the largest |K_ij|."""
    if sp.issparse(X):
        gap = abs(X - X.T)
        return float(gap.max()) if gap.nnz else 0.0, float(abs(X).max()) if X.nnz else 0.0
    gap, most, n, step = 0.0, 0.0, len(X), 512
    for i in range(0, n, step):
        for j in range(i, n, step):
            a, b = X[i : i + step, j : j + step], X[j : j + step, i : i + step].T
            gap = max(gap, float(np.abs(a - b).max()))
            most = max(most, float(np.abs(a).max()))
    return gap, most


def cut_matrix(A: Any) -> tuple[Any, Floats]:
    """D⁻¹AD⁻¹ and the degrees D, whose kernel K-means is the normalised cut of the graph A."""
    check_square(A, "The affinity matrix")
    data = A.data if sp.issparse(A) else A
    if data.size and data.min() < 0:
        raise ValueError(
            f"The affinity matrix has negative entries, down to {data.min():.3g}; the normalised "
            "cut needs affinities of at least 0"
        )
    degree = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
    alone = np.flatnonzero(degree <= 0)
    if alone.size:
        listed = ", ".join(map(str, alone[:5])) + ", …" * (len(alone) > 5)
        raise ValueError(
            f"{alone.size} of {len(degree)} nodes have no edge (node {listed}); the normalised cut "
            "does not say where they belong: leave them out"
        )
    return _divided(A, degree, degree), degree


def cut_rows(A: Any, degree: Floats) -> Any:
    """Inner products of new nodes with those of degree `degree`, from their affinities A."""
    mine = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
    if (mine <= 0).any():
        raise ValueError(
            f"{int((mine <= 0).sum())} of {len(mine)} nodes have no edge; the normalised cut does "
            "not say where they belong: leave them out"
        )
    return _divided(A, mine, degree)


def _divided(A: Any, rows: Floats, columns: Floats) -> Any:
    """A_ij / (rows_i · columns_j), as sparse as A."""
    if not sp.issparse(A):
        return A / rows[:, None] / columns
    values = A.data / np.repeat(rows, np.diff(A.indptr)) / columns[A.indices]
    return sp.csr_array((values, A.indices, A.indptr), A.shape)


def given_gram(X: Any, weight: Floats | None, workers: Workers) -> Gram:
    """The place of a checked matrix."""
    weights = Weights.of(weight, X.shape[0])
    if sp.issparse(X):
        return SparseGram(X, weights, workers)
    return DenseGram(X, None, (float(X.min()), float(X.max())), weights, workers)


def computed_gram(
    kernel: KernelFunction, X: Any, weight: Floats | None, workers: Workers, memory: float
) -> Gram:
    """The matrix of a kernel in memory, if it fits; else rows are made again and again."""
    n = X.shape[0]
    weights = Weights.of(weight, n)
    if callable(kernel.metric) and not is_symmetric(kernel, X):
        raise ValueError(f"kernel={kernel.metric!r} is not symmetric: k(a, b) differs from k(b, a)")
    if n * n * X.dtype.itemsize > memory:
        return FleetingGram(kernel, X, weights, workers)
    matrix, span = gram_matrix(kernel, X, workers)
    return DenseGram(matrix, X, None if kernel.definite else span, weights, workers)


def shift_of(asked: Any, gram: Gram, known: bool) -> tuple[bool, float]:
    """What to add to the diagonal, after a warning if the objective may rise without."""
    if isinstance(asked, str):
        return False, 0.0 if known else needed_shift(gram)
    if asked is not None or known or not is_indefinite(gram):
        return False, float(asked or 0.0)
    warn_indefinite()
    return True, 0.0


def warn_indefinite() -> None:
    """Say that the descent guarantee is lost."""
    warn(
        "The kernel is not positive semidefinite: an iteration may raise the objective, and a run "
        "may go round in circles until max_iter. diagonal_shift='auto' mends it.",
        IndefiniteKernelWarning,
    )

"""The parameters of `KernelKMeans`, checked, and the kernel function that they make."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

from partita._common import parameters as accept
from partita._common.errors import ParameterError
from partita._common.parameters import Rule, check, choice, either, number, optional
from partita._common.random_state import generator
from partita._common.text import listed
from partita.estimators.lloyd_parameters import FitParameters
from partita.halting import Halt, Shift
from partita.source.kernel_function import KernelFunction

CUT = "normalized-cut"
GIVEN = ("precomputed", CUT)  # X is the matrix
NEIGHBOURS = "nearest_neighbors"
_SYNONYMS = {"poly": "polynomial"}
_PARAMETERS = {
    "rbf": ("gamma",),
    "laplacian": ("gamma",),
    "polynomial": ("gamma", "degree", "coef0"),
    "sigmoid": ("gamma", "coef0"),
}
_NUMBERS = {
    "gamma": number(above=0, finite=True),
    "degree": number(above=0, finite=True),
    "coef0": number(finite=True),
}
RULES: dict[str, Rule] = {
    "kernel": either(
        choice(*sorted({*PAIRWISE_KERNEL_FUNCTIONS, *GIVEN, NEIGHBOURS})), accept.CALLABLE
    ),
    **_NUMBERS,
    "gamma": either(_NUMBERS["gamma"], choice("scale", "auto")),
    "kernel_params": optional(accept.KEYWORDS),
    "diagonal_shift": optional(either(number(0, finite=True), choice("auto"))),
    "approximation": choice("auto", "exact", "nystrom"),
}


class KernelParameters(FitParameters):
    """The parameters of `KernelKMeans`, checked, in the engine's terms."""

    rules: ClassVar[Mapping[str, Rule]] = {
        **FitParameters.rules,
        **RULES,
        "n_components": either(accept.integer(1), choice("auto")),
        "n_neighbors": either(accept.integer(2), choice("auto")),
    }
    free_memory_share = 0.5  # for the Gram matrix

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.begin = time.perf_counter()
        self.rng = generator(model.random_state)

    def halt_at(self, variance: float) -> Halt:
        """Stop at a fixed point, by `tol` or the user's criterion, or at the limit."""
        tol = self.model.tol * max(0.0, variance)
        return self.until(Shift(math.sqrt(tol)) if tol else None)


def check_kernel_params(metric: str, params: dict[str, Any]) -> None:
    """Check that the kernel of this name takes these parameters."""
    check("kernel", metric, choice(*PAIRWISE_KERNEL_FUNCTIONS))
    signature = inspect.signature(PAIRWISE_KERNEL_FUNCTIONS[metric]).parameters
    known = [name for name in signature if name not in "XY"]
    extra = [name for name in params if name not in known]
    if extra:
        raise ParameterError(
            f"`kernel_params` must be parameters of kernel={metric!r} "
            f"({', '.join(known) or 'it has none'}), got {listed(extra)}.",
            parameter="kernel_params",
        )
    for name, rule in _NUMBERS.items():
        if name in params:
            check(name, params[name], rule)


def kernel_of(model: Any, d: int, spread: float) -> KernelFunction:
    """Return the kernel with its parameters; `spread` is the root of the mean variance."""
    metric = model.kernel
    params: dict[str, Any] = {}
    if isinstance(metric, str):
        metric = _SYNONYMS.get(metric, metric)
        params = {name: getattr(model, name) for name in _PARAMETERS.get(metric, ())}
    if "gamma" in params:
        params["gamma"] = _gamma(model.gamma, metric, d, spread)
    elif metric == "chi2" and not isinstance(model.gamma, str):
        params["gamma"] = float(model.gamma)
    params.update(model.kernel_params or {})
    if isinstance(metric, str):
        check_kernel_params(metric, params)
    return KernelFunction(metric, params)


def _gamma(gamma: Any, metric: str, d: int, spread: float) -> float:
    """1 / (d·variance) for "scale", so that units do not matter; d·deviation for the laplacian."""
    if gamma == "auto":
        return 1.0 / d
    if gamma != "scale":
        return float(gamma)
    unit = d * (spread if metric == "laplacian" else spread * spread)
    return 1.0 / unit if 1e-300 < unit < 1e300 else 1.0

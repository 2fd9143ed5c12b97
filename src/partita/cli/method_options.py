"""The options that choose a member of the family, its parameters, and the number of clusters."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

from partita.cli.halt_option import parse_halt
from partita.cli.option_values import (
    KERNELS,
    METRICS,
    QUALITIES,
    KRequest,
    at_least,
    parse_gamma,
    parse_k,
    parse_share,
)
from partita.cli.options import MemoryLimit, clustering

ESTIMATORS = {
    "kmeans": "KMeans",
    "mini-batch": "MiniBatchKMeans",
    "spherical": "SphericalKMeans",
    "kernel": "KernelKMeans",
    "medoids": "KMedoids",
    "prototypes": "KPrototypes",
    "trimmed": "TrimmedKMeans",
    "bisecting": "BisectingKMeans",
    "balanced": "BalancedKMeans",
}
METHODS = (*ESTIMATORS, "auto")
SEARCHING_METHODS = ("kmeans", "spherical", "medoids")
OPTIONS_OF_METHOD = {
    "kernel": ("kernel",),
    "gamma": ("kernel", "prototypes"),
    "trim": ("trimmed",),
    "size_min": ("balanced",),
    "size_max": ("balanced",),
    "bisecting_strategy": ("bisecting",),
    "n_neighbors": ("kernel",),
    "metric": ("medoids",),
    "zero_rows": ("spherical",),
    "quality": SEARCHING_METHODS,
    "time_budget": SEARCHING_METHODS,
}
PARTIAL_STARTS = 10
SEARCH_OPTIONS = ("quality", "time_budget")
# parameters of a method that no option sets: preparing the table has scaled the numbers
FIXED_PARAMETERS = {"prototypes": {"standardize": False}}
AUTO: Any = "auto"  # of --k; typer parses defaults too

K = Annotated[
    KRequest,
    clustering(
        "--k -k", "K", "Number of clusters, a range to choose from (2:20), or auto.", parser=parse_k
    ),
]
KRange = Annotated[
    KRequest,
    clustering(
        "--k -k",
        "LOW:HIGH",
        "Numbers to compare, like 2:20. auto: 2 to the square root of the number of rows.",
        parser=parse_k,
    ),
]


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """The estimator and its parameters; the fields have the names of the parameters."""

    method: Annotated[
        str,
        clustering(
            "--method -m",
            "NAME",
            f"{', '.join(ESTIMATORS)}; or auto: prototypes if columns are categories, else kmeans.",
            METHODS,
        ),
    ] = "kmeans"
    missing: Any = None
    halt: Any = None
    memory_limit: Any = None
    quality: Any = None
    time_budget: Any = None
    random_state: Annotated[
        int,
        clustering(
            "--seed", "N", "The same seed gives bit-for-bit the same result.", parser=at_least(0)
        ),
    ] = 0
    n_threads: Annotated[
        int | None,
        clustering(
            "--threads -t",
            "N",
            "Default: all cores. No effect on the result.",
            parser=at_least(1, 1024),
        ),
    ] = None
    n_init: Annotated[
        int | None,
        clustering(
            "--n-init",
            "N",
            "Number of plain starts, or of searches with --quality; the best fit is kept. "
            "Default: one search; of kernel and mini-batch, starts while they improve the fit.",
            parser=at_least(1),
        ),
    ] = None
    max_iter: Annotated[
        int | None,
        clustering(
            "--max-iter", "N", "Maximum number of iterations per start.", parser=at_least(1)
        ),
    ] = None
    kernel: Annotated[
        str | None,
        clustering(
            "--kernel",
            "NAME",
            f"For --method kernel: {', '.join(KERNELS)}. Default: rbf.",
            choices=KERNELS,
        ),
    ] = None
    gamma: Annotated[
        Any,
        clustering(
            "--gamma",
            "X",
            "Coefficient of the kernel. For --method prototypes: the cost of a different category "
            "beside squared differences of numbers. Default: by the data.",
            parser=parse_gamma,
        ),
    ] = None
    n_neighbors: Annotated[
        int | None,
        clustering(
            "--n-neighbors",
            "N",
            "Of --kernel nearest_neighbors: neighbours of a row, itself included. Default: by the "
            "data.",
            parser=at_least(2),
        ),
    ] = None
    metric: Annotated[
        str | None,
        clustering(
            "--metric",
            "NAME",
            "For --method medoids: euclidean (default), manhattan, cosine, gower (categories and "
            "gaps), …",
            choices=METRICS,
        ),
    ] = None
    trim: Annotated[
        float | None,
        clustering(
            "--trim",
            "SHARE",
            "For --method trimmed: the share of rows to leave out. Default: 0.05.",
            parser=parse_share,
        ),
    ] = None
    size_min: Annotated[
        int | None,
        clustering(
            "--size-min",
            "N",
            "For --method balanced: the least number of rows of a group.",
            parser=at_least(0),
        ),
    ] = None
    size_max: Annotated[
        int | None,
        clustering(
            "--size-max",
            "N",
            "For --method balanced: the greatest number of rows of a group.",
            parser=at_least(1),
        ),
    ] = None
    bisecting_strategy: Annotated[
        str | None,
        clustering(
            "--bisecting-strategy",
            "WHICH",
            "For --method bisecting: the cluster to split next, biggest_inertia (default) or "
            "largest_cluster.",
            ("biggest_inertia", "largest_cluster"),
        ),
    ] = None
    zero_rows: Annotated[
        str | None,
        clustering(
            "--zero-rows",
            "HOW",
            "For --method spherical: rows of zeros are an error (default), get the label -1 "
            "(drop), or get a cluster of their own (separate).",
            ("error", "drop", "separate"),
        ),
    ] = None

    def __post_init__(self) -> None:
        for name, methods in OPTIONS_OF_METHOD.items() if self.method != "auto" else ():
            if getattr(self, name) is not None and self.method not in methods:
                option, wanted = name.replace("_", "-"), " or ".join(methods)
                raise typer.BadParameter(
                    f"--{option} needs --method {wanted}, got --method {self.method}."
                )

    def estimator(self, k: int) -> Any:
        """Return the estimator, not fitted, without a search: as a sweep over K needs it."""
        import partita

        values = {field.name: getattr(self, field.name) for field in fields(self)}
        known = {name: value for name, value in values.items() if value is not None}
        parameters = {name: known[name] for name in known if name not in SEARCH_OPTIONS}
        method = parameters.pop("method")
        fixed = FIXED_PARAMETERS.get(method, {})
        if method == "kernel" and parameters.get("gamma") == "auto":
            del parameters["gamma"]
        return getattr(partita, ESTIMATORS[method])(k, **parameters, **fixed)

    def searching_estimator(self, k: int) -> Any:
        """Return the estimator with the search that was asked for.

        By default that is "balanced", or none if a number of starts is given.
        """
        estimator = self.estimator(k)
        if self.method not in SEARCHING_METHODS:
            return estimator
        if self.missing == "partial":  # the search needs complete rows
            return estimator.set_params(n_init=self.n_init or PARTIAL_STARTS)
        quality = self.quality or ("balanced" if self.n_init is None else "fast")
        return estimator.set_params(quality=quality, time_budget=self.time_budget)


@dataclass(frozen=True, slots=True)
class MethodAndHaltOptions(MethodOptions):
    """The estimator and its parameters, with those that a sweep does not have."""

    halt: Annotated[
        Any,
        clustering(
            "--halt",
            "RULE",
            "When to stop, like 'RelDecrease(1e-4) | Deadline(60)'.",
            parser=parse_halt,
        ),
    ] = None
    memory_limit: MemoryLimit = None
    quality: Annotated[
        str | None,
        clustering(
            "--quality",
            "HOW",
            "How far to search for a better fit: fast, balanced (default), or best; of kmeans, "
            "spherical and medoids.",
            QUALITIES,
        ),
    ] = None
    time_budget: Annotated[
        float | None,
        clustering(
            "--time-budget", "SECONDS", "End the search after so many.", parser=at_least(0.0)
        ),
    ] = None

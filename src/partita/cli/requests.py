"""What the options ask for, as records: which data, which method, how many clusters."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any

import typer

from partita.cli.halt_option import HaltError, parse_halt

ESTIMATORS = {
    "kmeans": "KMeans",
    "mini-batch": "MiniBatchKMeans",
    "spherical": "SphericalKMeans",
    "kernel": "KernelKMeans",
    "medoids": "KMedoids",
}

# those that can be computed from the rows of a file
KERNELS = ("rbf", "laplacian", "polynomial", "sigmoid", "cosine", "linear", "chi2")
METRICS = (
    "euclidean", "sqeuclidean", "manhattan", "cosine", "chebyshev", "correlation", "canberra",
    "braycurtis", "hamming", "jaccard", "mahalanobis", "seuclidean",
)  # fmt: skip
DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Which files to read, and how."""

    paths: list[str]
    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    source_column: str | None = None


@dataclass(frozen=True, slots=True)
class ColumnRequest:
    """Which columns are features, ids and weights, and how features are prepared."""

    columns: list[str] | None = None
    exclude: list[str] | None = None
    id: str | None = None
    weight: str | None = None
    missing: str = "error"
    scale: str = "none"


@dataclass(frozen=True, slots=True)
class KRequest:
    """The number of clusters, or the numbers to choose from."""

    fixed: int | None = None
    candidates: range | None = None  # None: chosen by the number of rows

    @property
    def largest(self) -> int:
        """The largest number named; 2 for auto."""
        return self.fixed or (self.candidates[-1] if self.candidates else 2)


def parse_k(text: str) -> KRequest:
    """Parse 3, auto, or 2:20 (both ends included)."""
    if text.strip().lower() == "auto":
        return KRequest()
    match = re.fullmatch(r"\s*(\d{1,9})\s*(?::\s*(\d{1,9})\s*)?", text)
    if match is None:
        raise typer.BadParameter(f"must be a number, auto, or a range like 2:20, got {text!r}.")
    low = int(match[1])
    if match[2] is None:
        if low < 1:
            raise typer.BadParameter("must be at least 1, got 0.")
        return KRequest(fixed=low)
    high = int(match[2])
    if not 1 <= low < high:
        raise typer.BadParameter(f"a range must be LOW:HIGH with 1 <= LOW < HIGH, got {text!r}.")
    return KRequest(candidates=range(low, high + 1))


# --- checks made while options are parsed, so that errors name the option -------------------------


def check_k(text: str) -> str:
    """Return `--k` as it is, if it can be parsed."""
    parse_k(text)
    return text


def check_halt(text: str | None) -> str | None:
    """Return `--halt` as it is, if it can be parsed."""
    try:
        if text is not None:
            parse_halt(text)
    except HaltError as error:
        raise typer.BadParameter(str(error)) from None
    return text


def check_kernel(text: str | None) -> str | None:
    """Return `--kernel` as it is, if it is known."""
    return _check_name(text, KERNELS)


def check_metric(text: str | None) -> str | None:
    """Return `--metric` as it is, if it is known."""
    return _check_name(text, METRICS)


def _check_name(text: str | None, names: tuple[str, ...]) -> str | None:
    if text is None or text in names:
        return text
    similar = difflib.get_close_matches(text, names, n=1)
    hint = f" Did you mean {similar[0]}?" if similar else ""
    raise typer.BadParameter(f"must be one of {', '.join(names)}, got {text!r}.{hint}")


def parse_delimiter(text: str | None) -> str | None:
    r"""Return `--delimiter` as one character; \t and the names of the usual ones are accepted."""
    delimiter = text if text is None else DELIMITERS.get(text, text)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        names = ", ".join(DELIMITERS)
        raise typer.BadParameter(f"must be a single character or one of {names}, got {text!r}.")
    return delimiter


@dataclass(frozen=True, slots=True)
class MethodRequest:
    """Which estimator, and its parameters."""

    method: str = "kmeans"
    seed: int = 0
    threads: int | None = None
    halt: str | None = None
    n_init: int | None = None
    max_iter: int | None = None
    kernel: str | None = None
    gamma: float | None = None
    metric: str | None = None
    zero_rows: str | None = None

    def check(self) -> None:
        """Reject options that belong to another method."""
        for name, value, method in (
            ("kernel", self.kernel, "kernel"),
            ("gamma", self.gamma, "kernel"),
            ("metric", self.metric, "medoids"),
            ("zero-rows", self.zero_rows, "spherical"),
        ):
            if value is not None and self.method != method:
                raise typer.BadParameter(
                    f"--{name} needs --method {method}, got --method {self.method}."
                )

    def estimator(self, k: int) -> Any:
        """Return the estimator, not fitted."""
        import partita

        parameters = {
            "halt": None if self.halt is None else parse_halt(self.halt),
            "n_init": self.n_init,
            "max_iter": self.max_iter,
            "kernel": self.kernel,
            "gamma": self.gamma,
            "metric": self.metric,
            "zero_rows": self.zero_rows,
        }
        given = {name: value for name, value in parameters.items() if value is not None}
        estimator = getattr(partita, ESTIMATORS[self.method])
        return estimator(k, random_state=self.seed, n_threads=self.threads, **given)

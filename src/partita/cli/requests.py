"""What was asked for, as records: which data, which method, how many clusters."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any

import typer

from partita.cli.halt_option import HaltError, parse_halt

CLASSES = {
    "kmeans": "KMeans",
    "mini-batch": "MiniBatchKMeans",
    "spherical": "SphericalKMeans",
    "kernel": "KernelKMeans",
    "medoids": "KMedoids",
}

# what can be computed from the rows of a file
KERNELS = ("rbf", "laplacian", "polynomial", "sigmoid", "cosine", "linear", "chi2")
METRICS = (
    "euclidean", "sqeuclidean", "manhattan", "cosine", "chebyshev", "correlation", "canberra",
    "braycurtis", "hamming", "jaccard", "mahalanobis", "seuclidean",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """Which file, and what is known about it."""

    data: list[str]
    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """Which columns, and what is done to them."""

    columns: list[str] | None = None
    exclude: list[str] | None = None
    id: str | None = None
    weight: str | None = None
    missing: str = "error"
    scale: str = "none"


@dataclass(frozen=True, slots=True)
class Clusters:
    """How many clusters: one number, or those to choose from."""

    fixed: int | None = None
    ks: range | None = None  # None: as many as are sensible for the data

    @property
    def most(self) -> int:
        """The largest number that was named."""
        return self.fixed or (self.ks[-1] if self.ks else 2)


def parse_clusters(text: str) -> Clusters:
    """3, auto, or 2:20 (both ends are tried)."""
    if text.strip().lower() == "auto":
        return Clusters()
    found = re.fullmatch(r"\s*(\d{1,9})\s*(?::\s*(\d{1,9})\s*)?", text)
    if found is None:
        raise typer.BadParameter(f"{text!r} was given; a number, auto, or 2:20 is expected")
    low = int(found[1])
    if found[2] is None:
        if low < 1:
            raise typer.BadParameter("0 was given; at least one cluster is expected")
        return Clusters(fixed=low)
    high = int(found[2])
    if not 1 <= low < high:
        raise typer.BadParameter(f"{text!r} was given; two numbers, the smaller first, like 2:20")
    return Clusters(ks=range(low, high + 1))


def k_option(text: str) -> str:
    """Check `--k` when it is read, so that the error names the option."""
    parse_clusters(text)
    return text


def halt_option(text: str | None) -> str | None:
    """Check `--halt` in the same way."""
    try:
        if text is not None:
            parse_halt(text)
    except HaltError as error:
        raise typer.BadParameter(str(error)) from None
    return text


def kernel_option(text: str | None) -> str | None:
    """A kernel of rows."""
    return _one_of(text, KERNELS)


def metric_option(text: str | None) -> str | None:
    """A dissimilarity of rows."""
    return _one_of(text, METRICS)


def _one_of(text: str | None, names: tuple[str, ...]) -> str | None:
    if text is None or text in names:
        return text
    near = difflib.get_close_matches(text, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(names)} is expected"
    raise typer.BadParameter(f"{text!r} was given; {hint}")


def delimiter_option(text: str | None) -> str | None:
    r"""A single character; \t and the names of the usual ones will do."""
    names = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
    text = text if text is None else names.get(text, text)
    if text is not None and (len(text) != 1 or text in '"\r\n'):
        raise typer.BadParameter(f"{text!r} was given; a single character or {', '.join(names)}")
    return text


@dataclass(frozen=True, slots=True)
class Way:
    """Which member of the family, with its parameters."""

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
        """Options of one member are an error with another."""
        for name, value, method in (
            ("kernel", self.kernel, "kernel"),
            ("gamma", self.gamma, "kernel"),
            ("metric", self.metric, "medoids"),
            ("zero-rows", self.zero_rows, "spherical"),
        ):
            if value is not None and self.method != method:
                raise typer.BadParameter(f"--{name} is for --method {method}, not {self.method}")

    def estimator(self, k: int) -> Any:
        """The estimator, not fitted."""
        import partita

        wanted = {
            "halt": None if self.halt is None else parse_halt(self.halt),
            "n_init": self.n_init,
            "max_iter": self.max_iter,
            "kernel": self.kernel,
            "gamma": self.gamma,
            "metric": self.metric,
            "zero_rows": self.zero_rows,
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        member = getattr(partita, CLASSES[self.method])
        return member(k, random_state=self.seed, n_threads=self.threads, **given)

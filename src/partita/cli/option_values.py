"""Values of options that are parsed while the command line is, so that errors name the option."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import typer

from partita._common.byte_sizes import bytes_in
from partita._common.cluster_numbers import read_range
from partita._common.parameters import MAX_VALUE_LENGTH, describe_value
from partita._common.text import did_you_mean, one_line

# those that can be computed from the rows of a file
KERNELS = (
    "rbf", "laplacian", "polynomial", "sigmoid", "cosine", "linear", "chi2",
    "nearest_neighbors",
)  # fmt: skip
QUALITIES = ("fast", "balanced", "best")
METRICS = (
    "euclidean", "sqeuclidean", "manhattan", "cosine", "chebyshev", "correlation", "canberra",
    "braycurtis", "hamming", "jaccard", "mahalanobis", "seuclidean", "gower",
)  # fmt: skip
SEPARATORS = {"point": ".", "comma": ",", "space": " ", "apostrophe": "'"}
DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


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
    if re.fullmatch(r"\s*\d{1,9}\s*", text):
        if int(text) < 1:
            raise typer.BadParameter("must be at least 1, got 0.")
        return KRequest(fixed=int(text))
    if ":" not in text:
        raise typer.BadParameter(f"must be a number, auto, or a range like 2:20, got {text!r}.")
    candidates = read_range(text)
    if candidates is None:
        raise typer.BadParameter(f"a range must be LOW:HIGH with 1 <= LOW < HIGH, got {text!r}.")
    return KRequest(candidates=candidates)


def one_of(names: tuple[str, ...]) -> Callable[[str], str]:
    """Return a parser that accepts the names, and suggests one for a similar text."""

    def parse_name(text: str) -> str:
        if text in names:
            return text
        hint = did_you_mean(text, names, str)
        wanted = f"must be one of {', '.join(names)}, got {describe_value(text)}."
        raise typer.BadParameter(f"{wanted} {hint}".rstrip())

    return parse_name


def at_least(minimum: float, maximum: float = math.inf) -> Callable[[str], float]:
    """Return a parser that accepts numbers in this range, integers if `minimum` is one."""
    kind, noun = (int, "an integer") if isinstance(minimum, int) else (float, "a number")
    limit = f" and at most {maximum}" if maximum < math.inf else ""

    def parse_number(text: str) -> float:
        try:
            value: float = kind(text)
        except ValueError:
            value = math.nan
        if minimum <= value <= maximum:
            return value
        shown = one_line(text, MAX_VALUE_LENGTH)
        raise typer.BadParameter(f"must be {noun} of at least {minimum:g}{limit}, got {shown}.")

    return parse_number


def parse_share(value: object) -> float:
    """Return a share from 0 to below 1, as 0.05 or 5%."""
    text = str(value).strip()
    number = text.removesuffix("%")
    try:
        share = float(number) / (100 if number != text else 1)
    except ValueError:
        share = math.nan
    if 0 <= share < 1:
        return share
    shown = one_line(text, MAX_VALUE_LENGTH)
    raise typer.BadParameter(f"must be a share from 0 to below 1, like 0.05 or 5%, got {shown}.")


def parse_gamma(value: object) -> float | str:
    """Return a coefficient >= 0, or auto."""
    text = str(value).strip()
    if text == "auto":
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if 0 <= number < math.inf:
        return number
    shown = one_line(text, MAX_VALUE_LENGTH)
    raise typer.BadParameter(f"must be a number of at least 0, or auto, got {shown}.")


def parse_time_limit(value: object) -> float:
    """Return seconds; infinity for none. (typer parses defaults too, which are numbers.)"""
    text = str(value).strip()
    try:
        seconds = math.inf if text.lower() == "none" else float(text)
    except ValueError:
        seconds = math.nan
    if seconds >= 0:
        return seconds
    shown = one_line(text, MAX_VALUE_LENGTH)
    raise typer.BadParameter(f"must be a number of seconds, or none, got {shown}.")


def parse_level(value: object) -> float:
    """Return a confidence level, as 0.95 or 95%."""
    text = str(value).strip()
    number = text.removesuffix("%")
    try:
        level = float(number) / (100 if number != text else 1)
    except ValueError:
        level = math.nan
    if 0 < level < 1:
        return level
    shown = one_line(text, MAX_VALUE_LENGTH)
    raise typer.BadParameter(f"must be a number between 0 and 1, like 0.95, got {shown}.")


def parse_size(text: str) -> float:
    """Return the bytes of a size like 2GiB or 500MB."""
    size = bytes_in(text)
    if not size:
        shown = one_line(text, MAX_VALUE_LENGTH)
        raise typer.BadParameter(f"must be a size like 2GiB or 500MB, got {shown}.")
    return size


def parse_delimiter(text: str) -> str:
    r"""Return `--delimiter` as one character; \t and the names of the usual ones are accepted."""
    delimiter = DELIMITERS.get(text, text)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        names = ", ".join(DELIMITERS)
        raise typer.BadParameter(f"must be a single character or one of {names}, got {text!r}.")
    return delimiter


def separator(*names: str) -> Callable[[str], str]:
    """Return a parser of separators, given as a character or by one of these names."""

    def parse_separator(text: str) -> str:
        character = SEPARATORS.get(text, text)
        if character in [SEPARATORS[name] for name in names]:
            return character
        raise typer.BadParameter(
            f"must be one of {', '.join(names)}, or that character, got {describe_value(text)}."
        )

    return parse_separator

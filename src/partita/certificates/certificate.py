"""`Certificate`: a lower bound of the objective, beside the objective of a partition."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from html import escape
from typing import Any

from partita._common.number_text import count_text, number_text
from partita._common.text import NARROW_SPACE, format_number, one_line, plural
from partita.certificates.gap_text import gap_percent, level_percent

EXACT, RIGOROUS, CONFIDENCE = "exact", "rigorous", "confidence"
KINDS = (EXACT, RIGOROUS, CONFIDENCE)
NO_METHOD = "no method had finished"  # the bound 0 holds for every sum of squares
MAX_METHOD_CHARACTERS = 80
MAX_ROUNDING_GAP = 1e-9  # between an objective and an optimum that are equal but for rounding
MEANING_OF_KIND = {
    EXACT: "the bound is the objective of the best partition",
    RIGOROUS: "the bound is proven, rounding errors included",
    CONFIDENCE: "the bound is from random samples of the rows, and holds with the level given",
}


@dataclass(frozen=True, slots=True)
class BoundProgress:
    """The state after an improvement of the bound.

    Attributes
    ----------
    seconds : float
        Since the search for bounds began.
    method : str
        The method that gave the bound.
    lower_bound, objective : float
        The bound, and the objective of the partition.
    """

    seconds: float
    method: str
    lower_bound: float
    objective: float

    @property
    def gap(self) -> float:
        """The share of the objective that is above the bound."""
        return relative_gap(self.objective, self.lower_bound)


def relative_gap(objective: float, lower_bound: float) -> float:
    """Return (objective − bound) / objective: from 0 to 1, and 0 if the objective is 0.

    >>> relative_gap(100.0, 97.0), relative_gap(0.0, 0.0), relative_gap(1.0, 2.0)
    (0.03, 0.0, 0.0)
    """
    if not objective > 0:
        return 0.0
    return min(1.0, max(0.0, (objective - lower_bound) / objective))


@dataclass(frozen=True, slots=True)
class Certificate:
    """A lower bound of the objective, beside the objective of a partition.

    Attributes
    ----------
    lower_bound : float
        No partition of these rows into this number of clusters has a lower objective.
    objective : float
        The objective of the partition, rounded up.
    kind : {"exact", "rigorous", "confidence"}
        "exact": the bound is the objective of the best partition. "rigorous": the bound holds,
        rounding errors included. "confidence": it holds with the probability `level` over the
        random samples that it is computed from.
    level : float or None
        The probability of a "confidence" bound.
    method : str
        The method that gave the bound.
    seconds : float
        The time that the search for bounds took.
    history : tuple of BoundProgress
        The improvements of the bound.
    n_clusters, n_rows, n_features : int
        The size of the problem; no features for matrices and kernels (None).
    criterion : str
        What the objective is: "the sum of squared distances", for example.
    version : str
        The version of partita that made it.
    gap : float
        (objective − lower_bound) / objective, from 0 to 1.
    """

    lower_bound: float
    objective: float
    kind: str
    level: float | None
    method: str
    seconds: float
    history: tuple[BoundProgress, ...]
    n_clusters: int
    n_rows: int
    n_features: int | None
    criterion: str
    version: str

    def __post_init__(self) -> None:
        numbers = (self.lower_bound, self.objective, self.seconds)
        if not all(math.isfinite(value) and value >= 0 for value in numbers):
            raise ValueError(f"a certificate needs finite numbers >= 0, got {numbers}")
        if self.lower_bound > self.objective:
            raise ValueError("the bound of a certificate is above its objective")
        if self.kind not in KINDS or (self.level is None) != (self.kind != CONFIDENCE):
            raise ValueError(f"a certificate is one of {KINDS}, a confidence has a level")
        if self.level is not None and not 0 < self.level < 1:
            raise ValueError("the level of a certificate is between 0 and 1")

    @property
    def gap(self) -> float:
        """The share of the objective that is above the bound."""
        return relative_gap(self.objective, self.lower_bound)

    @property
    def is_optimal(self) -> bool:
        """Return whether the partition is proven to be the best possible."""
        return self.gap <= MAX_ROUNDING_GAP and self.kind == EXACT

    def excludes(self, decrease: float) -> bool:
        """Return whether no partition has an objective that is lower by this share, provably.

        >>> import partita
        >>> partita.certify([[0.0], [1.0], [9.0]], [0, 0, 1]).excludes(0.01)
        True
        """
        return self.level is None and self.gap < decrease

    @property
    def gap_text(self) -> str:
        """The gap in percent, rounded up; 0 if it is one of rounding only."""
        return gap_percent(0.0 if self.is_optimal else self.gap)

    @property
    def short(self) -> str:
        """The gap in a few words, for the place below an objective."""
        if self.is_optimal:
            return "proven to be the best possible"
        if self.gap == 1.0:
            return "not known how far from the best possible"
        excess = self.gap / (1.0 - self.gap)  # over the bound, where the gap is a share of J
        return f"at most {gap_percent(excess)} above the best possible{self._confidence}"

    @property
    def meaning(self) -> str:
        """The kind of the bound in plain words."""
        return f"{self.kind}: {MEANING_OF_KIND[self.kind]}"

    @property
    def _confidence(self) -> str:
        return "" if self.level is None else f" ({level_percent(self.level)} confidence)"

    @property
    def verdict(self) -> str:
        """The gap in a sentence, without a full stop."""
        if self.is_optimal:
            return "no partition has a lower objective: this one is proven to be the best possible"
        gap = gap_percent(self.gap)
        if self.kind == EXACT:
            return f"the best possible objective is {gap} lower"
        if self.gap == 1.0:
            return "no bound above 0 is known, so nothing is known about better partitions"
        return f"the best possible objective is at most {gap} lower{self._confidence}"

    @property
    def sentence(self) -> str:
        """A sentence for a paper."""
        features = "" if self.n_features is None else f", d = {self.n_features}"
        size = f"K = {self.n_clusters}, n = {self.n_rows}{features}"
        method = f"{one_line(self.method, MAX_METHOD_CHARACTERS)}; partita {self.version}"
        value = f"For {size}, {self.criterion} is {self.objective:.6g}"
        return f"{value}{self._conclusion(one_line(method))}.".replace(NARROW_SPACE, " ")

    def _conclusion(self, method: str) -> str:
        """Return the end of the sentence."""
        bound, gap = f"{self.lower_bound:.6g}", self.gap_text
        if self.is_optimal:
            return f", which is proven to be the lowest possible ({method})"
        if self.kind == EXACT:
            return f"; the lowest possible is {bound}, which is {gap} less ({method})"
        if self.gap == 1.0:
            return f"; no lower bound above 0 is known ({method})"
        level = "" if self.level is None else f"with {level_percent(self.level)} confidence, "
        kind = "rigorous bound" if self.level is None else "bound from samples"
        return (
            f"; {level}no partition into {plural(self.n_clusters, 'cluster')} has less than "
            f"{bound}, so that the lowest possible is at most {gap} less ({kind}, {method})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: the fields, the gap and the sentence."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["history"] = [asdict(record) for record in self.history]
        return {**values, "gap": self.gap, "sentence": self.sentence}

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        rows = [
            ("objective", number_text(self.objective)),
            ("lower bound", number_text(self.lower_bound)),
            ("kind", self.meaning),
            ("gap", self.gap_text + self._confidence),
            ("method", one_line(self.method, MAX_METHOD_CHARACTERS)),
            ("problem", self._size()),
            ("time", f"{format_number(self.seconds)} s"),
        ]
        cells = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(text)}</td></tr>"
            for name, text in rows
        )
        return f"<table><caption>{escape(self.sentence)}</caption>{cells}</table>"

    def _size(self) -> str:
        rows = count_text(self.n_rows, "row")
        if self.n_features is not None:
            rows += f", {count_text(self.n_features, 'feature')}"
        return f"{rows}, {plural(self.n_clusters, 'cluster')}"

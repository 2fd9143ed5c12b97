"""A check of missing values: how many there are, where, and whether some groups have more."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.text import listed
from partita.diagnosis.finding import Finding, percent
from partita.diagnosis.fit_context import FitContext

MIN_GROUP_EXCESS = 0.2  # by which a share in a group is above that of the other rows
MIN_STANDARD_ERRORS = 4.0  # of that difference: many groups and features are compared
MANY_MISSING_SHARE = 0.5  # of a feature: half of its values
SHOWN_FEATURES = 5


def check_missing_values(fit: FitContext) -> Finding | None:
    """Report missing values: in which features, and in which groups far more often."""
    if fit.missing is None or not fit.missing.any():
        return None
    shares = _GroupShares.of(fit, fit.missing)
    order = [int(t) for t in np.argsort(-shares.overall, kind="stable") if shares.overall[t] > 0]
    groups = shares.groups_with_excess()
    evidence = _evidence(fit, fit.missing, shares.overall, order)
    if groups:
        return _of_groups(fit, shares, groups, evidence)
    is_frequent = shares.overall.max() >= MANY_MISSING_SHARE
    return Finding(
        "missing-values",
        "A column is empty in most rows." if is_frequent else "Some values are missing.",
        evidence,
        "Read means of features that are often missing with care: they are those of the rows that "
        "have a value.",
        "warning" if is_frequent else "note",
        features=tuple(fit.names[t] for t in order),
    )


def _evidence(fit: FitContext, missing: Array, overall: Floats, order: list[int]) -> str:
    rows = float(fit.weight[missing.any(axis=1)].sum()) / fit.total
    shown = [f"{fit.names[t]} {percent(float(overall[t]))}" for t in order[:SHOWN_FEATURES]]
    more = f" and {len(order) - len(shown)} more" if len(order) > len(shown) else ""
    return (
        f"{percent(float(overall.mean()))} of the values are missing, in {len(order)} of {fit.d} "
        f"features and {percent(rows)} of the rows: {', '.join(shown)}{more}."
    )


def _of_groups(
    fit: FitContext, shares: _GroupShares, groups: list[tuple[int, int]], evidence: str
) -> Finding:
    places = [
        f"{fit.names[t]} in cluster {j} ({percent(float(shares.within[j, t]))}, elsewhere "
        f"{percent(float(shares.others[j, t]))})"
        for j, t in groups
    ]
    return Finding(
        "missing-values",
        "In some groups values are missing far more often than in others.",
        f"{evidence} Far more often: {listed(places, str)}.",
        "Find out why these values are missing. Where a question does not apply to some rows, the "
        "gap itself tells them apart: a further feature (1 if missing, else 0) says so.",
        clusters=tuple(sorted({j for j, _ in groups})),
        features=tuple(dict.fromkeys(fit.names[t] for _, t in groups)),
    )


class _GroupShares:
    """The share of missing values of every feature: in all rows, within groups, and outside."""

    def __init__(self, missing: Floats, weight: Floats) -> None:
        total, weight = missing.sum(axis=0), weight[:, None]
        rest = weight.sum() - weight
        self.overall = total / weight.sum()  # (d,)
        self.within = _ratio(missing, weight)  # (k, d)
        self.others = _ratio(total - missing, rest)  # (k, d)
        spread = self.overall * (1 - self.overall)
        self._error = np.sqrt(spread * (_ratio(1.0, weight) + _ratio(1.0, rest)))

    @classmethod
    def of(cls, fit: FitContext, missing: Array) -> _GroupShares:
        """Add up the weight of the missing values (n, d) of every group."""
        sums = np.zeros((fit.k, fit.d))
        for t in np.flatnonzero(missing.any(axis=0)):
            sums[:, t] = np.bincount(fit.labels, fit.weight * missing[:, t], fit.k)
        return cls(sums, np.bincount(fit.labels, fit.weight, fit.k).astype(np.float64))

    def groups_with_excess(self) -> list[tuple[int, int]]:
        """Return (group, feature) where far more is missing than elsewhere, the most first."""
        excess = self.within - self.others
        is_large = (excess >= MIN_GROUP_EXCESS) & (excess > MIN_STANDARD_ERRORS * self._error)
        order = np.argsort(-excess[is_large], kind="stable")
        return [(int(j), int(t)) for j, t in np.argwhere(is_large)[order]]


def _ratio(part: Floats | float, whole: Floats) -> Floats:
    """part / whole; 0 where there is nothing."""
    above, below = np.broadcast_arrays(np.asarray(part, dtype=np.float64), whole)
    return np.asarray(np.divide(above, below, out=np.zeros(above.shape), where=below > 0))

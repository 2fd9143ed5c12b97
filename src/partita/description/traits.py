"""Traits: the features in which a group differs from all rows, in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats
from partita._common.number_text import day_text, percent_text, rounded_text
from partita._common.text import isolated
from partita.description.group_profile import MAX_COUNTED_SCORE, SHARES, GroupProfile

MAX_TRAITS = 6
MIN_SCORE = 0.5  # spreads within groups; smaller differences are none
STRONG_MIN_RATIO = 0.4  # of the largest score: a smaller difference tells less
VERY_SCORE = 2.5  # from which a value is "very" high or low
MIN_SHARE_DIFFERENCE = 0.05  # of a share, besides

FormatValue = Callable[[int, float], str]  # the number of a feature, and a value of it


@dataclass(frozen=True, slots=True)
class Trait:
    """One feature in which a group differs from all rows."""

    feature: str
    index: int  # of the feature, from 0
    score: float  # (value of the group − value of all rows) / spread within groups
    value: float  # typical of the group, in the user's units
    overall: float  # typical of all rows
    statistic: str  # what `value` is: "mean", "median", or a share of rows: "share", "presence"
    level: str  # "very high", "high", "low", "very low"
    value_text: str  # "1 100"
    overall_text: str  # "747"
    is_extreme: bool = True  # whether no other group differs more, in the same direction

    @property
    def phrase(self) -> str:
        """The difference without numbers: "high proline", "no newsletter", "mostly orbit"."""
        return f"{self.adjective} {isolated(self.feature)}"

    @property
    def adjective(self) -> str:
        """The word before the feature."""
        if self.statistic not in SHARES:
            return self.level
        if self.score > 0:
            return "mostly" if self.value >= 0.5 else "more"
        return "no" if self.value == 0 else "less"

    @property
    def words(self) -> str:
        """The difference with numbers: "high proline (1 100; all rows 747)"."""
        return f"{self.phrase} ({self.value_text}; all rows {self.overall_text})"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The nearest other group, and the feature in which it differs most."""

    number: int
    feature: str
    level: str  # "higher" or "lower"; empty if they do not differ
    value_text: str  # of this group
    other_text: str  # of the neighbour


def value_formatter(profile: GroupProfile, days: Sequence[int] = ()) -> FormatValue:
    """Return the function that writes a typical value: numbers, shares in percent, dates."""
    is_share, is_day = np.isin(profile.statistic, SHARES), set(days)

    def text(feature: int, value: float) -> str:
        if not math.isfinite(value):
            return "–"
        if is_share[feature]:
            return percent_text(value)
        if feature in is_day:
            return day_text(value)
        return rounded_text(value, float(profile.spread[feature]))

    return text


def group_traits(
    profile: GroupProfile, names: Sequence[str], text: FormatValue
) -> list[tuple[Trait, ...]]:
    """Return the features that set each group apart.

    First those in which it is the extreme of all groups, if their differences are not small beside
    the largest; then the others. The larger difference comes first.
    """
    highest, lowest = profile.scores.max(axis=0), profile.scores.min(axis=0)
    is_share = np.isin(profile.statistic, SHARES)
    found = []
    for scores, value in zip(profile.scores, profile.typical, strict=True):
        size, extreme = np.abs(scores), np.where(scores > 0, highest, -lowest)
        clear = size >= MIN_SCORE
        clear &= ~is_share | (np.abs(value - profile.overall) >= MIN_SHARE_DIFFERENCE)
        tells = (size >= extreme) & (size >= STRONG_MIN_RATIO * size.max(initial=0.0))
        candidates = np.flatnonzero(clear)
        order = candidates[np.lexsort((-size[candidates], ~tells[candidates]))]
        features = order[:MAX_TRAITS].tolist()
        found.append(
            tuple(
                Trait(
                    feature=names[t],
                    index=t,
                    score=float(scores[t]),
                    value=float(value[t]),
                    overall=float(profile.overall[t]),
                    statistic=str(profile.statistic[t]),
                    level=_level(float(scores[t])),
                    value_text=text(t, float(value[t])),
                    overall_text=text(t, float(profile.overall[t])),
                    is_extreme=bool(size[t] >= extreme[t]),
                )
                for t in features
            )
        )
    return found


def _level(score: float) -> str:
    return ("very " if abs(score) >= VERY_SCORE else "") + ("high" if score > 0 else "low")


def nearest_groups(
    profile: GroupProfile, names: Sequence[str], text: FormatValue
) -> list[Neighbour | None]:
    """Compare each group with the nearest other one; None if there is none, or no value."""
    known = np.flatnonzero((profile.weight > 0) & np.isfinite(profile.typical).any(axis=1))
    found: list[Neighbour | None] = [None] * len(profile.weight)
    if len(known) < 2:
        return found
    scores: Floats = np.clip(profile.scores[known], -MAX_COUNTED_SCORE, MAX_COUNTED_SCORE)
    square = np.einsum("kd,kd->k", scores, scores)
    apart = square[:, None] + square - 2 * scores @ scores.T
    np.fill_diagonal(apart, np.inf)
    for a, b in enumerate(apart.argmin(axis=1).tolist()):
        j, i, gap = int(known[a]), int(known[b]), scores[a] - scores[b]
        t = int(np.abs(gap).argmax())
        own, other = (text(t, float(profile.typical[c, t])) for c in (j, i))
        level = "" if own == other else "higher" if gap[t] > 0 else "lower"
        found[j] = Neighbour(i, names[t], level, own, other)
    return found

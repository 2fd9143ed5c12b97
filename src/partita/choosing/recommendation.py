"""From a table of criteria to a recommendation, and the reasons for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.choosing.criterion_kinds import CRITERION_KINDS
from partita.choosing.gap_reference import GapComparison, SweepCurve
from partita.choosing.stability import MIN_PREDICTION_STRENGTH
from partita.choosing.sweep import Criterion

VOTERS = ("silhouette", "calinski_harabasz", "davies_bouldin", "bic")  # by their ranking of all K
RULES = ("prediction_strength",)  # by their pick alone
SUBSTITUTES = ("simplified_silhouette", "stability")  # vote too if there are fewer than two voters
PREFERS_LARGEST = "stability"  # of equally stable K, the largest is the most informative
MIN_SILHOUETTE_RATIO = 1.1  # over that of references; less may come from the shape of the cloud
MIN_SILHOUETTE_RATIO_FOR_K = 1.3  # the same if silhouettes for the same K are compared
MIN_DEVIATIONS = 3.0  # standard deviations of references
ALTERNATIVE_MIN_VOTES = 0.6  # of the most votes
MIN_DEVIATION = 1e-12  # equal references have none, and it is divided by


@dataclass(frozen=True, slots=True)
class StructureTest:
    """The comparison of the data with references without structure."""

    found: bool
    silhouette: float  # of the data: the largest, or that with the largest lead
    expected: float  # the mean of the references
    deviation: float
    lead: float  # of log J, in standard deviations of the references
    about: str  # what the references are
    min_ratio: float  # of silhouettes, for structure

    def __str__(self) -> str:
        lead = f"{abs(self.lead):.1f} standard deviations {'more' if self.lead > 0 else 'less'}"
        return (
            f"the best simplified silhouette is {self.silhouette:.3f}, that of {self.about} "
            f"{self.expected:.3f} ± {self.deviation:.3f}; J decreases by {lead} "
            f"than for {self.about}"
        )


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The recommended number of clusters."""

    best: int
    ranking: tuple[int, ...]
    sentence: str
    reasons: tuple[str, ...]


def compare_structure(comparison: GapComparison) -> StructureTest:
    """Compare simplified silhouettes, and the decrease of J from that of one cluster.

    Both must beat the references: a few outliers make large silhouettes, and J of a cloud of
    another shape may decrease faster. The largest silhouettes of all K are compared, and, if the
    references are a cloud like the data, those for the same K.
    """
    curves = (comparison.data, *comparison.references)
    least = min(curve.n_comparable or len(comparison.ks) for curve in curves)
    drop, *rest = (curve.log_cost[1:least] - curve.log_cost[0] for curve in curves)
    drops = np.array(rest)
    scale = np.maximum(drops.std(axis=0, ddof=1), MIN_DEVIATION)
    lead = float(((drops.mean(axis=0) - drop) / scale).max(initial=-np.inf))
    own, *others = (_silhouettes(curve, least, comparison.kind.is_like_data) for curve in curves)
    expected, deviation = np.mean(others, axis=0), np.std(others, axis=0, ddof=1)
    ratio = np.array([MIN_SILHOUETTE_RATIO, *[MIN_SILHOUETTE_RATIO_FOR_K] * (len(own) - 1)])
    required = np.maximum(ratio * expected, expected + MIN_DEVIATIONS * deviation)
    best = int((own - required).argmax())
    found = bool(own[best] > required[best]) and lead > MIN_DEVIATIONS
    silhouette, mean, error = (float(array[best]) for array in (own, expected, deviation))
    about, min_ratio = comparison.kind.about, float(ratio[best])
    return StructureTest(found, silhouette, mean, error, lead, about, min_ratio)


def _silhouettes(curve: SweepCurve, least: int, by_k: bool) -> Floats:
    """The largest silhouette, then, if they are compared, those of every K above 1."""
    largest = curve.silhouette[: curve.n_comparable].max(keepdims=True)
    return np.append(largest, curve.silhouette[1:least]) if by_k else largest


def recommend(
    ks: Ints,
    criteria: dict[str, Criterion],
    structure: StructureTest | None,
    missing: str = "",
    max_comparable: float = np.inf,
) -> Recommendation:
    """Recommend 1 if there is no structure, else the K with the most votes.

    `missing` describes the part that an interruption left out; no K above `max_comparable` is voted
    for.
    """
    votes = count_votes(ks, criteria, max_comparable)
    several = np.flatnonzero(ks > 1)
    order = several[np.argsort(-votes[several], kind="stable")]
    ranking = tuple(int(k) for k in ks[order])
    best, reasons = ranking[0], _opinions(criteria)
    if structure is not None and not structure.found:
        return _no_structure(structure, ranking, reasons)
    enough = ALTERNATIVE_MIN_VOTES * votes[order[0]]
    others = ks[order[1:][votes[order[1:]] >= enough]].tolist()
    sentence = f"{best} clusters{_support(best, others, criteria)}."
    if structure is not None:
        reasons = (f"there is structure: {structure}", *reasons)
    else:
        reasons = (*reasons, "whether there is structure at all was not tested")
    if best == ks.max() and len(several) > 1:
        sentence = (
            f"{best} clusters, the largest number tried: more may be better, or the groups are not "
            "of a kind that this method finds."
        )
    strength = criteria.get("prediction_strength")
    if strength is not None and not (strength.values >= MIN_PREDICTION_STRENGTH).any():
        caution = "no K is reproducible across random halves of the data; treat the result with "
        reasons = (*reasons, caution + "caution")
    if max_comparable < ks.max():
        finer = (
            f"no K above {max_comparable:g} counts: its clusters only tell apart equal rows, or "
        )
        reasons = (*reasons, finer + "values on a grid, such as counts or grades")
    if missing:
        sentence = f"Incomplete: {missing}. The results so far recommend {best} clusters."
    return Recommendation(best, ranking, sentence, reasons)


def _no_structure(
    structure: StructureTest, ranking: tuple[int, ...], opinions: tuple[str, ...]
) -> Recommendation:
    requirement = (
        f"structure requires {structure.min_ratio:g} times the silhouette of {structure.about}, "
        f"and a lead of {MIN_DEVIATIONS:g} standard deviations in both"
    )
    reasons = (str(structure), requirement, *opinions)
    if structure.lead > MIN_DEVIATIONS:
        reasons = (*reasons, "groups that are not round are possible: diagnose a fit of 2 clusters")
    return Recommendation(
        1,
        ranking,
        f"No cluster structure: there is as much in {structure.about}.",
        (*reasons, f"if there must be several clusters, the criteria choose {ranking[0]}"),
    )


def count_votes(ks: Ints, criteria: dict[str, Criterion], max_comparable: float = np.inf) -> Floats:
    """Votes (m,) for every K: 1, ½, ⅓, … by its rank in a criterion, 1 for the pick of a rule.

    So a K that several criteria rank second beats one that a single criterion ranks first.
    """
    votes = np.zeros(len(ks))
    for name in voters(criteria):
        column = criteria[name]
        votes += (ks == column.pick) if name in RULES else 1.0 / _ranks(column, ks, max_comparable)
    if not votes.any():  # the others have a pick, but no ranking
        picks = [criteria[name].pick for name in ("gap", "inertia") if name in criteria]
        votes += ks == next((pick for pick in picks if pick in ks), None)
    return votes


def voters(criteria: dict[str, Criterion]) -> list[str]:
    """Names of the criteria that vote: those that are defined for at least two K."""
    able = [n for n, column in criteria.items() if (~np.isnan(column.values)).sum() > 1]
    names = [name for name in VOTERS if name in able]
    if len(names) < 2:
        names += [name for name in SUBSTITUTES if name in able]
    return [*names, *(name for name in RULES if name in able)]


def _ranks(criterion: Criterion, ks: Ints, max_comparable: float) -> Floats:
    """The rank (m,) of every K, 1 for the best; inf where there is none."""
    values = criterion.values if criterion.better == "low" else -criterion.values
    known = np.flatnonzero(~np.isnan(values) & (ks <= max_comparable))
    if criterion.name == PREFERS_LARGEST:
        known = known[::-1]
    rank = np.full(len(values), np.inf)
    rank[known[np.argsort(values[known], kind="stable")]] = np.arange(1, len(known) + 1)
    return rank


def _support(best: int, others: list[int], criteria: dict[str, Criterion]) -> str:
    if others:
        return f" ({_and([str(k) for k in others[:3]])} would do nearly as well)"
    voting = [criteria[name] for name in voters(criteria)]
    agree = sum(criterion.pick == best for criterion in voting)
    return f" (the choice of {agree} of {len(voting)} criteria)" if len(voting) > 1 else ""


def _opinions(criteria: dict[str, Criterion]) -> tuple[str, ...]:
    """The picks: those with the most voters first, then those of criteria without a vote."""
    by_pick: dict[int, list[str]] = {}
    for name in voters(criteria):
        if (pick := criteria[name].pick) is not None:
            by_pick.setdefault(pick, []).append(CRITERION_KINDS[name].title)
    opinions = [
        f"{_and(names)} choose{'s' * (len(names) == 1)} {pick}"
        for pick, names in sorted(by_pick.items(), key=lambda item: -len(item[1]))
    ]
    if "gap" in criteria:
        pick = criteria["gap"].pick
        opinions.append(f"the gap statistic stops at {pick} (no vote: it stops at any plateau)")
    if (pick := criteria["inertia"].pick) is not None:
        opinions.append(f"the elbow of J is at {pick} (no vote: it moves with the largest K)")
    return tuple(opinions)


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

"""From a table of criteria to a recommendation, and the reasons for it in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.choosing.criterion_kinds import CRITERION_KINDS
from partita.choosing.gap_reference import GapComparison
from partita.choosing.sweep import Criterion

VOTERS = ("silhouette", "calinski_harabasz", "davies_bouldin", "bic")  # by their order of all K
RULES = ("prediction_strength",)  # by their pick alone
INSTEAD = ("simplified_silhouette", "stability")  # these too, if there are no two voters
LARGEST = "stability"  # of numbers that are equally good, the largest says most
ABOVE = 1.1  # times the silhouette of rows without structure: less may be the shape of the cloud
SURE = 3.0  # standard deviations of references
CLOSE = 0.6  # of the most votes: who has so many is an alternative


@dataclass(frozen=True, slots=True)
class StructureTest:
    """Whether the data beat rows without structure, and the evidence."""

    found: bool
    silhouette: float  # the largest, of the data
    expected: float  # of references, on average
    deviation: float
    lead: float  # of log J, in standard deviations of references

    @property
    def asked(self) -> str:
        """What would have been structure."""
        return f"clusters need {ABOVE:g} times their silhouette, and {SURE:g} deviations in both"

    def __str__(self) -> str:
        falls = f"{abs(self.lead):.1f} standard deviations {'more' if self.lead > 0 else 'less'}"
        return (
            f"the best simplified silhouette is {self.silhouette:.3f}, that of uniform rows "
            f"{self.expected:.3f} ± {self.deviation:.3f}; J falls by {falls} than theirs"
        )


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Which number of clusters to take."""

    best: int
    ranking: tuple[int, ...]
    sentence: str
    reasons: tuple[str, ...]


def compare_structure(references: GapComparison) -> StructureTest:
    """Compare the largest simplified silhouette, and how far J falls below that of one cluster.

    Both must beat the references: a few outliers make large silhouettes, and a cloud of another
    shape than a box may let J fall faster.
    """
    drops = np.array([curve.log_cost - curve.log_cost[0] for curve in references.references])
    mine = references.data.log_cost - references.data.log_cost[0]
    spread = np.maximum(drops.std(axis=0, ddof=1), 1e-12)[1:]
    lead = float(((drops.mean(axis=0) - mine)[1:] / spread).max())
    theirs = np.array([curve.silhouette.max() for curve in references.references])
    expected, deviation = float(theirs.mean()), max(float(theirs.std(ddof=1)), 1e-12)
    best = float(references.data.silhouette.max())
    found = best > ABOVE * expected and best > expected + SURE * deviation and lead > SURE
    return StructureTest(found, best, expected, deviation, lead)


def recommend(
    ks: Ints, criteria: dict[str, Criterion], structure: StructureTest | None, cut: str = ""
) -> Recommendation:
    """Let the criteria vote. Where there is no structure, nothing is left to vote about.

    `cut` says what is missing, if the sweep was interrupted.
    """
    votes = count_votes(ks, criteria)
    several = np.flatnonzero(ks > 1)
    order = several[np.argsort(-votes[several], kind="stable")]
    ranking = tuple(int(k) for k in ks[order])
    best, reasons = ranking[0], _opinions(criteria)
    if structure is not None and not structure.found:
        sentence = "No cluster structure: K-means would find as much in rows that have none."
        reasons = (str(structure), structure.asked, *reasons)
        if structure.lead > SURE:
            reasons = (*reasons, "groups that are not round are possible: diagnose a fit of two")
        would = f"if it must be several, the criteria would choose {best}"
        return Recommendation(1, ranking, sentence, (*reasons, would))
    others = [int(ks[at]) for at in order[1:] if votes[at] >= CLOSE * votes[order[0]]]
    sentence = f"{best} clusters{_how_clearly(best, others, criteria)}."
    if structure is not None:
        reasons = (f"there is structure: {structure}", *reasons)
    else:
        reasons = (*reasons, "whether there is structure at all was not tested")
    if best == ks.max() and len(several) > 1:
        sentence = (
            f"{best} clusters, the largest number tried: more may be better, or the groups are not "
            "of the kind that K-means finds."
        )
    strength = criteria.get("prediction_strength")
    if strength is not None and strength.pick == 1:
        reasons = (*reasons, "halves of the data agree on no number of clusters: take care")
    if cut:
        sentence = f"Not known: {cut}. Of what there is, {best} clusters would be the choice."
    return Recommendation(best, ranking, sentence, reasons)


def count_votes(ks: Ints, criteria: dict[str, Criterion]) -> Floats:
    """Votes (m,) for every K: 1, ½, ⅓, … by its place with a criterion, 1 for the pick of a rule.

    So a K that several criteria put second beats one that is first with one of them alone.
    """
    votes = np.zeros(len(ks))
    for name in voters(criteria):
        column = criteria[name]
        votes += (ks == column.pick) if name in RULES else 1.0 / _places(column)
    if not votes.any():  # what is left has an opinion, but no order
        picks = [criteria[name].pick for name in ("gap", "inertia") if name in criteria]
        votes += ks == next((pick for pick in picks if pick in ks), None)
    return votes


def voters(criteria: dict[str, Criterion]) -> list[str]:
    """Who has a vote: criteria that say something about two K at least, and rules."""
    able = [n for n, column in criteria.items() if np.isfinite(column.values).sum() > 1]
    there = [name for name in VOTERS if name in able]
    if len(there) < 2:
        there += [name for name in INSTEAD if name in able]
    return [*there, *(name for name in RULES if name in able)]


def _places(criterion: Criterion) -> Floats:
    """The place (m,) of every K, 1 for the best; inf where the criterion is not defined."""
    values = criterion.values if criterion.better == "low" else -criterion.values
    known = np.flatnonzero(np.isfinite(values))  # nothing is left to say about a J of 0
    if criterion.name == LARGEST:
        known = known[::-1]
    place = np.full(len(values), np.inf)
    place[known[np.argsort(values[known], kind="stable")]] = np.arange(1, len(known) + 1)
    return place


def _how_clearly(best: int, others: list[int], criteria: dict[str, Criterion]) -> str:
    if others:
        return f" ({_listed([str(k) for k in others[:3]])} would do nearly as well)"
    those = [criteria[name] for name in voters(criteria)]
    agree = sum(criterion.pick == best for criterion in those)
    return f" (the choice of {agree} of {len(those)} criteria)" if len(those) > 1 else ""


def _opinions(criteria: dict[str, Criterion]) -> tuple[str, ...]:
    """Who chooses which K, the K with most of them first; then those without a vote."""
    by_pick: dict[int, list[str]] = {}
    for name in voters(criteria):
        if (pick := criteria[name].pick) is not None:
            by_pick.setdefault(pick, []).append(CRITERION_KINDS[name].title)
    said = [
        f"{_listed(names)} choose{'s' * (len(names) == 1)} {pick}"
        for pick, names in sorted(by_pick.items(), key=lambda item: -len(item[1]))
    ]
    if "gap" in criteria:
        said.append(f"the gap statistic stops at {criteria['gap'].pick} (no vote: at a plateau)")
    if (bend := criteria["inertia"].pick) is not None:
        said.append(f"the elbow of J is at {bend} (no vote: it moves with the largest K)")
    return tuple(said)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

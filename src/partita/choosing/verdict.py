"""From a table of criteria to a recommendation, and the reasons for it in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._typing import Floats, Ints
from partita.choosing.record import Criterion
from partita.choosing.reference import References

VOTERS = ("silhouette", "calinski_harabasz", "davies_bouldin", "bic")  # by their order of all K
RULES = ("prediction_strength",)  # by their pick alone
INSTEAD = ("simplified_silhouette", "stability")  # these too, if there are no two voters
LARGEST = "stability"  # of numbers that are equally good, the largest says most
ABOVE = 1.1  # times the silhouette of rows without structure: less may be the shape of the cloud
SURE = 3.0  # standard deviations of references
CLOSE = 0.6  # of the most votes: who has so many is an alternative

TITLES = {
    "inertia": "the elbow of J",
    "silhouette": "the silhouette",
    "simplified_silhouette": "the simplified silhouette",
    "calinski_harabasz": "Calinski-Harabasz",
    "davies_bouldin": "Davies-Bouldin",
    "bic": "BIC",
    "gap": "the gap statistic",
    "prediction_strength": "prediction strength",
    "stability": "stability",
}


@dataclass(frozen=True, slots=True)
class Structure:
    """Whether the data beat rows without structure, and the evidence."""

    found: bool
    silhouette: float  # the largest, of the data
    expected: float  # of references, on average
    deviation: float
    lead: float  # of log J, in standard deviations of references

    def __str__(self) -> str:
        falls = f"{abs(self.lead):.1f} standard deviations {'more' if self.lead > 0 else 'less'}"
        return (
            f"the best simplified silhouette is {self.silhouette:.3f}, that of uniform rows "
            f"{self.expected:.3f} ± {self.deviation:.3f}; J falls by {falls} than theirs"
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which number of clusters to take."""

    best: int
    ranking: tuple[int, ...]
    sentence: str
    reasons: tuple[str, ...]


def structure_of(references: References) -> Structure:
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
    return Structure(found, best, expected, deviation, lead)


def judge(
    ks: Ints, criteria: dict[str, Criterion], structure: Structure | None, cut: str = ""
) -> Verdict:
    """Let the criteria vote. Where there is no structure, nothing is left to vote about.

    `cut` says what is missing, if the sweep was interrupted.
    """
    votes = count_votes(ks, criteria)
    several = np.flatnonzero(ks > 1)
    order = several[np.argsort(-votes[several], kind="stable")]
    ranking = tuple(int(k) for k in ks[order])
    reasons = _opinions(criteria)
    if structure is not None and not structure.found:
        sentence = "No cluster structure: rows without any would have looked much the same."
        would = f"if it must be several, the criteria would choose {ranking[0]}"
        asked = (
            f"clusters need a silhouette {ABOVE:g} times theirs, and {SURE:g} deviations in both"
        )
        return Verdict(1, ranking, sentence, (str(structure), asked, *reasons, would))
    best = ranking[0]
    others = [int(ks[at]) for at in order[1:] if votes[at] >= CLOSE * votes[order[0]]]
    sentence = f"{best} clusters{_how_clearly(best, others, criteria)}."
    if structure is not None:
        reasons = (f"there is structure: {structure}", *reasons)
    if best == ks.max() and len(several) > 1:
        reasons = (*reasons, f"{best} is the largest K that was tried; larger ones may be better")
    if cut:
        reasons = (*reasons, cut)
    return Verdict(best, ranking, sentence, reasons)


def count_votes(ks: Ints, criteria: dict[str, Criterion]) -> Floats:
    """Votes (m,) for every K: 1, ½, ⅓, … by its place with a criterion, 1 for the pick of a rule.

    So a K that several criteria put second beats one that is first with one of them alone.
    """
    votes = np.zeros(len(ks))
    for name in _voters(criteria):
        votes += 1.0 / _places(criteria[name])
    for name in RULES:
        if name in criteria:
            votes += ks == criteria[name].pick
    if not votes.any():  # what is left has an opinion, but no order
        picks = [criteria[name].pick for name in ("gap", "inertia") if name in criteria]
        votes += ks == next((pick for pick in picks if pick in ks), None)
    return votes


def _voters(criteria: dict[str, Criterion]) -> list[str]:
    there = [name for name in VOTERS if name in criteria]
    return there if len(there) > 1 else [*there, *(n for n in INSTEAD if n in criteria)]


def _places(criterion: Criterion) -> Floats:
    """The place (m,) of every K, 1 for the best; inf where the criterion is not defined."""
    values = criterion.values if criterion.better == "low" else -criterion.values
    known = np.flatnonzero(~np.isnan(values))
    if criterion.name == LARGEST:
        known = known[::-1]
    place = np.full(len(values), np.inf)
    place[known[np.argsort(values[known], kind="stable")]] = np.arange(1, len(known) + 1)
    return place


def _how_clearly(best: int, others: list[int], criteria: dict[str, Criterion]) -> str:
    if others:
        return f" ({_listed([str(k) for k in others[:3]])} would do nearly as well)"
    names = [*_voters(criteria), *(name for name in RULES if name in criteria)]
    voters = [criteria[name] for name in names]
    agree = sum(criterion.pick == best for criterion in voters)
    return f" (the choice of {agree} of {len(voters)} criteria)" if len(voters) > 1 else ""


def _opinions(criteria: dict[str, Criterion]) -> tuple[str, ...]:
    """Who chooses which K, the K with most of them first."""
    by_pick: dict[int, list[str]] = {}
    for name in (*_voters(criteria), *RULES, "gap"):
        if name in criteria and (pick := criteria[name].pick) is not None:
            by_pick.setdefault(pick, []).append(TITLES[name])
    said = [
        f"{_listed(names)} choose{'s' * (len(names) == 1)} {pick}"
        for pick, names in sorted(by_pick.items(), key=lambda item: -len(item[1]))
    ]
    if (bend := criteria["inertia"].pick) is not None:
        said.append(
            f"the elbow of J is at {bend}, but it moves with the largest K tried and has no vote"
        )
    return tuple(said)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

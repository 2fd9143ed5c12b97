"""Clarity of groups: the share of rows near a border, and a grade in words.

A row is doubtful if a small change of the data may give it to another group: if it lies near the
border to the nearest other group, as `diagnose` measures it (`relative_margins`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from partita._common.number_text import percent_text
from partita.diagnosis.cluster_borders import NEAR_MARGIN, clusters_of, has_no_gap
from partita.diagnosis.diagnose import FACES
from partita.diagnosis.fit_context import FitContext

GRADE_CLEAR, GRADE_MOSTLY, GRADE_OVERLAPPING, GRADE_BLURRED, GRADE_NONE = (
    "clear",
    "mostly",
    "overlapping",
    "blurred",
    "none",
)
GRADE_UNKNOWN = "unknown"  # nothing could be measured
GRADES = (GRADE_CLEAR, GRADE_MOSTLY, GRADE_OVERLAPPING, GRADE_BLURRED, GRADE_NONE)  # from the best
# up to this share of doubtful rows; one normal cloud that is cut has more than a tenth
MAX_DOUBTFUL = {GRADE_CLEAR: 0.03, GRADE_MOSTLY: 0.07, GRADE_OVERLAPPING: 0.1}
# from this mean silhouette on, where there are no straight borders (Kaufman and Rousseeuw)
MIN_SILHOUETTE = {GRADE_CLEAR: 0.7, GRADE_MOSTLY: 0.5, GRADE_OVERLAPPING: 0.25}
MAX_BORDERLESS = 0.5  # share of rows in groups without a gap to a neighbour, for a good grade
# the best grade that a finding allows, and why
LIMITS_BY_FINDING = {
    "unstable": (GRADE_OVERLAPPING, "slightly different data would give other groups"),
    "not-convex": (GRADE_MOSTLY, "there may be groups of another shape"),
    "unequal-clusters": (GRADE_MOSTLY, "a border may run through a group"),
}
# what a grade means for the reader
MEANINGS = {
    GRADE_CLEAR: "You can rely on nearly every row being in the right group.",
    GRADE_MOSTLY: "Most rows have one obvious group; those near a border could be in either.",
    GRADE_OVERLAPPING: "The groups run into each other: treat rows near a border with caution.",
    GRADE_BLURRED: "Useful as a rough division at best: other divisions are as good.",
    GRADE_NONE: "Any division into groups would be arbitrary.",
}
IN_WORDS = {
    GRADE_CLEAR: "clearly separated",
    GRADE_MOSTLY: "mostly separate",
    GRADE_OVERLAPPING: "overlapping",
    GRADE_BLURRED: "without clear borders",
    GRADE_NONE: "no groups",
    GRADE_UNKNOWN: "",
}


@dataclass(frozen=True, slots=True)
class Clarity:
    """Clarity of the groups of a fit.

    Attributes
    ----------
    grade : str
        "clear", "mostly", "overlapping", "blurred", "none", or "unknown".
    doubtful : float or None
        The share of the rows that lie near a border; None if it is not known.
    reason : str
        The sentence behind the grade.
    """

    grade: str
    doubtful: float | None
    reason: str

    @property
    def words(self) -> str:
        """The grade in words."""
        return IN_WORDS[self.grade]

    @property
    def meaning(self) -> str:
        """The meaning of the grade for the reader."""
        return MEANINGS.get(self.grade, "")


def grade_borders(doubtful: float, borderless: float, findings: Collection[str] = ()) -> Clarity:
    """Grade groups by the shares of doubtful rows and of rows in groups without a gap.

    `findings` are the names of those of the diagnosis.
    """
    grade = next((g for g, most in MAX_DOUBTFUL.items() if doubtful <= most), GRADE_BLURRED)
    reason = f"{percent_text(doubtful)} of the rows lie near the border to another group"
    if grade == GRADE_BLURRED:
        reason += f"; of clear groups, {percent_text(MAX_DOUBTFUL[GRADE_CLEAR])} at most would"
    if borderless > MAX_BORDERLESS and grade != GRADE_BLURRED:
        grade = _at_best(GRADE_OVERLAPPING, grade)
        reason += ", and most are in groups without a gap to their neighbour"
    return _with_findings(Clarity(grade, doubtful, reason), findings)


def grade_silhouette(silhouette: float, findings: Collection[str] = ()) -> Clarity:
    """Grade groups by their mean silhouette, for models without straight borders."""
    grade = next((g for g, least in MIN_SILHOUETTE.items() if silhouette >= least), GRADE_BLURRED)
    score = f"{silhouette:.2f}".replace("-", "−")
    reason = f"On a scale from −1 to 1, the groups are separated by {score} (silhouette)"
    return _with_findings(Clarity(grade, None, reason), findings)


def _with_findings(clarity: Clarity, findings: Collection[str]) -> Clarity:
    """Lower a grade that a finding contradicts, and end its reason."""
    grade, reason = clarity.grade, clarity.reason
    for name, (limit, words) in LIMITS_BY_FINDING.items():
        if name in findings:
            grade, reason = _at_best(limit, grade), f"{reason}, and {words}"
    return Clarity(grade, clarity.doubtful, f"{reason}.")


def no_groups(reason: str) -> Clarity:
    """Return the grade of data without groups."""
    return Clarity(GRADE_NONE, None, reason)


def _at_best(limit: str, grade: str) -> str:
    return max(limit, grade, key=GRADES.index)


def measure_borders(fit: FitContext) -> tuple[float, float] | None:
    """Return the share of doubtful rows, and that of rows in groups without a gap to a neighbour.

    None if the groups have no straight borders.
    """
    if any(need in fit.lacks for need in FACES):
        return None
    sample, weight = fit.boundaries.sample, fit.stats.weight
    near = fit.boundaries.margin <= NEAR_MARGIN
    doubtful = float(sample.weight[near].sum() / sample.weight.sum())
    gapless = [pair for pair in fit.boundaries.pairs if has_no_gap(pair)]
    members = list(clusters_of(gapless))
    return doubtful, float(weight[members].sum() / weight.sum())

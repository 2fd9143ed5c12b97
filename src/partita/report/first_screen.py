"""The first screen: the answer in a sentence, its grade, and a card for each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from partita._common.number_text import count_text, number_text
from partita.description.clarity import GRADE_CLEAR, GRADE_MOSTLY, GRADE_NONE, GRADE_UNKNOWN, GRADES
from partita.description.sentences import rows_text
from partita.description.traits import Trait
from partita.report.group_summary import GroupSummary
from partita.report.group_tables import typical_rows
from partita.report.page_text import safe_line
from partita.report.summary import ReportAnalysis, Summary, file_name

MAX_CARDS = 12
FACTS_PER_CARD = 3
MAX_TITLE_CHARACTERS = 120
DATE_CHARACTERS = 10  # of an ISO time
CHOSEN_HERE = "number of groups chosen from the data"
_SCALINGS = {
    "standard": ", each scaled to mean 0 and standard deviation 1",
    "robust": ", each scaled by its median and quartiles",
    "auto": ", on comparable scales",
}


@dataclass(frozen=True, slots=True)
class Grade:
    """Clarity of the groups, as the page shows it."""

    kind: str
    words: str
    meaning: str
    reason: str
    steps: tuple[bool, ...]  # of a meter, filled or not


@dataclass(frozen=True, slots=True)
class GroupCard:
    """One group on the first screen, or in the table."""

    number: int
    name: str
    size: int
    share: float
    rows: str  # "62 wines"
    facts: tuple[Trait, ...]
    group: GroupSummary
    typical: str  # the name of a typical row
    typical_values: tuple[tuple[str, str], ...]


def first_screen(analysis: ReportAnalysis) -> dict[str, Any]:
    """Return the contents of the first screen, under the names that the template uses."""
    summary, fitted = analysis.summary, analysis.data.fitted
    cards, is_new = group_cards(analysis), fitted.comparison is not None
    sentence = _new_rows(summary) if is_new else summary.sentence
    title = safe_line(fitted.title, MAX_TITLE_CHARACTERS) if fitted.title else ""
    return {
        "title": title or sentence,
        "kicker": title,
        "sentence": f"{sentence}.",
        "meta": _meta(analysis),
        "lead": _lead(summary),
        "grade": None if is_new else _grade(analysis),  # the comparison is the answer
        "small_map_note": _small_map_note(analysis),
        "nothing": _nothing(analysis),
        "cards": [] if summary.grade == GRADE_NONE else cards[:MAX_CARDS],
        "cards_left": max(0, len(cards) - MAX_CARDS),
        "groups": cards,
        "has_no_rows": fitted.no_rows,
    }


def _new_rows(summary: Summary) -> str:
    groups = count_text(summary.n_clusters, "group")
    return f"{rows_text(summary.rows, summary.noun, 'new')} in the {groups} of the fit"


def _nothing(analysis: ReportAnalysis) -> str:
    """The answer if there are no groups."""
    if analysis.data.fitted.sweep is None:
        return analysis.clarity.reason
    return "Random data without any groups would look like these rows."


def _small_map_note(analysis: ReportAnalysis) -> str:
    if analysis.data.fitted.no_rows:
        return "Each circle is a group, as large as its share; near circles are alike."
    if len(analysis.data.names) == 1:
        return "How many rows have which value."
    return "Each dot is one of the rows; near dots are alike."


def _meta(analysis: ReportAnalysis) -> list[str]:
    """The facts at the top: file, rows, date, author."""
    fitted, summary = analysis.data.fitted, analysis.summary
    rows = count_text(summary.rows, "row")
    if summary.rows_total > summary.rows:
        rows = f"{number_text(summary.rows)} of {count_text(summary.rows_total, 'row')}"
        rows += " (the others have too few values)"
    if summary.rows_described < summary.rows:
        rows += f", described by a sample of {number_text(summary.rows_described)}"
    author = f"by {safe_line(fitted.author, 80)}" if fitted.author else ""
    source = file_name(fitted.source)
    date = safe_line(fitted.created[:DATE_CHARACTERS], DATE_CHARACTERS) if fitted.created else ""
    # nobody knows who chose the number of groups of a model that was loaded
    chosen = "" if summary.verdict is None or summary.n_clusters < 2 else CHOSEN_HERE
    facts = [source, rows, summary.left_out.partition(",")[0], chosen, date, author]
    return [fact for fact in facts if fact]


def _lead(summary: Summary) -> str:
    features = f" on {count_text(summary.features, 'feature')}" if summary.features else ""
    missing = ""
    for count, done in ((summary.filled, "filled in"), (summary.left_missing, "left out")):
        if count:
            were = "was" if count == 1 else "were"
            missing += f"; {count_text(count, 'missing value')} {were} {done}"
    return f"{summary.method}{features}{_SCALINGS.get(summary.scale, '')}{missing}."


def _grade(analysis: ReportAnalysis) -> Grade | None:
    clarity = analysis.clarity
    if clarity.grade == GRADE_UNKNOWN:
        return None
    filled = len(GRADES) - 1 - GRADES.index(clarity.grade)
    steps = tuple(i < filled for i in range(len(GRADES) - 1))
    words = clarity.words[0].upper() + clarity.words[1:]
    return Grade(clarity.grade, words, clarity.meaning, clarity.reason, steps)


def is_good(analysis: ReportAnalysis) -> bool:
    """Return whether the groups are clear enough to say that nothing is wrong."""
    return analysis.clarity.grade in (GRADE_CLEAR, GRADE_MOSTLY)


def group_cards(analysis: ReportAnalysis) -> list[GroupCard]:
    """Return a card for each group, the largest first."""
    values, noun = typical_rows(analysis), analysis.summary.noun
    clusters = analysis.summary.clusters
    return [
        GroupCard(
            number=j,
            name=clusters[j].name,
            size=clusters[j].size,
            share=clusters[j].share,
            rows=rows_text(clusters[j].size, noun),
            facts=clusters[j].traits[:FACTS_PER_CARD],
            group=clusters[j],
            typical=getattr(clusters[j].example, "name", ""),
            typical_values=tuple(values.get(j, ())),
        )
        for j in analysis.data.groups_by_size()
    ]

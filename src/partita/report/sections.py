"""What the page shows, section by section, as texts, numbers and drawings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from partita.plots.criteria import CriteriaDisplay
from partita.plots.objective import ObjectiveDisplay
from partita.plots.style import sentences
from partita.report import charts
from partita.report.clusters import SHOWN, Heat, Line, heat_of, line_of, remarks_on
from partita.report.fitted import Case
from partita.report.making import Fact, facts_of
from partita.report.plane import map_of
from partita.report.summary import Findings, Summary
from partita.report.text import number, percent, plural, shown

_SCALED = {
    "standard": ", each scaled to mean 0 and deviation 1",
    "robust": ", each scaled by its median and quartiles",
}
_SIDE_BY_SIDE = 6  # clusters up to which profile and silhouettes fit beside each other
_MANY = 12  # clusters beyond which each has one line


@dataclass(frozen=True, slots=True)
class Tile:
    """One answer of the first screen."""

    figure: str
    label: str
    note: str = ""
    drawing: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing with its heading and what is to be said of it; or only the reason for none."""

    drawing: str
    note: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Sections:
    """The page."""

    title: str
    lead: str
    tiles: tuple[Tile, ...]
    findings: tuple[Any, ...]
    coverage: str
    by_command: bool  # whether the reader has the command line, and advice should speak of it
    spread_is: str
    lines: tuple[Line, ...]
    lines_note: str
    many: bool  # whether there are so many that each should be short
    map: dict[str, Any] | None
    map_note: str
    heat: Heat | None
    beside: bool  # whether silhouettes fit beside the heat map
    silhouette: Chart
    verdict: str
    reasons: tuple[str, ...]
    criteria: tuple[Chart, ...]
    tree: Chart
    objective: Chart
    facts: tuple[Fact, ...]
    left_out: tuple[tuple[str, str], ...]
    left_out_more: int


def sections_of(found: Findings) -> Sections:
    """Lay out what was found."""
    case, summary, profile = found.case, found.summary, found.profile
    made, remarks = (None, ["The model was fitted to a matrix, whose rows are no points."])
    if profile is not None:
        made, remarks = map_of(case, profile)
    sweep = case.fitted.sweep
    facts, left_out, more = facts_of(case, summary)
    return Sections(
        title=_title(summary),
        lead=_lead(case, summary),
        tiles=_tiles(found),
        findings=tuple(found.diagnosis),
        coverage=_coverage(found),
        by_command=case.fitted.command.startswith("partita "),
        spread_is=summary.spread_is,
        lines=tuple(
            line_of(case, summary.clusters[j], summary, profile) for j in case.largest(SHOWN)
        ),
        lines_note=remarks_on(summary),
        many=case.k > _MANY,
        map=made,
        map_note=sentences(remarks),
        heat=None if profile is None else heat_of(case, profile),
        beside=profile is not None and case.k <= _SIDE_BY_SIDE,
        silhouette=_silhouette(found),
        verdict="" if sweep is None else shown(sweep.verdict, 400),
        reasons=()
        if sweep is None
        else tuple(sentences([shown(reason, 600)]) for reason in sweep.reasons),
        criteria=() if sweep is None else _criteria(sweep),
        tree=_tree(found),
        objective=_objective(case),
        facts=facts,
        left_out=left_out,
        left_out_more=more,
    )


def _title(summary: Summary) -> str:
    where = f" in {shown(summary.source, 60)}" if summary.source else ""
    return f"{plural(summary.n_clusters, 'cluster')}{where}"


def _lead(case: Case, summary: Summary) -> str:
    of = plural(summary.rows, "row")
    if summary.rows_total > summary.rows:
        of = f"{number(summary.rows)} of {plural(summary.rows_total, 'row')}"
    if summary.features:
        of += f", {plural(summary.features, 'feature')}"
    scaled = _SCALED.get(summary.scale, "")
    return f"{summary.method} of {of}{scaled}"


def _tiles(found: Findings) -> tuple[Tile, ...]:
    summary, quality = found.summary, found.quality
    sizes = [cluster.size for cluster in summary.clusters]
    few, many = min(sizes, default=0), max(sizes, default=0)
    between = f"{number(few)} to {number(many)} rows each"
    if few == many:
        between = plural(many, "row") + " each" * (len(sizes) > 1)
    cost = "" if summary.objective is None else f"J\u00a0=\u00a0{number(summary.objective)}"
    tiles = [
        Tile(
            number(summary.n_clusters),
            "cluster" + "s" * (summary.n_clusters != 1),
            between,
            charts.shares([cluster.share for cluster in summary.clusters]),
        )
    ]
    if quality.explained is not None:
        tiles.append(Tile(percent(quality.explained), "of the variance explained", cost))
    elif cost:
        tiles.append(Tile(number(summary.objective), "objective J", quality.explained_note))
    if quality.silhouettes is not None:
        mean = f"{quality.silhouettes.mean:.2f}".replace("-", "−")
        tiles.append(Tile(mean, "mean silhouette", quality.silhouettes.words))
    else:
        tiles.append(Tile("–", "mean silhouette", quality.silhouettes_note))
    turns = summary.iterations or 0
    why = f"because {shown(summary.stopped_by, 200)}" if summary.stopped_by else "why is not known"
    began = "" if summary.verdict is None else ", from clusters of the sweep,"
    label = f"iteration{'s' * (turns != 1)}{began} until it stopped"
    tiles.append(Tile(number(turns) if turns else "–", label, why))
    return tuple(tiles)


def _coverage(found: Findings) -> str:
    diagnosis = found.diagnosis
    text = f"Looked for: {', '.join(diagnosis.looked)}." if diagnosis.looked else ""
    reasons: dict[str, list[str]] = {}
    for name, why in diagnosis.skipped:
        reasons.setdefault(why, []).append(name)
    rest = [f" Not looked for: {', '.join(names)} ({why})." for why, names in reasons.items()]
    return shown(text + "".join(rest), 2000)


def _silhouette(found: Findings) -> Chart:
    silhouettes = found.quality.silhouettes
    if silhouettes is None:
        return Chart("", found.quality.silhouettes_note)
    negative = float((silhouettes.values < 0).mean())
    error = f" ± {silhouettes.error:.3f}" if silhouettes.is_sampled else ""
    remarks = [
        f"the mean is {silhouettes.mean:.3f}{error} (the dashed line)",
        f"{percent(negative)} of the rows lie left of 0: nearer to another cluster than to theirs",
        f"{number(len(silhouettes.values))} of {plural(silhouettes.of, 'row')} were measured, a "
        "sample of every cluster, each against all rows"
        if silhouettes.is_sampled
        else "",
        f"only the {SHOWN} largest clusters are drawn" if found.case.k > SHOWN else "",
    ]
    return Chart(charts.silhouette(silhouettes, found.case.largest(SHOWN)), sentences(remarks))


def _criteria(sweep: Any) -> tuple[Chart, ...]:
    display = CriteriaDisplay.from_sweep(sweep)
    known = sweep.criteria
    return tuple(
        Chart(
            charts.criterion(panel, display.ks, display.best_k),
            shown(known[panel.name].about, 300),
            panel.title,
        )
        for panel in display.panels
    )


def _tree(found: Findings) -> Chart:
    tree, case = found.quality.tree, found.case
    if case.k < 3:  # there is nothing to choose
        return Chart("")
    if tree is None:
        return Chart("", found.quality.tree_note)
    if case.k > charts.LEAVES:
        return Chart("", f"There are too many clusters to draw it: {number(case.k)}.")
    return Chart(
        charts.tree(tree.linkage, case.mass),
        "Which clusters would be fused first, and what that would add to J. At the left: the "
        "cluster, and its weight.",
    )


def _objective(case: Case) -> Chart:
    if not getattr(case.model, "trace_", None):
        return Chart("", "The model keeps no trace of its iterations.")
    display = ObjectiveDisplay.from_estimator(case.model)
    return Chart(
        charts.objective(display.steps, display.cost),
        "J after every assignment (dots) and after every update of the centers (rings). "
        + "It began from clusters of the sweep. " * (case.fitted.sweep is not None)
        + display.caption,
    )

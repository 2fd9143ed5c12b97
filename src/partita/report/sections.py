"""What the page shows, section by section, as texts, numbers and drawings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.plots.criteria_display import CriteriaDisplay
from partita.plots.objective_display import ObjectiveDisplay
from partita.plots.style import sentences
from partita.report import charts
from partita.report.cluster_tables import (
    SHOWN,
    Heat,
    Line,
    heat_of,
    legend_of,
    lines_of,
    remark_on_values,
    remarks_on,
)
from partita.report.map_data import map_of
from partita.report.provenance import Fact, facts_of
from partita.report.safe_text import number, percent, plural, shown
from partita.report.silhouette_sample import Silhouettes
from partita.report.summary import Findings, Summary

_SCALED = {
    "standard": ", each scaled to mean 0 and deviation 1",
    "robust": ", each scaled by its median and quartiles",
}
_OTHERS = "with the rows of the fit"  # where a model is reported on with others
_SIDE_BY_SIDE = 6  # clusters up to which profile and silhouettes fit beside each other
_REMARKS = 12
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
    remarks: tuple[str, ...]
    tiles: tuple[Tile, ...]
    findings: tuple[Any, ...]
    coverage: str
    lines: tuple[Line, ...]
    lines_note: str  # above the table
    lines_legend: str  # below it
    values_note: str
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
        with np.errstate(all="ignore"):
            made, remarks = map_of(case, profile)
    sweep = case.fitted.sweep
    facts, left_out, more = facts_of(case, summary, found.quality.cost)
    lines = lines_of(case, summary, profile)
    return Sections(
        title=_title(summary),
        lead=_lead(summary),
        remarks=tuple(sentences([shown(each, 400)]) for each in case.fitted.remarks[:_REMARKS]),
        tiles=_tiles(found),
        findings=tuple(found.diagnosis),
        coverage=_coverage(found),
        lines=lines,
        lines_note=remarks_on(summary),
        lines_legend=legend_of(case, summary),
        values_note=remark_on_values(lines),
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
        objective=_objective(found),
        facts=facts,
        left_out=left_out,
        left_out_more=more,
    )


def _title(summary: Summary) -> str:
    where = f" in {shown(summary.source, 60)}" if summary.source else ""
    return f"{plural(summary.n_clusters, 'cluster')}{where}"


def _lead(summary: Summary) -> str:
    of = plural(summary.rows, "row")
    if summary.rows_total > summary.rows:
        of = f"{number(summary.rows)} of {plural(summary.rows_total, 'row')}"
    if summary.features:
        of += f", {plural(summary.features, 'feature')}"
    scaled = _SCALED.get(summary.scale, "")
    filled = ""
    if summary.filled:
        were = "was" if summary.filled == 1 else "were"
        filled = f"; {plural(summary.filled, 'missing value')} {were} filled in by means"
    return f"{summary.method} of {of}{scaled}{filled}"


def _tiles(found: Findings) -> tuple[Tile, ...]:
    summary, quality = found.summary, found.quality
    sizes = [cluster.size for cluster in summary.clusters]
    few, many = min(sizes, default=0), max(sizes, default=0)
    between = f"{number(few)} to {number(many)} rows each"
    if few == many:
        between = plural(many, "row") + " each" * (len(sizes) > 1)
    cost = "" if summary.objective is None else f"J\u00a0=\u00a0{number(summary.objective)}"
    cost += "" if summary.of_fit or not cost else " of these rows"
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
        label = "objective J" if summary.of_fit else "objective J of these rows"
        tiles.append(Tile(number(summary.objective), label, quality.explained_note))
    if quality.silhouettes is not None:
        mean = f"{quality.silhouettes.mean:.2f}".replace("-", "−")
        error = f", ± {_error(quality.silhouettes)}" if quality.silhouettes.is_sampled else ""
        tiles.append(Tile(mean, f"mean silhouette{error}", quality.silhouettes.words))
    else:
        tiles.append(Tile("–", "mean silhouette", quality.silhouettes_note))
    turns = summary.iterations or 0
    why = f"because {shown(summary.stopped_by, 200)}" if summary.stopped_by else "why is not known"
    began = ", from clusters of the sweep," if found.case.began_in_sweep else ""
    where = "" if summary.of_fit else f", {_OTHERS}"
    label = f"iteration{'s' * (turns != 1)}{began} until it stopped{where}"
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
    error = f" ± {_error(silhouettes)}" if silhouettes.is_sampled else ""
    of = "rows lie" if found.case.fitted.weight is None else "weight lies"
    remarks = [
        f"the mean is {silhouettes.mean:.3f}{error} (the dashed line)",
        f"{percent(silhouettes.negative)} of the {of} left of 0: nearer to another cluster than "
        "to the own",
        f"{number(len(silhouettes.values))} of {plural(silhouettes.of, 'row')} were measured, a "
        "sample of every cluster, each against all rows"
        if silhouettes.is_sampled
        else "",
        f"only the {SHOWN} largest clusters are drawn" if found.case.k > SHOWN else "",
    ]
    return Chart(charts.silhouette(silhouettes, found.case.largest(SHOWN)), sentences(remarks))


def _error(silhouettes: Silhouettes) -> str:
    return number(float(f"{silhouettes.error:.2g}"))


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
    merges, case = found.quality.merges, found.case
    if case.k < 3:  # there is nothing to choose
        return Chart("")
    if merges is None:
        return Chart("", found.quality.merges_note)
    if case.k > charts.LEAVES:
        return Chart("", f"There are too many clusters to draw it: {number(case.k)}.")
    remarks = [
        "which clusters would be fused first, and what that would add to J",
        "at the left: the cluster, and its weight",
        "all this is of the rows of the fit, not of these rows" if merges.of_others else "",
    ]
    return Chart(charts.tree(merges.tree.linkage, merges.mass), sentences(remarks))


def _objective(found: Findings) -> Chart:
    model = found.case.model
    if not getattr(model, "trace_", None):
        return Chart("", "The model keeps no trace of its iterations.")
    display = ObjectiveDisplay.from_estimator(model)
    remarks = [
        "J after every assignment (dots) and after every update of the centers (rings)",
        f"the last dot, at {number(display.steps[-1])}, is one more assignment, to the centers "
        "that the fit returned",
        "it began from clusters of the sweep" if found.case.began_in_sweep else "",
        "" if found.summary.of_fit else "all this is of the rows of the fit, not of these rows",
        display.caption,
    ]
    return Chart(charts.objective(display.steps, display.cost), sentences(remarks))

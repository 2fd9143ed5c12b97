"""The sections of the page, as texts, numbers and drawings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from partita._common.text import one_sentence
from partita.chart_layout.captions import join_sentences
from partita.estimators.fitted_models import capabilities_of
from partita.plots.criteria_display import CriteriaDisplay
from partita.plots.objective_display import ObjectiveDisplay, stop_remark
from partita.report import charts, cluster_tables
from partita.report.compared_with_fit import compared_with_fit
from partita.report.map_data import map_of
from partita.report.page_text import count_text, number_text, percent_text, safe_line, score_text
from partita.report.provenance import provenance_of
from partita.report.silhouette_sample import SilhouetteSample
from partita.report.summary import ReportAnalysis, Summary

_SCALINGS = {
    "standard": ", each scaled to mean 0 and standard deviation 1",
    "robust": ", each scaled by its median and quartiles",
}
_OTHER_ROWS = "all this refers to the rows of the fit, not to these rows"
_MAX_SIDE_BY_SIDE = 6  # clusters; beyond it, silhouettes do not fit next to the heat map
_MAX_REMARKS = 12
_MAX_TALL_ROWS = 12  # clusters; beyond it, each takes one line of the table


@dataclass(frozen=True, slots=True)
class SummaryTile:
    """One figure of the first screen."""

    figure: str
    label: str
    note: str = ""
    drawing: str = ""


@dataclass(frozen=True, slots=True)
class ReportChart:
    """A drawing with its title and note; without a drawing, the note is the reason."""

    drawing: str
    note: str = ""
    title: str = ""


def page_sections(analysis: ReportAnalysis) -> dict[str, Any]:
    """Return the contents of the page, under the names that the template uses."""
    data, summary, profile = analysis.data, analysis.summary, analysis.profile
    map_data, map_note = map_of(data, profile)
    source = f" in {safe_line(summary.source, 60)}" if summary.source else ""
    tile_makers = (_size_tile, _objective_tile, _silhouette_tile, _iterations_tile)
    listed, sweep = data.largest_clusters(cluster_tables.MAX_LISTED), data.fitted.sweep
    return {
        "title": f"{count_text(data.k, 'cluster')}{source}",
        "lead": _lead(summary),
        "remarks": [_as_written(text) for text in data.fitted.remarks[:_MAX_REMARKS]],
        "tiles": list(filter(None, (make_tile(analysis) for make_tile in tile_makers))),
        "findings": list(analysis.diagnosis),
        "coverage": _coverage(analysis),
        "clusters": [summary.clusters[j] for j in listed],
        "clusters_note": cluster_tables.table_remarks(summary),  # above the table
        "clusters_legend": cluster_tables.table_legend(data, summary),  # below it
        "cluster_values": cluster_tables.cluster_values(data, summary, profile),
        "compared": compared_with_fit(data),
        "many": data.k > _MAX_TALL_ROWS,  # whether each cluster should take one line
        "map": map_data,
        "map_note": map_note,
        "heat_map": None if profile is None else cluster_tables.heat_map(data, profile),
        "side_by_side": profile is not None and data.k <= _MAX_SIDE_BY_SIDE,  # with silhouettes
        "silhouette": _silhouette(analysis),
        "verdict": "" if sweep is None else safe_line(sweep.verdict, 400),
        "reasons": () if sweep is None else _sentences(sweep.reasons, 600),
        "criteria": () if sweep is None else _criteria(sweep),
        "merge_tree": _merge_tree(analysis),
        "objective": _objective(analysis),
        "provenance": provenance_of(data, summary, analysis.quality),
        "left_out": list((data.fitted.left_out or {}).items()),  # columns, and why
    }


def _as_written(remark: Any) -> str:
    """A remark with a full stop, without a capital: it may begin with the name of a column."""
    text = one_sentence(remark, 400)
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _sentences(texts: Any, max_length: int) -> tuple[str, ...]:
    return tuple(join_sentences([one_sentence(text, max_length)]) for text in texts)


def _lead(summary: Summary) -> str:
    rows = count_text(summary.rows, "row")
    if summary.rows_total > summary.rows:
        rows = f"{number_text(summary.rows)} of {count_text(summary.rows_total, 'row')}"
    if summary.features:
        rows += f", {count_text(summary.features, 'feature')}"
    filled = ""
    if summary.filled:
        were = "was" if summary.filled == 1 else "were"
        filled = f"; {count_text(summary.filled, 'missing value')} {were} filled in"
    return f"{summary.method} on {rows}{_SCALINGS.get(summary.scale, '')}{filled}"


def _size_tile(analysis: ReportAnalysis) -> SummaryTile:
    clusters = analysis.summary.clusters
    sizes = [cluster.size for cluster in clusters]
    low, high = min(sizes, default=0), max(sizes, default=0)
    sized = f"{number_text(low)} to {number_text(high)} rows each"
    if low == high:
        sized = count_text(high, "row") + " each" * (len(sizes) > 1)
    k = analysis.summary.n_clusters
    strip = charts.share_strip([cluster.share for cluster in clusters])
    return SummaryTile(number_text(k), "cluster" + "s" * (k != 1), sized, strip)


def _objective_tile(analysis: ReportAnalysis) -> SummaryTile | None:
    summary, quality = analysis.summary, analysis.quality
    of_which = "" if summary.of_fit else " of these rows"
    cost = "" if summary.objective is None else number_text(summary.objective)
    if quality.explained is not None:
        note = f"J\u00a0=\u00a0{cost}{of_which}" if cost else ""
        return SummaryTile(percent_text(quality.explained), summary.explained_is, note)
    return SummaryTile(cost, f"objective J{of_which}", quality.explained_note) if cost else None


def _silhouette_tile(analysis: ReportAnalysis) -> SummaryTile:
    sample = analysis.quality.silhouettes
    if sample is None:
        return SummaryTile("–", "mean silhouette", analysis.quality.silhouettes_note)
    error = f", ± {_error(sample)}" if sample.is_sampled else ""
    return SummaryTile(score_text(sample.mean), f"mean silhouette{error}", sample.description)


def _iterations_tile(analysis: ReportAnalysis) -> SummaryTile:
    summary = analysis.summary
    count = summary.iterations or 0
    start = " from clusters of the sweep" if summary.from_sweep else ""
    start += f", the best of {summary.starts} starts" if (summary.starts or 1) > 1 else ""
    where = "" if summary.of_fit else ", on the rows of the fit"
    reason = safe_line(summary.stopped_by, 200)
    why = f"stopped because {reason}" if summary.stopped_by else "the reason to stop is not known"
    label = f"iteration{'s' * (count != 1)}{start}{where}"
    return SummaryTile(number_text(count) if count else "–", label, why)


def _coverage(analysis: ReportAnalysis) -> str:
    diagnosis = analysis.diagnosis
    text = f"Checked: {', '.join(diagnosis.looked)}." if diagnosis.looked else ""
    skipped: dict[str, list[str]] = {}
    for name, why in diagnosis.skipped:
        skipped.setdefault(why, []).append(name)
    rest = [f" Not checked: {', '.join(names)} ({why})." for why, names in skipped.items()]
    return safe_line(text + "".join(rest), 2000)


def _silhouette(analysis: ReportAnalysis) -> ReportChart:
    sample, data = analysis.quality.silhouettes, analysis.data
    if sample is None:
        return ReportChart("", analysis.quality.silhouettes_note)
    error = f" ± {_error(sample)}" if sample.is_sampled else ""
    is_weighted = data.fitted.weight is not None
    rows_lie, own = ("weight lies", "its") if is_weighted else ("rows lie", "their")
    measured, most = number_text(len(sample.values)), cluster_tables.MAX_LISTED
    remarks = [
        f"the mean is {sample.mean:.3f}{error} (the dashed line)",
        f"{percent_text(sample.negative)} of the {rows_lie} left of 0, that is, closer to another "
        f"cluster than to {own} own",
        sample.is_sampled
        and f"{measured} of {count_text(sample.n_rows, 'row')} were measured, a sample of every "
        "cluster, each against all rows",
        data.k > most and f"only the {most} largest clusters are drawn",
    ]
    drawing = charts.silhouette_chart(sample, data.largest_clusters(most))
    return ReportChart(drawing, join_sentences(remarks))


def _error(sample: SilhouetteSample) -> str:
    return number_text(float(f"{sample.error:.2g}"))


def _criteria(sweep: Any) -> tuple[ReportChart, ...]:
    display = CriteriaDisplay.from_sweep(sweep)
    return tuple(
        ReportChart(
            charts.criterion_chart(display, panel),
            safe_line(sweep.criteria[panel.name].about, 300),
            panel.title,
        )
        for panel in display.panels
    )


def _merge_tree(analysis: ReportAnalysis) -> ReportChart:
    merges, k = analysis.quality.merges, analysis.data.k
    if k < 3:  # there is nothing to choose
        return ReportChart("")
    if merges is None:
        return ReportChart("", analysis.quality.merges_note)
    if k > charts.MAX_TREE_LEAVES:
        return ReportChart("", f"The tree is not drawn: {number_text(k)} clusters are too many.")
    remarks = [
        "which clusters would merge first, and what each merge would add to J",
        "at the left: the cluster and its weight",
        merges.of_other_rows and _OTHER_ROWS,
    ]
    drawing = charts.merge_tree_chart(merges.tree.linkage, merges.weight)
    return ReportChart(drawing, join_sentences(remarks))


def _objective(analysis: ReportAnalysis) -> ReportChart:
    model = analysis.data.model
    if not getattr(model, "trace_", None):
        return ReportChart("", "The model keeps no trace of its iterations.")
    display = ObjectiveDisplay.from_estimator(model)
    of_samples = " of samples" if capabilities_of(model).sampled_trace else ""
    last = "the last dot is J of the centers that the fit returned"
    if display.last_is_apart:
        last = "the last dot, apart from the line, is J of all rows"
    remarks = [
        f"J{of_samples} after every assignment (dots) and every update of the centers (rings)",
        f"iteration 0 is the start, {last}",
        analysis.data.started_in_sweep and "the fit started from clusters of the sweep",
        not analysis.summary.of_fit and _OTHER_ROWS,
        stop_remark(display.stopped_by),
    ]
    return ReportChart(charts.objective_chart(display), join_sentences(remarks))

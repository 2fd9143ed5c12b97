"""The sections of the page below its first screen, as texts, numbers and drawings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from partita._common.number_text import count_text, number_text, percent_text, score_text
from partita._common.text import one_sentence
from partita.chart_layout.captions import join_sentences
from partita.estimators.fitted_models import capabilities_of
from partita.plots.criteria_display import CriteriaDisplay
from partita.plots.objective_display import ObjectiveDisplay, stop_remark
from partita.report import charts, group_tables
from partita.report.certificate_section import certificate_section
from partita.report.comparisons.compared_models import compared_models
from partita.report.comparisons.compared_with_fit import compared_with_fit
from partita.report.first_screen import first_screen, is_good
from partita.report.map.map_data import map_of
from partita.report.map.small_map import small_map
from partita.report.page_text import safe_line
from partita.report.provenance import provenance_of, told_reasons
from partita.report.silhouette_sample import SilhouetteSample
from partita.report.summary import ReportAnalysis

_OTHER_ROWS = "all this refers to the rows of the fit, not to these rows"
_MAX_REMARKS = 12
_MAX_TALL_ROWS = 12  # groups; beyond it, each takes one line of the table
MIN_SHOWN_KS = 12  # numbers of clusters along the axis of a criterion


@dataclass(frozen=True, slots=True)
class SummaryTile:
    """One figure of the fit."""

    figure: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReportChart:
    """A drawing with its title and note; without a drawing, the note is the reason."""

    drawing: str
    note: str = ""
    title: str = ""


def page_sections(analysis: ReportAnalysis) -> dict[str, Any]:
    """Return the contents of the page, under the names that the template uses."""
    data, summary, fitted = analysis.data, analysis.summary, analysis.data.fitted
    map_data, map_note = map_of(data, analysis.described.profile)
    tile_makers = (_objective_tile, _silhouette_tile, _iterations_tile)
    sweep, screen = fitted.sweep, first_screen(analysis)
    return {
        **screen,
        "names": list(data.group_names),
        "listed": screen["groups"][: group_tables.MAX_LISTED],
        "remarks": [] if fitted.no_rows else _remarks(fitted.remarks),
        "findings": list(analysis.diagnosis),
        "is_good": is_good(analysis),
        "checks": len(analysis.diagnosis.looked),
        "coverage": _coverage(analysis),
        "table_remarks": group_tables.table_remarks(summary, fitted.no_rows),  # above the table
        "spread_legend": join_sentences([f"spread: {summary.spread_is}"]),
        "table_legend": group_tables.table_legend(data, summary),  # below it
        "many": data.k > _MAX_TALL_ROWS,  # whether each group should take one line
        "profile": group_tables.profile_table(analysis),
        "category_rows": group_tables.category_rows(data),
        "categories": group_tables.unused_categories(data),
        "unused": group_tables.unused_rows(data),
        "compared": compared_with_fit(data),
        "compared_models": compared_models(data),
        "map": map_data,
        "map_note": map_note,
        "small_map": small_map(data, analysis.described.profile),
        "tiles": list(filter(None, (make_tile(analysis) for make_tile in tile_makers))),
        "silhouette": _silhouette(analysis),
        "verdict": "" if sweep is None else safe_line(sweep.verdict, 400),
        "reasons": () if sweep is None else _sentences(sweep.reasons, 600),
        "criteria": () if sweep is None else _criteria(sweep),
        "merge_tree": _merge_tree(analysis),
        "objective": _objective(analysis),
        "certificate": certificate_section(summary.certified),
        "provenance": provenance_of(data, summary, analysis.quality),
        "left_out": told_reasons(fitted),  # columns, and why
    }


def _remarks(remarks: Any) -> list[str]:
    return [_as_written(text) for text in remarks[:_MAX_REMARKS]]


def _as_written(remark: Any) -> str:
    """A remark with a full stop, without a capital: it may begin with the name of a column."""
    text = one_sentence(remark, 400)
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _sentences(texts: Any, max_length: int) -> tuple[str, ...]:
    return tuple(join_sentences([one_sentence(text, max_length)]) for text in texts)


def _objective_tile(analysis: ReportAnalysis) -> SummaryTile | None:
    summary, quality = analysis.summary, analysis.quality
    of_which = "" if summary.of_fit else " of these rows"
    cost = "" if summary.objective is None else number_text(summary.objective)
    certified = "" if summary.certified is None else summary.certified.short
    if quality.explained is not None:
        note = f"J\u00a0=\u00a0{cost}{of_which}" if cost else ""
        note += f", {certified}" if note and certified else ""
        return SummaryTile(percent_text(quality.explained), summary.explained_is, note)
    label = f"objective J{of_which}" + (f", {certified}" if certified else "")
    return SummaryTile(cost, label, quality.explained_note) if cost else None


def _silhouette_tile(analysis: ReportAnalysis) -> SummaryTile:
    sample = analysis.quality.silhouettes
    if sample is None:
        return SummaryTile("–", "mean silhouette", analysis.quality.silhouettes_note)
    error = f", ± {_error(sample)}" if sample.is_sampled else ""
    note = "1: far from other groups, 0: between two groups"
    return SummaryTile(score_text(sample.mean), f"mean silhouette{error}", note)


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
    measured, most = number_text(len(sample.values)), group_tables.MAX_LISTED
    remarks = [
        f"the mean is {sample.mean:.3f}{error} (the dashed line)",
        f"{percent_text(sample.negative)} of the {rows_lie} left of 0, that is, closer to another "
        f"group than to {own} own",
        sample.is_sampled
        and f"{measured} of {count_text(sample.n_rows, 'row')} were measured, a sample of every "
        "group, each against all rows",
        data.k > most and f"only the {most} largest groups are drawn",
    ]
    if data.fitted.no_rows:
        return ReportChart("", join_sentences(remarks).replace(" (the dashed line)", ""))
    drawing = charts.silhouette_chart(sample, data.largest_clusters(most))
    return ReportChart(drawing, join_sentences(remarks))


def _error(sample: SilhouetteSample) -> str:
    return number_text(float(f"{sample.error:.2g}"))


def _criteria(sweep: Any) -> tuple[ReportChart, ...]:
    """The criteria, that which best explains the choice first, up to where things happen."""
    display = CriteriaDisplay.from_sweep(sweep)
    picks = [panel.pick for panel in display.panels if panel.pick is not None]
    last = max([MIN_SHOWN_KS, 2 * (sweep.best_k or 1), *(pick + 2 for pick in picks)])
    voted = [*sweep.voters, *sweep.criteria]
    panels = sorted(
        display.panels,
        key=lambda panel: (panel.pick != sweep.best_k, voted.index(panel.name)),
    )
    return tuple(
        ReportChart(
            charts.criterion_chart(display, panel, last),
            safe_line(sweep.criteria[panel.name].about, 300),
            panel.title,
        )
        for panel in panels
    )


def _merge_tree(analysis: ReportAnalysis) -> ReportChart:
    merges, k = analysis.quality.merges, analysis.data.k
    if k < 3:  # there is nothing to choose
        return ReportChart("")
    if merges is None:
        return ReportChart("", analysis.quality.merges_note)
    if analysis.data.fitted.no_rows and not analysis.data.is_told.all():
        return ReportChart("", "The tree is not drawn: some groups have too few rows to be shown.")
    if k > charts.MAX_TREE_LEAVES:
        return ReportChart("", f"The tree is not drawn: {number_text(k)} groups are too many.")
    remarks = [
        "which groups would merge first, and what each merge would add to J",
        "at the left: the group and its weight",
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

"""The numbers of a report as plain records, for programs and for the page."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita._common.json_values import to_json_values
from partita.certificates.certificate import Certificate
from partita.chart_layout.model_rows import left_out_note
from partita.description.clarity import (
    GRADE_UNKNOWN,
    Clarity,
    grade_borders,
    grade_silhouette,
    measure_borders,
    no_groups,
)
from partita.description.sentences import answer_sentence
from partita.diagnosis import Diagnosis, Finding
from partita.diagnosis.diagnose import CHECKS, run_checks
from partita.diagnosis.diagnosis_input import read_fit
from partita.diagnosis.fit_context import FitContext
from partita.estimators.fitted_models import capabilities_of, count_starts
from partita.estimators.pipeline_scaling import scaled_by
from partita.report.certificate_section import certificate_of
from partita.report.cluster_distances import measure_distances
from partita.report.group_summary import (
    DescribedGroups,
    GroupSummary,
    describe_groups,
    finite_or_none,
)
from partita.report.page_text import safe_line
from partita.report.quality import FitQuality, explained_words, measure_quality
from partita.report.report_input import Fitted, ReportInput, check_input


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers of a report, in plain values."""

    source: str
    method: str
    sentence: str  # the answer: how many groups, and how clear they are
    grade: str  # "clear", "mostly", "overlapping", "blurred", "none", or "unknown"
    grade_meaning: str  # for the reader
    grade_reason: str
    doubtful: float | None  # the share of rows near a border
    noun: str  # what rows are called, in the plural; empty: rows
    rows: int
    rows_described: int  # fewer, if a sample of the rows describes the groups
    rows_total: int
    nowhere: int  # rows without a cluster
    left_out: str  # how many they are and what, of members that leave rows out; else empty
    facts: tuple[tuple[str, str], ...]  # names and sentences that only this member has
    features: int
    scale: str
    n_clusters: int
    filled: int  # missing values that were filled in
    left_missing: int  # those that the model leaves out
    objective: float | None  # of these rows
    certified: Certificate | None  # the certificate of the fit, if these are its rows
    of_fit: bool  # whether these are the rows of the fit, judged by the objective
    explained_variance: float | None  # 1 − J / J(1), where J(1) is that of one cluster
    explained_is: str  # what that share is, after a percentage
    silhouette: float | None
    silhouette_error: float | None
    silhouette_rows: int
    starts: int | None  # of which this fit is the best; None if not known
    from_sweep: bool  # whether it started from clusters of the sweep
    iterations: int | None
    stopped_by: str
    seconds: float | None
    seed: Any
    spread_is: str  # what `spread` measures
    clusters: tuple[GroupSummary, ...]
    warnings: int
    notes: int
    findings: tuple[dict[str, Any], ...]
    verdict: str | None  # of the sweep over numbers of clusters

    def to_dict(self) -> dict[str, Any]:
        """Return values for `json.dumps`; NaN and infinity become None."""
        values: dict[str, Any] = asdict(replace(self, certified=None))
        del values["certified"]
        certificate = None if self.certified is None else self.certified.to_dict()
        plain: dict[str, Any] = to_json_values({**values, "certificate": certificate})
        return plain


@dataclass(frozen=True, slots=True)
class ReportAnalysis:
    """Everything that is computed for a report."""

    data: ReportInput
    summary: Summary
    quality: FitQuality
    described: DescribedGroups
    diagnosis: Diagnosis
    clarity: Clarity


def summarise(fitted: Fitted) -> Summary:
    """Return the numbers of the report on a fit.

    >>> from partita import KMeans
    >>> from partita.report import Fitted, summarise
    >>> X = [[0.0, 1.0], [0.2, 1.0], [9.0, 1.0], [9.4, 1.0]]
    >>> model = KMeans(2, init=[[0, 1], [9, 1]]).fit(X)
    >>> summary = summarise(Fitted(model, X, names=["length", "b"]))
    >>> summary.n_clusters, summary.clusters[0].words
    (2, 'very low length (0.10; all rows 4.65)')
    """
    return analyse(fitted).summary


@np.errstate(all="ignore")  # overflow is shown as such
def analyse(fitted: Fitted) -> ReportAnalysis:
    """Compute everything that a report shows."""
    data = check_input(fitted)
    distances = measure_distances(data)
    described, quality = describe_groups(data, distances), measure_quality(data, distances)
    context = None if fitted.diagnosis is not None and data.k < 2 else fit_context(data)
    diagnosis = fitted.diagnosis
    if diagnosis is None:
        diagnosis = Diagnosis("a fit", (), ()) if context is None else _checked(context, data)
    if fitted.advice is not None:
        diagnosis = diagnosis.with_options(fitted.advice)
    mean = None if quality.silhouettes is None else quality.silhouettes.mean
    clarity = grade_groups(data, context, lambda: mean, diagnosis.names)
    described = _with_silhouettes(described, quality, data)
    data = data.with_names(tuple(group.name for group in described.groups))
    summary = _summary(data, quality, diagnosis, clarity, described.groups)
    summary = replace(summary, spread_is=distances.spread_name)
    return ReportAnalysis(data, summary, quality, described, diagnosis, clarity)


def _checked(context: FitContext, data: ReportInput) -> Diagnosis:
    """Run the checks; a group of the fit that no new row is in was not asked for in vain."""
    if data.fitted.comparison is None:
        return run_checks(context)
    return run_checks(context, [check.name for check in CHECKS if check.name != "empty-clusters"])


def fit_context(data: ReportInput) -> FitContext | None:
    """Return the fit as its checks see it; None if no row has a weight and a group."""
    model = copy.copy(data.model)
    if not data.is_matrix and data.places is None:
        model.feature_names_in_ = np.array(data.names, dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that X has no names
        try:
            fit = read_fit(model, data.rows, data.optional_weight, random_state=0)
        except ValueError:  # no row has a weight and a cluster
            return None
    scaling = scaled_by(data.fitted.scaling)
    return replace(fit, row_name=data.row_name, scaling=scaling, missing=_missing(data, fit))


def _missing(data: ReportInput, fit: FitContext) -> Array | None:
    """Flags of the values that are missing in the user's units; None if all are there."""
    if data.is_matrix or not isinstance(data.original, np.ndarray):
        return None
    missing = np.isnan(data.original[fit.index])
    return missing if missing.any() else None


def grade_groups(
    data: ReportInput,
    context: FitContext | None,
    silhouette: Callable[[], float | None],
    findings: Collection[str],
) -> Clarity:
    """Grade the groups: by their borders, else by silhouettes; `findings` are names.

    The mean silhouette is measured only if it is needed.
    """
    sweep = data.fitted.sweep
    if sweep is not None and sweep.structure is False:
        return no_groups("The rows form one cloud, with no more structure than chance produces.")
    if "equal-rows" in findings:
        return no_groups("All rows are equal.")
    if data.n_groups < 2 or "few-distinct-rows" in findings:  # nothing to tell apart
        return Clarity(GRADE_UNKNOWN, None, "")
    borders = None if context is None else measure_borders(context)
    if borders is not None:
        return grade_borders(*borders, findings)
    mean = silhouette()
    return Clarity(GRADE_UNKNOWN, None, "") if mean is None else grade_silhouette(mean, findings)


def _with_silhouettes(
    described: DescribedGroups, quality: FitQuality, data: ReportInput
) -> DescribedGroups:
    if quality.silhouettes is None:
        return described
    means = np.where(data.is_told, quality.silhouettes.means, np.nan).tolist()
    groups = tuple(
        replace(group, silhouette=finite_or_none(means[group.number])) for group in described.groups
    )
    return replace(described, groups=groups)


def _summary(
    data: ReportInput,
    quality: FitQuality,
    diagnosis: Diagnosis,
    clarity: Clarity,
    groups: tuple[GroupSummary, ...],
) -> Summary:
    fitted, model, sweep = data.fitted, data.model, data.fitted.sweep
    silhouettes = quality.silhouettes
    severities = [finding.severity for finding in diagnosis]
    return Summary(
        source=str(fitted.source),
        method=type(model).__name__,
        sentence=sentence_of(data, clarity),
        grade=clarity.grade,
        grade_meaning=clarity.meaning,
        grade_reason=clarity.reason,
        doubtful=clarity.doubtful,
        noun=data.noun,
        rows=data.rows_of_fit,
        rows_described=data.n,
        rows_total=data.rows_of_fit if fitted.rows_total is None else int(fitted.rows_total),
        nowhere=int((data.labels < 0).sum()),
        left_out=left_out_note(model, data.labels),
        facts=facts_of(model),
        features=0 if data.is_matrix else data.original.shape[1] + len(data.used_categories),
        scale=data.scaling,
        n_clusters=data.k,
        filled=int(fitted.filled),
        left_missing=data.left_missing,
        objective=quality.objective,
        certified=certificate_of(model) if quality.of_fit else None,
        of_fit=quality.of_fit,
        explained_variance=quality.explained,
        explained_is=explained_words(model),
        silhouette=None if silhouettes is None else silhouettes.mean,
        silhouette_error=None if silhouettes is None else silhouettes.error,
        silhouette_rows=0 if silhouettes is None else len(silhouettes.values),
        starts=count_starts(model),
        from_sweep=data.started_in_sweep,
        iterations=len(getattr(model, "trace_", ())) or getattr(model, "n_iter_", None),
        stopped_by=str(getattr(model, "stopped_by_", "")),
        seconds=fitted.seconds,
        seed=fitted.seed,
        spread_is="",
        clusters=groups,
        warnings=severities.count("warning"),
        notes=severities.count("note"),
        findings=tuple(_finding(data, finding) for finding in diagnosis),
        verdict=None if sweep is None else str(sweep.verdict),
    )


def facts_of(model: Any) -> tuple[tuple[str, str], ...]:
    """Return what only this kind of model can tell of a fit: names and sentences."""
    facts = capabilities_of(model).facts
    return () if facts is None else tuple(facts())


def sentence_of(data: ReportInput, clarity: Clarity) -> str:
    """Return the answer in one sentence."""
    source = file_name(data.fitted.source)
    return answer_sentence(data.rows_of_fit, data.n_groups, clarity, data.noun, source)


def file_name(source: str) -> str:
    """Return the source of the rows without its folder, as one short line."""
    name = source.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
    return safe_line(name, 60) if name else ""


def _finding(data: ReportInput, finding: Finding) -> dict[str, Any]:
    """The fields of a finding; its rows by their numbers in the source, from 1."""
    if data.fitted.no_rows:  # the evidence names rows
        return {**finding.to_dict(), "evidence": "", "rows": []}
    rows = [int(data.row_numbers[i]) for i in finding.rows if i < data.n]
    return {**finding.to_dict(), "rows": rows}

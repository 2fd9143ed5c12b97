"""The numbers of a report as plain records, for programs and for the page."""

from __future__ import annotations

import copy
import math
import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats
from partita._common.json_values import to_json_values
from partita._common.text import isolated
from partita.chart_layout.captions import format_deviations
from partita.chart_layout.cluster_profile import ClusterProfile, cluster_profile
from partita.diagnosis import Diagnosis, Finding
from partita.diagnosis.diagnose import run_checks
from partita.diagnosis.diagnosis_input import read_fit
from partita.estimators.fitted_models import count_starts
from partita.estimators.pipeline_scaling import scaled_by
from partita.report.cluster_categories import CategoryTrait, category_traits
from partita.report.cluster_distances import RowDistances, measure_distances
from partita.report.page_text import mean_text
from partita.report.quality import FitQuality, explained_words, measure_quality
from partita.report.report_input import Fitted, ReportInput, check_input

_TYPICAL_ROWS = 3  # of a cluster
_MIN_DEVIATIONS = 0.5  # of a trait
_VERY_DEVIATIONS = 2.0  # from which it is "very" high or low
_MAX_TRAITS = 4


@dataclass(frozen=True, slots=True)
class Trait:
    """One feature in which a cluster differs from all rows."""

    feature: str
    score: float  # (mean of the cluster − mean of all rows) / deviation of all rows
    mean: float  # of the cluster, in the user's units
    level: str  # "high (13.7, +1.1 sd)"
    words: str  # "alcohol high (13.7, +1.1 sd)"


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A row that stands for its cluster, or for its edge."""

    name: str  # its id, or "row 17"
    row: int  # its number in the source, from 1
    far: float  # distance from the center, or what replaces it
    index: int  # its number among the rows of the fit, from 0


@dataclass(frozen=True, slots=True)
class ClusterSummary:
    """One cluster in numbers and words."""

    number: int
    size: int  # rows
    weight: float
    share: float  # of the weight of all clusters
    spread: float | None  # see `Summary.spread_is`
    silhouette: float | None
    traits: tuple[Trait, ...]
    likeness: str  # without traits: the nearest other cluster, and the largest difference from it
    categories: tuple[CategoryTrait, ...]  # of columns that are not features
    typical: tuple[NamedRow, ...]  # nearest to the center
    atypical: NamedRow | None  # farthest from it

    @property
    def words(self) -> str:
        """The features and categories that set it apart, in words."""
        traits: tuple[Trait | CategoryTrait, ...] = (*self.traits, *self.categories)
        return ", ".join(trait.words for trait in traits)


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers of a report, in plain values."""

    source: str
    method: str
    rows: int
    rows_total: int
    nowhere: int  # rows without a cluster
    features: int
    scale: str
    n_clusters: int
    filled: int  # values that were missing
    objective: float | None  # of these rows
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
    clusters: tuple[ClusterSummary, ...]
    warnings: int
    notes: int
    findings: tuple[dict[str, Any], ...]
    verdict: str | None  # of the sweep over numbers of clusters

    def to_dict(self) -> dict[str, Any]:
        """Return values for `json.dumps`; NaN and infinity become None."""
        values: dict[str, Any] = to_json_values(asdict(self))
        return values


@dataclass(frozen=True, slots=True)
class ReportAnalysis:
    """Everything that is computed for a report."""

    data: ReportInput
    summary: Summary
    quality: FitQuality
    profile: ClusterProfile | None
    diagnosis: Diagnosis


def summarise(fitted: Fitted) -> Summary:
    """Return the numbers of the report on a fit.

    >>> from partita import KMeans
    >>> from partita.report import Fitted, summarise
    >>> X = [[0.0, 1.0], [0.2, 1.0], [9.0, 1.0], [9.4, 1.0]]
    >>> model = KMeans(2, init=[[0, 1], [9, 1]]).fit(X)
    >>> summary = summarise(Fitted(model, X, names=["length", "b"]))
    >>> summary.n_clusters, summary.clusters[0].words
    (2, 'length low (0.1, −1.0 sd)')
    """
    return analyse(fitted).summary


@np.errstate(all="ignore")  # overflow is shown as such
def analyse(fitted: Fitted) -> ReportAnalysis:
    """Compute everything that a report shows."""
    data = check_input(fitted)
    distances, profile = measure_distances(data), _profile(data)
    quality = measure_quality(data, distances)
    diagnosis = _diagnose(data) if fitted.diagnosis is None else fitted.diagnosis
    if fitted.advice is not None:
        diagnosis = diagnosis.with_options(fitted.advice)
    categories = category_traits(data.categories, data.labels, data.weight, data.k)
    clusters = tuple(
        _cluster(data, j, distances, quality, profile, categories[j]) for j in range(data.k)
    )
    summary = _summary(data, quality, diagnosis, clusters, distances.spread_name)
    return ReportAnalysis(data, summary, quality, profile, diagnosis)


def _diagnose(data: ReportInput) -> Diagnosis:
    """Diagnose a copy of the model that has the names of the features."""
    model = copy.copy(data.model)
    if not data.is_matrix:
        model.feature_names_in_ = np.array(data.names, dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that X has no names
        fit = read_fit(model, data.rows, data.optional_weight, random_state=0)
    scaling = scaled_by(data.fitted.scaling)
    return run_checks(replace(fit, row_name=data.row_name, scaling=scaling))


def _summary(
    data: ReportInput,
    quality: FitQuality,
    diagnosis: Diagnosis,
    clusters: tuple[ClusterSummary, ...],
    spread_is: str,
) -> Summary:
    fitted, model, sweep = data.fitted, data.model, data.fitted.sweep
    silhouettes = quality.silhouettes
    severities = [finding.severity for finding in diagnosis]
    return Summary(
        source=str(fitted.source),
        method=type(model).__name__,
        rows=data.n,
        rows_total=data.n if fitted.rows_total is None else int(fitted.rows_total),
        nowhere=int((data.labels < 0).sum()),
        features=0 if data.is_matrix else data.original.shape[1],
        scale=data.scaling,
        n_clusters=data.k,
        filled=int(fitted.filled),
        objective=quality.objective,
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
        spread_is=spread_is,
        clusters=clusters,
        warnings=severities.count("warning"),
        notes=severities.count("note"),
        findings=tuple(_finding(data, finding) for finding in diagnosis),
        verdict=None if sweep is None else str(sweep.verdict),
    )


def _finding(data: ReportInput, finding: Finding) -> dict[str, Any]:
    """The fields of a finding; its rows by their numbers in the source, from 1."""
    rows = [int(data.row_numbers[i]) for i in finding.rows if i < data.n]
    return {**finding.to_dict(), "rows": rows}


def _cluster(
    data: ReportInput,
    j: int,
    distances: RowDistances,
    quality: FitQuality,
    profile: ClusterProfile | None,
    categories: tuple[CategoryTrait, ...],
) -> ClusterSummary:
    members = data.cluster_rows[j]
    members = members[data.weight[members] > 0]
    weight, total = data.weight[members], float(data.cluster_weight.sum())
    known = members[np.isfinite(distances.values[members])]
    order = known[np.argsort(distances.values[known], kind="stable")]
    means = None if quality.silhouettes is None else quality.silhouettes.means
    traits = () if profile is None else _cluster_traits(profile, j, data.names)
    return ClusterSummary(
        number=j,
        size=len(data.cluster_rows[j]),
        weight=float(weight.sum()),
        share=float(weight.sum()) / total if total > 0 else 0.0,
        spread=_finite(distances.spread(members, weight)),
        silhouette=None if means is None else _finite(float(means[j])),
        traits=traits,
        likeness="" if profile is None or traits else _likeness(profile, j, data.names),
        categories=categories,
        typical=tuple(_named_row(data, i, distances) for i in order[:_TYPICAL_ROWS]),
        atypical=_named_row(data, order[-1], distances) if len(order) > _TYPICAL_ROWS else None,
    )


def _named_row(data: ReportInput, i: int, distances: RowDistances) -> NamedRow:
    return NamedRow(data.row_name(i), int(data.row_numbers[i]), float(distances.values[i]), int(i))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _cluster_traits(profile: ClusterProfile, j: int, names: tuple[str, ...]) -> tuple[Trait, ...]:
    """The features that set cluster j apart, the largest difference first."""
    size = np.abs(profile.scores[j])
    largest = np.argsort(-size, kind="stable")[:_MAX_TRAITS]
    return tuple(
        _trait(names[t], float(profile.scores[j, t]), float(profile.centers[j, t]))
        for t in largest
        if size[t] >= _MIN_DEVIATIONS
    )


def _trait(name: str, score: float, mean: float) -> Trait:
    very = "very " if abs(score) >= _VERY_DEVIATIONS else ""
    level = f"{very}{'high' if score > 0 else 'low'}"
    level = f"{level} ({mean_text(mean)}, {format_deviations(score)} sd)"
    return Trait(name, score, mean, level, f"{isolated(name)} {level}")


def _likeness(profile: ClusterProfile, j: int, names: tuple[str, ...]) -> str:
    """Compare a cluster in the middle with the nearest other one; empty if there is none."""
    others = np.flatnonzero(profile.cluster_weight > 0)
    others = others[others != j]
    if not len(others) or not profile.cluster_weight[j] > 0:
        return ""
    gap = profile.scores[j] - profile.scores[others]
    nearest = int(np.einsum("kd,kd->k", gap, gap).argmin())
    i, largest = int(others[nearest]), int(np.abs(gap[nearest]).argmax())
    own, other = (mean_text(float(profile.centers[c, largest])) for c in (j, i))
    if own == other:
        return f"in the middle, like cluster {i}"
    level = "higher" if gap[nearest, largest] > 0 else "lower"
    name = isolated(names[largest])
    return f"in the middle; nearest is cluster {i}, but {name} {level} ({own}, not {other})"


def _profile(data: ReportInput) -> ClusterProfile | None:
    """Compare clusters with all rows in the user's units; None if the rows have no features."""
    if data.is_matrix or data.n == 0:
        return None
    weight = data.weight if data.weight.any() else np.ones(data.n)
    values = _limited(fill_missing(data.original, weight), data.fitted.scaling)
    return cluster_profile(values, data.labels, data.weight, data.k)


def _limited(values: Any, scaling: Any) -> Any:
    """Values as the fit counted them: a scaling may limit outliers, which would hide all traits."""
    low, high = (getattr(scaling, name, None) for name in ("low", "high"))
    if low is None or high is None or sp.issparse(values) or np.shape(low) != values.shape[1:]:
        return values
    return np.clip(values, low, high)


def fill_missing(values: Any, weight: Floats) -> Any:
    """Return values as doubles, with the mean of its feature for each missing one."""
    values = values.astype(np.float64, copy=False)
    if sp.issparse(values):
        return values
    known = np.isfinite(values)
    if known.all():
        return values
    total = weight @ known
    mean = weight @ np.where(known, values, 0.0) / np.where(total > 0, total, 1.0)
    return np.where(known, values, mean)

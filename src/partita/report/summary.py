"""`Summary`: the numbers of a report as plain records, for those who read them by program."""

from __future__ import annotations

import copy
import math
import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from partita._common.json_plain import plain
from partita.diagnosis import Diagnosis, diagnose
from partita.report.cluster_distances import Distances, distances_of
from partita.report.cluster_profiles import Profile, Trait, profile_of
from partita.report.quality import Quality, quality_of
from partita.report.report_input import Case, Fitted, receive

_TYPICAL = 3  # rows that stand for a cluster


@dataclass(frozen=True, slots=True)
class Member:
    """A row of a cluster that is worth naming."""

    name: str  # its id, or "row 17"
    row: int  # its number in the source, from 1
    far: float  # from the center, or what stands for it
    index: int  # its number among the rows of the fit, from 0


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster in numbers and words."""

    number: int
    size: int  # rows
    weight: float
    share: float  # of the weight of all clusters
    spread: float | None  # see `Summary.spread_is`
    silhouette: float | None
    traits: tuple[Trait, ...]
    typical: tuple[Member, ...]  # nearest to the center
    atypical: Member | None  # farthest from it

    @property
    def words(self) -> str:
        """What sets it apart, in a sentence without verbs."""
        return ", ".join(trait.words for trait in self.traits)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a report says, in plain values."""

    source: str
    method: str
    rows: int
    rows_total: int
    nowhere: int  # rows that belong to no cluster
    features: int
    scale: str
    n_clusters: int
    filled: int  # values that were missing
    objective: float | None  # of these rows
    of_fit: bool  # whether these are the rows of the fit, as far as the objective tells
    explained_variance: float | None
    silhouette: float | None
    silhouette_error: float | None
    silhouette_rows: int
    iterations: int | None
    stopped_by: str
    seconds: float | None
    seed: Any
    spread_is: str
    clusters: tuple[Cluster, ...]
    warnings: int
    notes: int
    findings: tuple[dict[str, Any], ...]
    verdict: str | None  # on the number of clusters, if it was chosen

    def to_dict(self) -> dict[str, Any]:
        """What `json.dumps` takes: NaN and infinity become None."""
        found: dict[str, Any] = plain(asdict(self))
        return found


@dataclass(frozen=True, slots=True)
class Findings:
    """All that was computed for a report."""

    case: Case
    summary: Summary
    quality: Quality
    profile: Profile | None
    diagnosis: Diagnosis


def summarise(fitted: Fitted) -> Summary:
    """The numbers of the report on a fit.

    >>> from partita import KMeans
    >>> from partita.report import Fitted, summarise
    >>> X = [[0.0, 1.0], [0.2, 1.0], [9.0, 1.0], [9.4, 1.0]]
    >>> found = summarise(Fitted(KMeans(2, init=[[0, 1], [9, 1]]).fit(X), X, names=["length", "b"]))
    >>> found.n_clusters, found.clusters[0].words
    (2, 'length low (0.1, −1.0 sd)')
    """
    return study(fitted).summary


def study(fitted: Fitted) -> Findings:
    """Compute everything that a report shows."""
    case = receive(fitted)
    with np.errstate(all="ignore"):  # what is beyond all numbers is shown as such
        far, profile = distances_of(case), profile_of(case)
        quality = quality_of(case, far)
        found = fitted.diagnosis
        if found is None:
            found = _diagnose(case)
        if fitted.advice is not None:
            found = found.with_options(fitted.advice)
        summary = _summary(case, far, quality, profile, found)
    return Findings(case, summary, quality, profile, found)


def _diagnose(case: Case) -> Diagnosis:
    """The diagnosis, by a twin of the model that knows the names of the features."""
    twin = copy.copy(case.model)
    if not case.is_matrix:
        twin.feature_names_in_ = np.array(case.names, dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that X has no names
        return diagnose(twin, case.rows, case.given_weight)


def _summary(
    case: Case, far: Distances, quality: Quality, profile: Profile | None, found: Diagnosis
) -> Summary:
    fitted, model = case.fitted, case.model
    silhouettes = quality.silhouettes
    kinds = [finding.severity for finding in found]
    sweep = fitted.sweep
    return Summary(
        source=str(fitted.source),
        method=type(model).__name__,
        rows=case.n,
        rows_total=case.n if fitted.rows_total is None else int(fitted.rows_total),
        nowhere=int((case.labels < 0).sum()),
        features=0 if case.is_matrix else case.original.shape[1],
        scale=str(getattr(fitted.scaling, "kind", "none")),
        n_clusters=case.k,
        filled=int(fitted.filled),
        objective=quality.cost.here,
        of_fit=quality.cost.is_of_fit,
        explained_variance=quality.explained,
        silhouette=None if silhouettes is None else silhouettes.mean,
        silhouette_error=None if silhouettes is None else silhouettes.error,
        silhouette_rows=0 if silhouettes is None else len(silhouettes.values),
        iterations=len(getattr(model, "trace_", ())) or getattr(model, "n_iter_", None),
        stopped_by=str(getattr(model, "stopped_by_", "")),
        seconds=fitted.seconds,
        seed=fitted.seed,
        spread_is=far.spread_is,
        clusters=tuple(_cluster(case, j, far, quality, profile) for j in range(case.k)),
        warnings=kinds.count("warning"),
        notes=kinds.count("note"),
        findings=tuple(finding.to_dict() for finding in found),
        verdict=None if sweep is None else str(sweep.verdict),
    )


def _cluster(
    case: Case, j: int, far: Distances, quality: Quality, profile: Profile | None
) -> Cluster:
    members = case.members(j)
    members = members[case.weight[members] > 0]
    weight, whole = case.weight[members], float(case.mass.sum())
    known = members[np.isfinite(far.values[members])]
    order = known[np.argsort(far.values[known], kind="stable")]
    means = None if quality.silhouettes is None else quality.silhouettes.means
    return Cluster(
        number=j,
        size=int(case.sizes[j]),
        weight=float(weight.sum()),
        share=float(weight.sum()) / whole if whole > 0 else 0.0,
        spread=_number(far.spread(members, weight)),
        silhouette=None if means is None else _number(float(means[j])),
        traits=() if profile is None else profile.traits(j, case.names),
        typical=tuple(_member(case, i, far) for i in order[:_TYPICAL]),
        atypical=_member(case, order[-1], far) if len(order) > _TYPICAL else None,
    )


def _member(case: Case, i: int, far: Distances) -> Member:
    return Member(case.row_name(i), case.row_number(i), float(far.values[i]), int(i))


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None

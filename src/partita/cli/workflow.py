"""The steps that commands share: fit a prepared table, describe the fit."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from partita._common.errors import PartitaError, Setting
from partita._common.text import plural
from partita._common.warnings import InterruptedFitWarning, warn
from partita._versions import versions
from partita.cli.method_options import MethodOptions
from partita.cli.option_values import KRequest
from partita.cli.options import SendingOptions
from partita.cli.prepared_data import PreparedData, column_remarks
from partita.cli.row_noun import ids_of_rows, noun_of_rows
from partita.estimators.capabilities import SWEEP, set_known
from partita.estimators.fitted_models import capabilities_of
from partita.halting import StopReason
from partita.model_file.group_naming import GroupNames
from partita.new_rows.fit_reference import FitReference, shares
from partita.tables import TableError
from partita.tables.category_columns import category_columns
from partita.tables.missing_values import filled_with_medians
from partita.tables.unused_numbers import unused_numbers

if TYPE_CHECKING:
    from partita.cli.progress_reporter import ProgressReporter

AS_IT_IS = SendingOptions()
GAPS_FILLED = (
    "the number of groups is chosen with medians in place of missing values; the groups are made "
    "of the values that are there"
)
ONE_FIT_METHODS = ("trimmed", "bisecting", "balanced")  # whose starts are part of a fit
NO_FILES: Mapping[str, Any] = MappingProxyType({})  # of checkpoints


@dataclass(frozen=True, slots=True, eq=False)
class FitOutcome:
    """A fitted model, and how it was obtained."""

    prepared: PreparedData
    model: Any
    labels: Any  # of the rows of `prepared`
    command: str
    seed: Any
    sweep: Any = None
    record: Any = None  # of the report, once the groups have names
    group_names: GroupNames = ()  # (k,) as given or proposed; empty: those of the model's file
    seconds: float | None = None
    interrupted: bool = False
    labels_in_files: Any = None  # of all rows to cluster, if `prepared` is a sample of them

    @property
    def all_labels(self) -> Any:
        """The labels of all rows that were clustered."""
        return self.labels if self.labels_in_files is None else self.labels_in_files

    @property
    def converged(self) -> bool:
        """True if the fit ended by itself: no limit of iterations or time, no Ctrl-C."""
        reason = getattr(self.model, "stopped_by_", "")
        return not self.interrupted and not (isinstance(reason, StopReason) and reason.is_limit)


def cluster(
    prepared: PreparedData,
    k: KRequest,
    method: MethodOptions,
    command: str,
    reporter: ProgressReporter,
    files: Mapping[str, Any] = NO_FILES,
) -> FitOutcome:
    """Fit the requested number of clusters, or choose it; `files` are those of checkpoints."""
    method = prepared.method or method
    _check_row_count(prepared, k)
    if method.method == "spherical" and method.zero_rows in (None, "error"):
        _check_zero_rows(prepared)
    start = time.perf_counter()
    try:
        model, sweep = _fit(prepared, k, method, reporter, files)
    except PartitaError as error:
        text = f"{prepared.table.name}: {error.text}"
        raise TableError(text, *error.settings, parameter=error.parameter) from error
    except ValueError as error:
        raise TableError(f"{prepared.table.name}: {error}") from error
    X, _ = prepared.rows_to_fit
    is_of_rows = hasattr(model, "labels_") and len(model.labels_) == prepared.n_used
    labels, streamed = model.labels_ if is_of_rows else model.predict(X), prepared.streamed
    return FitOutcome(
        prepared=prepared,
        model=model,
        labels=labels if streamed is None else np.asarray(labels[streamed.sampled]),
        command=command,
        seed=method.random_state,
        sweep=sweep,
        seconds=time.perf_counter() - start,
        interrupted=reporter.interrupted or (sweep is not None and not sweep.complete),
        labels_in_files=None if streamed is None else labels,
    )


def _check_row_count(prepared: PreparedData, k: KRequest) -> None:
    rows, name = prepared.n_used, prepared.table.name
    if k.largest <= rows:
        return
    if k.fixed is None and k.candidates is None:
        raise TableError(f"{name} has one row to cluster; choosing K needs at least two")
    raise TableError(
        f"{name}: {k.largest} clusters need at least as many rows, got {plural(rows, 'row')}. "
        "Use fewer clusters (--k) or more rows."
    )


def _check_zero_rows(prepared: PreparedData) -> None:
    zero = np.flatnonzero(~prepared.X.any(axis=1))
    if len(zero):
        table = prepared.table
        place = table.where(int(prepared.selection.kept[zero[0]]))
        more = f" and {len(zero) - 1} more" if len(zero) > 1 else ""
        raise TableError(
            f"{table.name}: {place}{more} has only zeros, so it has no direction. {{}} leaves such "
            "rows out, {} gives them a cluster of their own.",
            Setting("zero_rows", "drop"),
            Setting("zero_rows", "separate"),
        )


def _fit(
    prepared: PreparedData,
    k: KRequest,
    method: MethodOptions,
    reporter: ProgressReporter,
    files: Mapping[str, Any],
) -> tuple[Any, Any]:
    """Return the fitted model, and the sweep that chose its number of clusters.

    The sweep is that of a sample, if the rows do not fit memory.
    """
    from partita.choosing.choose_k import choose_k

    X, weight = prepared.X, prepared.selection.weight
    if k.fixed is not None:
        return _fit_best(prepared, method.searching_estimator(k.fixed), reporter, files=files), None
    _check_can_choose(method)
    leaves_gaps = method.missing == "partial" and bool(np.isnan(X).any())
    chooser = replace(method, missing=None) if leaves_gaps else method
    if leaves_gaps:
        warn(GAPS_FILLED, UserWarning)
    sweep = choose_k(
        filled_with_medians(X, weight) if leaves_gaps else X,
        k.candidates,
        estimator=chooser.estimator(8),
        sample_weight=weight,
        feature_names=prepared.selection.names,
        random_state=method.random_state,
        callback=reporter.bar,
    )
    model = set_known(sweep.model(), memory_limit=None)
    if not sweep.complete:
        return model, sweep
    has_all_rows = prepared.streamed is None or not prepared.is_sample
    first = model if has_all_rows and not leaves_gaps else None
    return _fit_best(prepared, method.searching_estimator(sweep.best_k), reporter, first), sweep


def _check_can_choose(method: MethodOptions) -> None:
    """Raise an error if no sweep over numbers of groups can judge the method."""
    lacks = capabilities_of(method.estimator(8)).lacks
    if SWEEP in lacks:
        name = f"--method {method.method}"
        if method.kernel is not None:
            name += f" --kernel {method.kernel}"
        raise PartitaError(
            f"{name} needs a number of groups, since none can be chosen for it: {lacks[SWEEP]}. "
            "Give {} to partita fit, with your number; choose-k with --method kmeans proposes one.",
            Setting("k", 3),
        )


def _fit_best(
    prepared: PreparedData,
    estimator: Any,
    reporter: ProgressReporter,
    first: Any = None,
    files: Mapping[str, Any] = NO_FILES,
) -> Any:
    """Fit as `--quality` and `--n-init` say, else search; `first` is a start of the search."""
    from partita.several_starts import fit_several_starts

    X, weight = prepared.rows_to_fit
    runs = estimator.n_init if isinstance(estimator.n_init, int) else None
    quality = getattr(estimator, "quality", None)
    method = prepared.method.method if prepared.method is not None else ""
    has_own_starts = method in ONE_FIT_METHODS
    is_plain = quality == "fast" or (quality is None and (runs is not None or has_own_starts))
    if is_plain and first is not None:
        return first
    estimator.set_params(callback=reporter.bar)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptedFitWarning)  # the command says it itself
        if not is_plain:
            model = fit_several_starts(estimator, X, weight, first=first, **files)
        else:
            model = estimator.fit(X, sample_weight=weight, **files)
    reporter.note_end(model)
    return set_known(model, callback=None, memory_limit=None)


def named(outcome: FitOutcome, given: GroupNames, sending: SendingOptions) -> FitOutcome:
    """Return the outcome with names of all groups: the given ones, else from what sets them apart.

    Names are made before anything is written, so that files and report have the same.
    """
    from partita.report.group_summary import propose_names

    record = report_input(replace(outcome, group_names=given), sending=sending)
    proposed = propose_names(record)
    return replace(outcome, group_names=proposed, record=replace(record, group_names=proposed))


def _known_names(outcome: FitOutcome) -> dict[int, str]:
    """Return the names of groups that are known, by number."""
    saved = getattr(outcome.model, "saved_", None)
    names = outcome.group_names or getattr(saved, "group_names", None)
    return {j: name for j, name in enumerate(names or ()) if name is not None}


def _described(outcome: FitOutcome) -> Any:
    """Return the model; without its labels, if a sample of its rows describes it."""
    if outcome.prepared.streamed is None or not outcome.prepared.is_sample:
        return outcome.model
    model = copy(outcome.model)
    vars(model).pop("labels_", None)
    return model


def _sampled(outcome: FitOutcome) -> Any:
    """Return the sizes of the groups in all rows, if a sample of them is described."""
    from partita.estimators.fitted_models import count_clusters
    from partita.report.sampled_fit import SampledFit

    streamed = outcome.prepared.streamed
    if streamed is None or not outcome.prepared.is_sample:
        return None
    labels = np.asarray(outcome.all_labels)
    k, has_group = count_clusters(outcome.model), labels >= 0
    weight = None if streamed.weight is None else streamed.weight[has_group]
    counts = np.bincount(labels[has_group], minlength=k)
    weights = np.bincount(labels[has_group], weight, k).astype(np.float64)
    return SampledFit(streamed.n_used, counts, weights)


def reference_of(outcome: FitOutcome) -> FitReference:
    """Return what a model file keeps of the rows of the fit; of a sample, the sizes are of all."""
    prepared, labels = outcome.prepared, np.asarray(outcome.labels)
    rows, weight = prepared.rows_to_measure, prepared.selection.weight
    reference = FitReference.of(outcome.model, rows, labels, weight)
    if prepared.streamed is None or not prepared.is_sample:
        return reference
    every, k = np.asarray(outcome.all_labels), len(reference.share)
    share = shares(every, k, prepared.streamed.weight)
    return replace(reference, share=share, rows=len(every))


def report_input(
    outcome: FitOutcome, remarks: Sequence[str] = (), sending: SendingOptions = AS_IT_IS
) -> Any:
    """Return the record that a report is made from."""
    from partita.cli.finding_advice import advice_for
    from partita.estimators.fitted_models import capabilities_of
    from partita.estimators.pipeline_scaling import scaled_by
    from partita.report import Fitted

    prepared, selection = outcome.prepared, outcome.prepared.selection
    squared = capabilities_of(outcome.model).squared
    names = prepared.model_names
    sampled = _sampled(outcome)
    cut_short = ["the fit was interrupted; this is its best result so far"]
    return Fitted(
        model=_described(outcome),
        X=prepared.X,
        original=prepared.rows_in_units,
        names=None if prepared.is_mixed else names,
        ids=ids_of_rows(prepared),
        weight=selection.weight,
        scaling=prepared.scaling,
        labels=outcome.labels,
        sweep=outcome.sweep,
        source=prepared.table.name,
        command=outcome.command,
        seed=outcome.seed,
        seconds=outcome.seconds,
        versions=versions(),
        rows_total=prepared.table.data.num_rows if sampled is None else prepared.n_rows,
        sampled=sampled,
        left_out=selection.left_out,
        categories=category_columns(prepared.table, selection.left_out, selection.kept),
        kept=prepared.numbers_in_files,
        filled=prepared.filled,
        plan=prepared.plan,
        remarks=(*cut_short * outcome.interrupted, *column_remarks(prepared), *remarks),
        fingerprint=prepared.fingerprint,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        advice=partial(advice_for, scaling=scaled_by(prepared.scaling), squared=squared),
        group_names=_known_names(outcome),
        title=sending.title or "",
        author=sending.author or "",
        no_rows=sending.no_rows,
        noun=noun_of_rows(prepared),
        days=selection.days,
        unused=unused_numbers(prepared.table, selection),
    )

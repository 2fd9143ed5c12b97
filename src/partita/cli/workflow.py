"""The steps that commands share: read a table, prepare its features, fit, describe the fit."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from partita._common.errors import PartitaError, Setting
from partita._common.text import plural
from partita.cli.progress_bar import ProgressReporter
from partita.cli.requests import ColumnRequest, KRequest, MethodRequest, ReadRequest
from partita.halting import StopReason
from partita.tables import Scaling, Selection, Table, TableError, read_table, select

MAX_COMMAS_IN_NAME = 7  # a name in a list may have so many commas


@dataclass(frozen=True, slots=True, eq=False)
class PreparedData:
    """A table, its features, and the rows as they are clustered."""

    table: Table
    selection: Selection
    scaling: Scaling
    X: Any


def read(request: ReadRequest) -> Table:
    """Read the table."""
    return read_table(
        request.paths,
        delimiter=request.delimiter,
        encoding=request.encoding,
        header=request.header,
        source=request.source_column,
    )


def prepare(table: Table, request: ColumnRequest) -> PreparedData:
    """Select the features and scale them."""
    columns = split_names(request.columns, table)
    for option, name in (("--weight", request.weight), ("--id", request.id)):
        if columns is not None and name in columns:
            raise TableError(f"column {name!r} is named by {option}; it cannot be a feature too")
    if columns is not None:  # in the order of the file, as in files without names
        place = {name: i for i, name in enumerate(table.names)}
        columns = sorted(columns, key=lambda name: place.get(name, -1))
    selection = select(
        table,
        columns=columns,
        exclude=split_names(request.exclude, table),
        id=request.id,
        weight=request.weight,
        missing=request.missing,
    )
    scaling = Scaling.fit(selection.X, request.scale, selection.weight)
    return PreparedData(table, selection, scaling, scaling.apply(selection.X))


def split_names(texts: list[str] | None, table: Table) -> list[str] | None:
    """Split names at commas, except commas inside the name of a column."""
    if texts is None:
        return None
    known = set(table.names)
    return [name for text in texts for name in _split(text.split(","), known)]


def _split(parts: list[str], known: set[str]) -> Iterator[str]:
    """Join as many parts as give the name of a column; a part that gives none stays alone."""
    start = 0
    while start < len(parts):
        for end in range(min(len(parts), start + 1 + MAX_COMMAS_IN_NAME), start, -1):
            joined = ",".join(parts[start:end])
            name = next((text for text in (joined, joined.strip()) if text in known), None)
            if name is not None or end == start + 1:
                yield joined.strip() if name is None else name
                start = end
                break


@dataclass(frozen=True, slots=True, eq=False)
class FitOutcome:
    """A fitted model, and how it was obtained."""

    prepared: PreparedData
    model: Any
    sweep: Any
    labels: Any
    seconds: float
    interrupted: bool

    @property
    def converged(self) -> bool:
        """True if the fit ended by itself: no limit of iterations or time, no Ctrl-C."""
        reason = getattr(self.model, "stopped_by_", "")
        return not self.interrupted and not (isinstance(reason, StopReason) and reason.is_limit)


def cluster(
    prepared: PreparedData, k: KRequest, method: MethodRequest, reporter: ProgressReporter
) -> FitOutcome:
    """Fit the requested number of clusters, or choose it."""
    _check_row_count(prepared, k)
    if method.method == "spherical" and method.zero_rows in (None, "error"):
        _check_zero_rows(prepared)
    try:
        return _cluster(prepared, k, method, reporter)
    except PartitaError as error:
        raise TableError(f"{prepared.table.name}: {error.text}", *error.settings) from error
    except ValueError as error:
        raise TableError(f"{prepared.table.name}: {error}") from error


def _check_row_count(prepared: PreparedData, k: KRequest) -> None:
    rows, name = len(prepared.X), prepared.table.name
    if k.largest <= rows:
        return
    if k.fixed is None and k.candidates is None:
        raise TableError(f"{name} has one row to cluster; choosing K needs at least two")
    raise TableError(
        f"{name}: {k.largest} clusters need at least as many rows, got {plural(rows, 'row')}. "
        "Use fewer clusters (--k) or more rows."
    )


def _check_zero_rows(prepared: PreparedData) -> None:
    import numpy as np

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


def _cluster(
    prepared: PreparedData, k: KRequest, method: MethodRequest, reporter: ProgressReporter
) -> FitOutcome:
    from partita.choosing.choose_k import choose_k

    start, sweep = time.perf_counter(), None
    X, weight = prepared.X, prepared.selection.weight
    if k.fixed is not None:
        model = method.estimator(k.fixed)
        runs = model.n_init if isinstance(model.n_init, int) else 1
        model.set_params(callback=reporter.fit_callback(len(X), runs, model.max_iter))
        with reporter.show_bars(), reporter.catch_interrupt():
            model.fit(X, sample_weight=weight)
        model.set_params(callback=None)
    else:
        with reporter.show_bars():
            sweep = choose_k(
                X,
                k.candidates,
                estimator=method.estimator(8),
                sample_weight=weight,
                feature_names=prepared.selection.names,
                random_state=method.seed,
                callback=reporter.sweep_callback,
            )
            model = sweep.model()
    interrupted = reporter.interrupted or (sweep is not None and not sweep.complete)
    labels = model.labels_ if hasattr(model, "labels_") else model.predict(X)
    return FitOutcome(prepared, model, sweep, labels, time.perf_counter() - start, interrupted)


def report_input(
    outcome: FitOutcome, command: str, seed: Any, *, timed: bool = True, remarks: Sequence[str] = ()
) -> Any:
    """Return the record that a report is made from."""
    from datetime import UTC, datetime

    from partita import model_file
    from partita._versions import versions
    from partita.cli.finding_advice import advice_for
    from partita.report import Fitted

    prepared, selection = outcome.prepared, outcome.prepared.selection
    cut_short = ["the fit was interrupted; this is its best result so far"]
    return Fitted(
        model=outcome.model,
        X=prepared.X,
        original=selection.X,
        names=selection.names,
        ids=selection.ids,
        weight=selection.weight,
        scaling=prepared.scaling,
        labels=outcome.labels,
        sweep=outcome.sweep,
        source=prepared.table.name,
        command=command,
        seed=seed,
        seconds=outcome.seconds if timed else None,
        versions=versions(),
        rows_total=prepared.table.data.num_rows,
        left_out=selection.left_out,
        kept=selection.kept,
        filled=selection.filled,
        remarks=(*cut_short * outcome.interrupted, *column_remarks(prepared), *remarks),
        fingerprint=model_file.fingerprint(selection.X, selection.weight),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        advice=advice_for,
    )


def column_remarks(prepared: PreparedData) -> list[str]:
    """Return remarks on features that may be no measurements, and on columns that nearly are."""
    selection = prepared.selection
    remarks = [f"{name} is NOT used: {selection.left_out[name]}" for name in selection.nearly]
    for name, suspicion in selection.doubtful.items():
        advice = f"--exclude {name} leaves it out"
        if suspicion.may_be_id:
            advice += f", --id {name} uses it as the names of the rows"
        remarks.append(f"{name} {suspicion.why}, but is used as a feature; {advice}")
    return remarks


def require_report_package() -> None:
    """Raise before the work, not after it, if the package that reports need is missing."""
    from partita._common.optional_imports import require

    require("jinja2", "a report", "report")

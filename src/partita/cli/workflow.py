"""What the commands have in common: rows from a file, a fit, and what a report is made of."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from partita._common.errors import PartitaError
from partita.cli.progress_bar import Watch
from partita.cli.requests import Choice, Clusters, Reading, Way
from partita.tables import (
    Scaling,
    Selection,
    Table,
    TableError,
    read_table,
    select,
)

_COMMAS = 8  # parts that the name of a column may have


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A table, its features, and the rows as they are clustered."""

    table: Table
    selection: Selection
    scaling: Scaling
    X: Any


def read(reading: Reading) -> Table:
    """The table that was asked for."""
    return read_table(
        reading.data,
        delimiter=reading.delimiter,
        encoding=reading.encoding,
        header=reading.header,
        source=reading.source,
    )


def prepare(table: Table, choice: Choice) -> Prepared:
    """Features, scaled."""
    named = split_names(choice.columns, table)
    for name, what in ((choice.weight, "the weight"), (choice.id, "what rows are called")):
        if named is not None and name in named:
            raise TableError(f"{name!r} is {what}, so it cannot be a feature too")
    if named is not None:  # in the order of the file, which rows without names will have too
        place = {name: at for at, name in enumerate(table.names)}
        named = sorted(named, key=lambda name: place.get(name, -1))
    chosen = select(
        table,
        columns=named,
        exclude=split_names(choice.exclude, table),
        id=choice.id,
        weight=choice.weight,
        missing=choice.missing,
    )
    scaling = Scaling.fit(chosen.X, choice.scale, chosen.weight)
    return Prepared(table, chosen, scaling, scaling.apply(chosen.X))


def split_names(given: list[str] | None, table: Table) -> list[str] | None:
    """Names separated by commas; a column whose name holds a comma may be given whole."""
    if given is None:
        return None
    known = set(table.names)
    return [name for text in given for name in _split(text.split(","), known)]


def _split(parts: list[str], known: set[str]) -> Iterator[str]:
    """Parts that are names, or as many of them as are a name with commas in it."""
    at = 0
    while at < len(parts):
        for end in range(min(len(parts), at + _COMMAS), at, -1):
            whole = ",".join(parts[at:end])
            name = next((n for n in (whole, whole.strip()) if n in known), None)
            if name is not None or end == at + 1:
                yield whole.strip() if name is None else name
                at = end
                break


def check_enough(prepared: Prepared, clusters: Clusters) -> None:
    """There must be as many rows as clusters, and two for a choice."""
    rows, name = len(prepared.X), prepared.table.name
    if clusters.most > rows and clusters.fixed is None and clusters.ks is None:
        raise TableError(f"{name}: there is one row to cluster; a choice of K needs at least two")
    if clusters.most > rows:
        some = f"{rows} row{'s' * (rows != 1)}"
        raise TableError(
            f"{name}: {clusters.most} clusters were asked for, but there "
            f"{'is' if rows == 1 else 'are'} {some} to cluster; ask for fewer with --k, or give "
            "more rows"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A fit, and how it came about."""

    prepared: Prepared
    model: Any
    sweep: Any
    labels: Any
    seconds: float
    interrupted: bool

    @property
    def converged(self) -> bool:
        """Whether the fit ended by itself: no limit of iterations or time, no Ctrl-C."""
        from partita.engine.lloyd import CALLBACK_STOP
        from partita.engine.nested_batches import LOOKED
        from partita.halting import AllOf, AnyOf, Deadline, Halt, MaxIter

        def limits(halt: Halt) -> list[Halt]:
            if isinstance(halt, (AnyOf, AllOf)):
                return [limit for part in halt.parts for limit in limits(part)]
            return [halt] if isinstance(halt, (Deadline, MaxIter)) else []

        model = self.model
        trace = getattr(model, "trace_", None)
        if self.interrupted or not trace:
            return not self.interrupted
        halt = model.halt
        known = [MaxIter(model.max_iter), *(limits(halt) if halt is not None else [])]
        reasons = [why for limit in known if (why := limit.reason(trace))]
        why = model.stopped_by_
        ended = why == CALLBACK_STOP or why.startswith(LOOKED)
        return not ended and not any(reason in why for reason in reasons)


def cluster(prepared: Prepared, clusters: Clusters, way: Way, watch: Watch) -> Found:
    """Fit the number of clusters that was asked for, or choose it."""
    check_enough(prepared, clusters)
    if way.method == "spherical" and way.zero_rows in (None, "error"):
        check_directions(prepared)
    try:
        return _cluster(prepared, clusters, way, watch)
    except PartitaError as error:
        raise TableError(f"{prepared.table.name}: {error.text}", *error.settings) from error
    except ValueError as error:
        raise TableError(f"{prepared.table.name}: {error}") from error


def check_directions(prepared: Prepared) -> None:
    """A row of zeros has no direction; say where it is."""
    import numpy as np

    zero = np.flatnonzero(~prepared.X.any(axis=1))
    if len(zero):
        table = prepared.table
        more = f" and {len(zero) - 1} more" if len(zero) > 1 else ""
        raise TableError(
            f"{table.name}: {table.where(int(prepared.selection.kept[zero[0]]))}{more} holds zeros "
            "only, which have no direction; --zero-rows drop leaves them out, --zero-rows separate "
            "gives them a cluster of their own"
        )


def _cluster(prepared: Prepared, clusters: Clusters, way: Way, watch: Watch) -> Found:
    from partita.choosing.choose_k import choose_k

    begin, sweep = time.perf_counter(), None
    X, weight = prepared.X, prepared.selection.weight
    if clusters.fixed is not None:
        model = way.estimator(clusters.fixed)
        runs = model.n_init if isinstance(model.n_init, int) else 1
        model.set_params(callback=watch.fit(len(X), runs, model.max_iter))
        with watch.bars(), watch.fitting():
            model.fit(X, sample_weight=weight)
        model.set_params(callback=None)
    else:
        with watch.bars():
            sweep = choose_k(
                X,
                clusters.ks,
                estimator=way.estimator(8),
                sample_weight=weight,
                feature_names=prepared.selection.names,
                random_state=way.seed,
                callback=watch.sweep,
            )
            model = sweep.model()
    stopped = watch.interrupted or (sweep is not None and not sweep.complete)
    labels = model.labels_ if hasattr(model, "labels_") else model.predict(X)
    return Found(prepared, model, sweep, labels, time.perf_counter() - begin, stopped)


def fitted_record(
    found: Found, command: str, seed: Any, *, timed: bool = True, remarks: Sequence[str] = ()
) -> Any:
    """What a report is made of."""
    from datetime import UTC, datetime

    from partita import model_file
    from partita._versions import versions
    from partita.cli.finding_advice import advice_for
    from partita.report import Fitted

    prepared, chosen = found.prepared, found.prepared.selection
    return Fitted(
        model=found.model,
        X=prepared.X,
        original=chosen.X,
        names=chosen.names,
        ids=chosen.ids,
        weight=chosen.weight,
        scaling=prepared.scaling,
        labels=found.labels,
        sweep=found.sweep,
        source=prepared.table.name,
        command=command,
        seed=seed,
        seconds=found.seconds if timed else None,
        versions=versions(),
        rows_total=prepared.table.data.num_rows,
        left_out=chosen.left_out,
        kept=chosen.kept,
        filled=chosen.filled,
        remarks=(*_how_it_ended(found), *doubts(prepared), *remarks),
        fingerprint=model_file.fingerprint(chosen.X, chosen.weight),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        advice=advice_for,
    )


def _how_it_ended(found: Found) -> list[str]:
    if not found.interrupted:
        return []
    return ["this fit was interrupted: it is the best that was found by then"]


def doubts(prepared: Prepared) -> list[str]:
    """What may be wrong with the columns that were used, and with those that were not."""
    chosen = prepared.selection
    said = [f"{name} is NOT used: {chosen.left_out[name]}" for name in chosen.nearly]
    for name, doubt in chosen.doubtful.items():
        away = f"--exclude {name} leaves it out"
        away += f", --id {name} takes it for the names of the rows" if doubt.may_be_id else ""
        said.append(f"{name} {doubt.why}, and is used as a feature; {away}")
    return said


def require_report() -> None:
    """Say before the work that a package is missing, not after it."""
    from partita._common.optional_imports import require

    require("jinja2", "a report", "report")

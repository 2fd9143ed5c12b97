"""The files that a command writes: labels, model, report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from partita.cli.error_handling import Interrupted
from partita.cli.workflow import Found, Prepared
from partita.tables import format_of, write_table


def with_labels(prepared: Prepared, labels: Any, id: str | None, only: bool, kind: str) -> Any:
    """A copy of the table with a column `cluster`, empty for rows that were left out.

    Text is copied as it is written; `only` leaves nothing but the ids.
    """
    import numpy as np

    from partita.tables.table import arrow

    pa, table = arrow(), prepared.table
    data = table.copy_as(kind)
    column = np.full(table.data.num_rows, -1, dtype=np.int64)
    used = np.zeros(len(column), dtype=bool)
    column[prepared.selection.kept], used[prepared.selection.kept] = labels, True
    clusters = pa.array(column, mask=~used)
    if only:
        data = data.select(list(table.index) if id is None else [id])
        if data.num_columns == 0:
            return pa.table({"cluster": clusters})
    return data.append_column(free_name("cluster", data.column_names), clusters)


def free_name(name: str, taken: list[str]) -> str:
    """The name, or one with a number if it is taken."""
    tries = (name if i == 1 else f"{name}_{i}" for i in range(1, len(taken) + 2))
    return next(new for new in tries if new not in taken)


@dataclass(slots=True)
class Outputs:
    """The files that were asked for, and those that are written."""

    labels: str | None = None
    model: Path | None = None
    report: Path | None = None
    only: bool = False
    force: bool = False
    saved: dict[str, str] = field(default_factory=dict)
    failed: list[Exception] = field(default_factory=list)

    @contextmanager
    def each(self) -> Iterator[None]:
        """A file that cannot be written does not keep the others from it; `check` tells."""
        try:
            yield
        except (OSError, ValueError) as error:
            if isinstance(error, BrokenPipeError):
                raise
            self.failed.append(error)

    def check(self) -> None:
        """Raise what went wrong first."""
        if self.failed:
            raise self.failed[0]

    def write_labels(self, prepared: Prepared, labels: Any, id: str | None) -> None:
        """The labels; "-" is left to the one who prints."""
        if self.labels is None or self.labels == "-":
            return
        table = prepared.table
        kind = format_of(self.labels, table.format)
        data = with_labels(prepared, labels, id, self.only, kind)
        write_table(data, self.labels, kind, force=self.force, **table.layout(kind))
        self.saved["labels"] = str(self.labels)

    def write_model(self, found: Found, command: str) -> None:
        """The model, with all that `predict` needs."""
        if self.model is None:
            return
        from partita import model_file

        chosen = found.prepared.selection
        model_file.save(
            found.model,
            self.model,
            scaling=found.prepared.scaling,
            fill=chosen.fill,
            names=chosen.names,
            note=f"{command} (interrupted)" if found.interrupted else command,
            fingerprint=model_file.fingerprint(chosen.X, chosen.weight),
            force=self.force,
        )
        self.saved["model"] = str(self.model)

    def write_report(self, fitted: Any) -> Any:
        """The page, if it was asked for; what it says, in any case."""
        from partita.report import summarise, write_report

        if self.report is None:
            return summarise(fitted)
        found = write_report(self.report, fitted, force=self.force)
        self.saved["report"] = str(self.report)
        return found

    def so_far(self, what: str) -> str:
        """What is saved by now."""
        saved = ", ".join(f"{kind} in {path}" for kind, path in self.saved.items())
        return f"{what}; {f'saved: {saved}' if saved else 'nothing was saved'}"

    def interrupted(self, what: str) -> Interrupted:
        """What to say after Ctrl-C."""
        return Interrupted(self.so_far(what))

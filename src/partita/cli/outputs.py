"""The files that a command writes: labels, model, report."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from partita.cli.error_handling import Interrupted
from partita.cli.workflow import FitOutcome, PreparedData
from partita.tables import format_of, write_table, write_text


def add_labels(
    prepared: PreparedData, labels: Any, id: str | None, only_labels: bool, format: str
) -> Any:
    """Return a copy of the table with a column `cluster`, empty for rows that were left out.

    Cells of text are copied as they are written. With `only_labels` just the ids are copied.
    """
    import numpy as np

    from partita.tables.table import arrow

    pa, table = arrow(), prepared.table
    data = table.copy_as(format)
    column = np.full(table.data.num_rows, -1, dtype=np.int64)
    has_label = np.zeros(len(column), dtype=bool)
    column[prepared.selection.kept], has_label[prepared.selection.kept] = labels, True
    clusters = pa.array(column, mask=~has_label)
    if only_labels:
        data = data.select(list(table.index) if id is None else [id])
        if data.num_columns == 0:
            return pa.table({"cluster": clusters})
    return data.append_column(_unused_name("cluster", data.column_names), clusters)


def _unused_name(name: str, taken: list[str]) -> str:
    """Return the name, with a number if it is taken."""
    names = (name if i == 1 else f"{name}_{i}" for i in range(1, len(taken) + 2))
    return next(new for new in names if new not in taken)


def print_labels(prepared: PreparedData, labels: Any, id: str | None, only_labels: bool) -> None:
    """Print the table with its labels as text on stdout."""
    data = add_labels(prepared, labels, id, only_labels, "csv")
    sys.stdout.flush()
    layout = prepared.table.layout("csv")
    delimiter = prepared.table.delimiter or layout["delimiter"] or ","
    write_text(data, sys.stdout.buffer, delimiter, newline=layout["newline"] or "\n")
    sys.stdout.buffer.flush()


@dataclass(slots=True)
class Outputs:
    """The requested output files, those written, and the errors of those that could not be."""

    labels: str | None = None
    model: Path | None = None
    report: Path | None = None
    only_labels: bool = False
    force: bool = False
    saved: dict[str, str] = field(default_factory=dict)
    errors: list[Exception] = field(default_factory=list)

    @contextmanager
    def keep_error(self) -> Iterator[None]:
        """Keep an error for later, so that the other files are written."""
        try:
            yield
        except BrokenPipeError:
            raise
        except (OSError, ValueError) as error:
            self.errors.append(error)

    def raise_first_error(self) -> None:
        """Raise the first error that was kept."""
        if self.errors:
            raise self.errors[0]

    def write_labels(self, prepared: PreparedData, labels: Any, id: str | None) -> None:
        """Write the labels to a file; "-" is for `print_labels`."""
        if self.labels is None or self.labels == "-":
            return
        table = prepared.table
        format = format_of(self.labels, table.format)
        data = add_labels(prepared, labels, id, self.only_labels, format)
        write_table(data, self.labels, format, force=self.force, **table.layout(format))
        self.saved["labels"] = str(self.labels)

    def write_model(self, outcome: FitOutcome, command: str) -> None:
        """Write the model with everything that `predict` needs."""
        if self.model is None:
            return
        from partita import model_file

        selection = outcome.prepared.selection
        model_file.save(
            outcome.model,
            self.model,
            scaling=outcome.prepared.scaling,
            fill=selection.fill,
            names=selection.names,
            note=f"{command} (interrupted)" if outcome.interrupted else command,
            fingerprint=model_file.fingerprint(selection.X, selection.weight),
            force=self.force,
        )
        self.saved["model"] = str(self.model)

    def write_report(self, fitted: Any) -> Any:
        """Write the report, if requested; return its summary in any case."""
        from partita.report import summarise, write_report

        if self.report is None:
            return summarise(fitted)
        summary = write_report(self.report, fitted, force=self.force)
        self.saved["report"] = str(self.report)
        return summary

    def with_saved_files(self, text: str) -> str:
        """Return the text, followed by the files written so far."""
        saved = ", ".join(f"{kind} in {path}" for kind, path in self.saved.items())
        return f"{text}; {f'saved: {saved}' if saved else 'nothing was saved'}"

    def interrupted(self, text: str) -> Interrupted:
        """Return the error to raise after Ctrl-C."""
        return Interrupted(self.with_saved_files(text))

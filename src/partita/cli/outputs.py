"""The files that a command writes: labels, model, report."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import typer

from partita import model_file
from partita._common.array_types import Ints
from partita._common.data_files import without_compression_suffix
from partita._common.optional_imports import require
from partita._common.text import free_name
from partita.cli.console import print_message
from partita.cli.error_handling import Interrupted, error_text
from partita.cli.options import SendingOptions
from partita.cli.prepared_data import PreparedData
from partita.cli.workflow import FitOutcome, reference_of
from partita.model_file.group_naming import GroupNames
from partita.tables import NO_CLUSTER, Table, check_new, format_of, write_table
from partita.tables.block_writer import check_format, write_blocks, write_text_blocks
from partita.tables.file_formats import SUFFIXES_WRITTEN
from partita.tables.streamed_rows import StreamedRows
from partita.tables.table import arrow

STDOUT, STDERR = 1, 2
_STREAM = re.compile(r"-|/dev/stdout|/dev/stderr|/(?:dev|proc/self)/fd/(\d{1,6})")


@dataclass(slots=True)
class Outputs:
    """The requested output files, those written, and the errors of those that could not be."""

    labels: str | None = None
    only_labels: bool = False
    id: str | None = None  # the column that `only_labels` copies
    model: Path | None = None
    report: Path | None = None
    force: bool = False
    sending: SendingOptions = field(default_factory=SendingOptions)
    with_names: bool = False  # beside the labels, of `group_names`
    group_names: GroupNames = ()  # (k,)
    saved: dict[str, str] = field(default_factory=dict)
    errors: list[Exception] = field(default_factory=list)
    # columns that are written beside the labels, of the rows that were not left out
    more_columns: dict[str, Any] = field(default_factory=dict)

    def check(
        self, data: Iterable[str] = (), inputs: Iterable[Path] = (), json: bool = False
    ) -> None:
        """Raise before the work, not after it, if an output cannot be written.

        Labels may replace the data, since they are a copy of it. No output may replace `inputs`.
        """
        labels, report = self.labels, self.report
        if self.uses_stdout and json:
            raise typer.BadParameter(
                f"--labels {labels} and --json both print to stdout. Choose one."
            )
        for option, file in (("--model", self.model), ("the report", report)):
            if file is not None and stream_of(file) in (STDOUT, STDERR):
                raise typer.BadParameter(
                    f"{option} must be a file, got {file}; only --labels can be printed."
                )
        if report is not None and not str(report).lower().endswith((".html", ".htm")):
            raise typer.BadParameter(
                f"the name of the report must end in .html or .htm, got {report}."
            )
        if labels == "":
            raise typer.BadParameter("the name of an output is empty.")
        if labels is not None and stream_of(labels) is None:
            _check_suffix(labels, self.with_names)
        protected = {os.path.realpath(path) for path in inputs}
        copied = {os.path.realpath(path) for path in data}
        paths = [os.fspath(path) for path in (labels, self.model, report) if path is not None]
        for path in paths:
            if os.path.realpath(path) in (protected if path == labels else protected | copied):
                raise typer.BadParameter(
                    f"{path} is an input of this command. Choose another name."
                )
        streams = {path: stream_of(path) for path in paths}
        for path, stream in streams.items():
            if stream is not None:
                _check_open(path, stream)
        files = [path for path in paths if streams[path] is None and not _is_device(path)]
        self._check_files(files)
        if report is not None:
            require("jinja2", "a report", "report")

    def _check_files(self, paths: list[str]) -> None:
        targets = [os.path.realpath(path) for path in paths]
        for path, target in zip(paths, targets, strict=True):
            if targets.count(target) > 1:
                raise typer.BadParameter(f"{path} is the name of two outputs. Choose another name.")
            check_new(path, force=self.force)
            folder = os.path.dirname(target)
            if not os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
                raise PermissionError(f"{path} cannot be written: no permission for its folder")

    @property
    def uses_stdout(self) -> bool:
        """True if the labels are printed: other text belongs on stderr then."""
        return self.labels is not None and stream_of(self.labels) == STDOUT

    @contextmanager
    def keep_error(self) -> Iterator[None]:
        """Keep an error for later, so that the other files are written."""
        try:
            yield
        except BrokenPipeError:
            raise
        except (OSError, ValueError) as error:
            self.errors.append(error)

    def write_labels(self, prepared: PreparedData, labels: Any) -> None:
        """Write the labels to a file or a stream; stdout is for `print_labels`."""
        if self.labels is None or self.uses_stdout:
            return
        stream, table = stream_of(self.labels), prepared.table
        format = format_of(self.labels, table.format)
        if stream is not None:
            with self.stream() as file:
                self._write_as_text(file, prepared, labels)
        elif prepared.streamed is not None:
            tables = self._labelled_blocks(prepared.streamed, labels, format)
            n, layout = prepared.n_rows, table.layout(format)
            write_blocks(tables, self.labels, format, n, force=self.force, **layout)
        else:
            data = self._labelled(prepared, labels, format)
            write_table(data, self.labels, format, force=self.force, **table.layout(format))
        self.saved["labels"] = self.labels

    @contextmanager
    def stream(self) -> Iterator[Any]:
        """Open the stream that `labels` stands for."""
        if self.uses_stdout:
            sys.stdout.flush()
            yield sys.stdout.buffer
            return
        stream = stream_of(str(self.labels))
        assert stream is not None
        with open(os.dup(stream), "wb") as file:
            yield file

    def print_labels(self, prepared: PreparedData, labels: Any) -> None:
        """Print the table with its labels on stdout."""
        with self.stream() as file:
            self._write_as_text(file, prepared, labels)

    def _write_as_text(self, file: Any, prepared: PreparedData, labels: Any) -> None:
        table, layout = prepared.table, prepared.table.layout("csv")
        delimiter = table.delimiter or layout["delimiter"] or ","
        if prepared.streamed is not None:
            tables = self._labelled_blocks(prepared.streamed, labels, "csv")
        else:
            tables = iter([self._labelled(prepared, labels, "csv")])
        write_text_blocks(tables, file, delimiter, "utf-8", layout["newline"] or "\n")
        file.flush()

    def _labelled(self, prepared: PreparedData, labels: Any, format: str) -> Any:
        more = {
            name: of_all_rows(values, prepared.selection.kept, prepared.table.data.num_rows)
            for name, values in self.more_columns.items()
        }
        copy = prepared.table.copy_as(format)
        return self.with_labels(prepared.table, copy, prepared.labels_of_all_rows(labels), more)

    def _labelled_blocks(self, rows: StreamedRows, labels: Any, format: str) -> Iterator[Any]:
        for block, clusters in rows.labelled_blocks(labels, NO_CLUSTER):
            yield self.with_labels(block, rows.sample.types.copy(block, format), clusters, {})

    def with_labels(self, table: Table, data: Any, clusters: Ints, more: Mapping[str, Any]) -> Any:
        """Return `data`, a copy of the table, with a column `cluster` and `more` columns.

        With `only_labels` just the ids are copied.
        """
        pa = arrow()
        if self.only_labels:
            data = data.select(list(table.index) if self.id is None else [self.id])
        columns = {"cluster": pa.array(clusters)}
        if self.with_names:
            columns["group"] = _names_by_label(clusters, self.group_names)
        columns |= more
        if data.num_columns == 0:
            return pa.table(columns)
        for name, values in columns.items():
            data = data.append_column(free_name(name, data.column_names), values)
        return data

    def check_streamed(self, prepared: PreparedData) -> None:
        """Refuse labels in a format that needs all rows at once, if they are read by blocks."""
        is_file = self.labels is not None and stream_of(self.labels) is None
        if is_file and prepared.streamed is not None:
            check_format(str(self.labels), format_of(str(self.labels), prepared.table.format))

    def write_model(self, outcome: FitOutcome) -> None:
        """Write the model with everything that `predict` needs."""
        if self.model is None:
            return
        prepared, selection = outcome.prepared, outcome.prepared.selection
        model_file.save(
            outcome.model,
            self.model,
            scaling=prepared.scaling,
            fill=selection.fill,
            names=selection.all_names,
            plan={**prepared.plan.to_dict(), "columns": list(prepared.table.names)},
            note=outcome.command + " (interrupted)" * outcome.interrupted,
            fingerprint=prepared.fingerprint,
            fitted_to=reference_of(outcome),
            group_names=outcome.group_names,
            force=self.force,
        )
        self.saved["model"] = str(self.model)

    def write_report(self, fitted: Any) -> Any:
        """Write the report, if requested; return its summary in any case."""
        from partita.report import summarise, write_report

        if self.report is not None:
            with self.keep_error():
                summary = write_report(self.report, fitted, force=self.force)
                self.saved["report"] = str(self.report)
                return summary
        return summarise(fitted)

    def error_texts(self) -> list[str]:
        """Return why outputs could not be written."""
        return list(dict.fromkeys(map(error_text, self.errors)))

    def raise_errors(self) -> None:
        """Raise the first error that was kept; print the others."""
        for text in self.error_texts()[1:]:
            print_message(f"Error: {text}")
        if self.errors:
            raise self.errors[0]

    def with_saved_files(self, text: str) -> str:
        """Return the text, followed by the files written so far."""
        saved = ", ".join(f"{kind} in {path}" for kind, path in self.saved.items())
        return f"{text}; {f'saved: {saved}' if saved else 'nothing was saved'}"

    def interrupted(self, text: str, advice: str = "") -> Interrupted:
        """Return the error to raise after Ctrl-C."""
        return Interrupted(self.with_saved_files(text) + advice)


def of_all_rows(values: Any, kept: Ints, n_rows: int) -> Any:
    """Return a column of all rows; null for those that were left out, and for NaN."""
    every, is_unknown = np.zeros(n_rows, values.dtype), np.ones(n_rows, bool)
    every[kept], is_unknown[kept] = values, np.isnan(values)
    return arrow().array(every, mask=is_unknown)


def _names_by_label(labels: Ints, names: GroupNames) -> Any:
    """Return the name of the group of each row; null for labels without a group."""
    pa = arrow()
    shown = [name or f"Group {j}" for j, name in enumerate(names)]
    texts = pa.array([*shown, None], pa.string())
    is_group = (labels >= 0) & (labels < len(names))
    return texts.take(pa.array(np.where(is_group, labels, len(names))))


def _check_suffix(labels: str, with_names: bool) -> None:
    suffix = without_compression_suffix(labels).suffix.lower()
    if with_names and suffix == ".npy":
        raise typer.BadParameter(
            f"--with-names needs a format that holds text, got {labels}. Choose .npz or .csv."
        )
    if suffix and suffix not in SUFFIXES_WRITTEN:
        hint = " Spreadsheets open .csv files." if suffix.startswith((".xls", ".ods")) else ""
        raise typer.BadParameter(
            f"the suffix of --labels must be one of {', '.join(SUFFIXES_WRITTEN)}, got "
            f"{labels}.{hint}"
        )


def stream_of(path: str | Path) -> int | None:
    """Return the descriptor that a path stands for: 1 for - and /dev/stdout; None for a file.

    A stream may be redirected to a file. That must be written to, never replaced.
    """
    match = _STREAM.fullmatch(os.path.normpath(path))
    if match is None:
        return None
    return {"-": STDOUT, "/dev/stdout": STDOUT, "/dev/stderr": STDERR}.get(match[0]) or int(
        match[1]
    )


def _check_open(path: str, stream: int) -> None:
    try:
        os.fstat(stream)
    except OSError as error:
        raise OSError(error.errno, f"{path} cannot be written: {error.strerror}") from None


def _is_device(path: str) -> bool:
    """Return whether the path is a pipe, a terminal or the like: written to, not replaced."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)

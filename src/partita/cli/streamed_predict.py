"""Labels of files that do not fit memory: blocks in, labels out."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from partita._common.text import plural
from partita.cli import show_comparison, show_results
from partita.cli.column_matching import match_columns
from partita.cli.console import console
from partita.cli.error_handling import collect_warnings
from partita.cli.group_names import require_names
from partita.cli.large_files import SAMPLE_MEMORY_SHARE
from partita.cli.outputs import Outputs, of_all_rows, stream_of
from partita.cli.paragraphs import print_item
from partita.cli.predict import PredictRequest
from partita.cli.prepared_data import PreparedData
from partita.cli.repeated_preparation import RepeatedPreparation
from partita.new_rows.comparison_sums import ComparisonSums
from partita.new_rows.own_distances import own_distances
from partita.tables import Table, format_of
from partita.tables.block_writer import check_format, write_blocks, write_text_blocks
from partita.tables.preparation_plan import gap_decisions
from partita.tables.sample_plan import COUNTED
from partita.tables.table_blocks import TableBlocks
from partita.tables.table_sample import TableSample


@dataclass(slots=True, eq=False)
class StreamedPrediction:
    """The labels of the rows of files by a model, and what is counted on the way."""

    blocks: TableBlocks
    sample: TableSample
    fitted: Any
    preparation: RepeatedPreparation
    table: Table  # the sample, with the columns named as in the model
    comparison: ComparisonSums | None = None
    sizes: Counter[int] = field(default_factory=Counter)
    gaps: Counter[str] = field(default_factory=Counter)
    unseen: Counter[str] = field(default_factory=Counter)  # categories, by column
    n_rows: int = 0
    n_used: int = 0

    @classmethod
    def of(
        cls, blocks: TableBlocks, path: Path, memory: float, id: str | None, missing: str | None
    ) -> StreamedPrediction:
        """Read a model, and a sample of the rows that shows the types of their columns."""
        from partita.model_file.loading import read_labeller

        fitted = read_labeller(path)
        blocks = blocks.with_missing(fitted.saved_.na)
        sample = TableSample.of(blocks, memory * SAMPLE_MEMORY_SHARE)
        table, names = match_columns(sample.table, fitted, path)
        preparation = RepeatedPreparation.of(fitted, path, names, id, missing)
        reference = fitted.saved_.reference
        comparison = None if reference is None else ComparisonSums(reference)
        return cls(blocks, sample, fitted, preparation, table, comparison)

    def tables(self, outputs: Outputs, format: str, has_distance: bool) -> Iterator[Any]:
        """Yield copies of all blocks with their labels."""
        old_names, names = self.sample.table.names, list(self.table.names)
        used = {*self.preparation.names, self.preparation.id}
        converted = [old for old, new in zip(old_names, names, strict=True) if new in used]
        for raw in self.blocks:
            copy = self.sample.types.copy(raw, format).rename_columns(names)
            block = self.sample.types.convert(raw, converted)
            block = block if names == list(old_names) else block.renamed(tuple(names))
            prepared = self.preparation.apply(block)
            labels, more = self._label(prepared)
            self.n_rows += block.data.num_rows
            more = more if has_distance else {}
            clusters = prepared.labels_of_all_rows(labels)
            kept, n = prepared.selection.kept, block.data.num_rows
            columns = {name: of_all_rows(values, kept, n) for name, values in more.items()}
            yield outputs.with_labels(block, copy, clusters, columns)

    def _label(self, prepared: PreparedData) -> tuple[Any, dict[str, Any]]:
        """Return the labels of the rows of a block, and the columns of `--distance`."""
        selection = prepared.selection
        self.n_used += len(selection.kept)
        self.gaps.update(selection.gaps)
        self.unseen.update(show_comparison.unseen_categories(self.fitted, prepared))
        if len(prepared.X):
            labels = np.asarray(self.fitted.predict(prepared.X))
        else:
            labels = np.zeros(0, np.int64)
        self.sizes.update(show_results.cluster_sizes(labels))
        rows = prepared.rows_to_measure
        distance = own_distances(self.fitted, rows, labels)
        if self.comparison is None:
            return labels, {"distance": distance}
        start = self.n_rows

        def name_of(i: int) -> Any:
            ids = selection.ids
            return start + int(selection.kept[i]) + 1 if ids is None else ids[i].as_py()

        is_stranger = self.comparison.add(rows, labels, distance, selection.weight, name_of)
        return labels, {"distance": distance, "stranger": is_stranger}

    def described(self) -> PreparedData:
        """Return the sample with a plan that has the counts of all rows."""
        prepared = self.preparation.apply(self.table)
        if self.sample.is_whole:
            return prepared
        others = [d for d in prepared.plan.decisions if d.kind not in COUNTED]
        selection = replace(prepared.selection, gaps=dict(self.gaps))
        gaps = gap_decisions(selection, self.n_rows, self.n_used, of_fit=True)
        return replace(prepared, plan=replace(prepared.plan, decisions=(*gaps, *others)))


def predict_blocks(
    request: PredictRequest, blocks: TableBlocks, memory: float, outputs: Outputs
) -> None:
    """Write the labels of all rows, then tell what was found."""
    model = request.model
    with collect_warnings() as warnings:
        prediction = StreamedPrediction.of(blocks, model, memory, request.id, request.missing)
        if outputs.with_names:
            outputs.group_names = require_names(prediction.fitted, model)
        _write(prediction, outputs, request.distance)
    if request.quiet:
        return
    prepared, out = prediction.described(), console(stderr=outputs.uses_stdout)
    show_results.print_preparation(prepared)
    show_results.print_notes(warnings)
    show_results.print_notes(show_comparison.unseen_note(prediction.unseen, prediction.n_used))
    if prediction.comparison is None:
        show_results.print_notes([show_comparison.NO_REFERENCE])
    out.print(f"{plural(prediction.n_used, 'row')} labelled by {model}, by blocks", soft_wrap=True)
    show_results.print_cluster_sizes(dict(sorted(prediction.sizes.items())), out)
    if prediction.comparison is not None:
        group_names = prediction.fitted.saved_.group_names
        names, undo = prepared.model_names, prepared.undo
        for line in prediction.comparison.sentences(names, undo, group_names):
            print_item(out, line, 0)
    show_results.print_saved_files(outputs.saved, out)


def _write(prediction: StreamedPrediction, outputs: Outputs, has_distance: bool) -> None:
    table, path = prediction.table, str(outputs.labels)
    if stream_of(path) is None:
        format = format_of(path, table.format)
        check_format(path, format)
        tables = prediction.tables(outputs, format, has_distance)
        n, layout = prediction.sample.n_rows, table.layout(format)
        write_blocks(tables, path, format, n, force=outputs.force, **layout)
        outputs.saved["labels"] = path
        return
    layout = table.layout("csv")
    delimiter = table.delimiter or layout["delimiter"] or ","
    tables = prediction.tables(outputs, "csv", has_distance)
    with tempfile.TemporaryFile() as whole:  # all of it is printed, or nothing
        write_text_blocks(tables, whole, delimiter, "utf-8", layout["newline"] or "\n")
        whole.seek(0)
        with outputs.stream() as file:
            shutil.copyfileobj(whole, file)
            file.flush()

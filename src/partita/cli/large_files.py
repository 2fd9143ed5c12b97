"""Files that do not fit memory: prepared by a sample, and read block by block."""

from __future__ import annotations

import re
from dataclasses import replace

from partita._common.data_files import expand_path
from partita._common.errors import Setting
from partita._common.memory import free_memory
from partita._common.text import listed, quoted
from partita.cli import prepared_data
from partita.cli.feature_choice import choose_features, choose_scaling
from partita.cli.method_choice import check_columns, is_auto
from partita.cli.method_options import MethodOptions
from partita.cli.options import ColumnOptions, ReadOptions
from partita.cli.prepared_data import PreparedData
from partita.tables import Selection, Table, TableError
from partita.tables.auto_scaling import with_fences
from partita.tables.cell_options import CellOptions
from partita.tables.file_options import FileOptions, missing_markers
from partita.tables.sample_plan import plan_of_sample, plan_of_streamed
from partita.tables.streamed_rows import NotNumericError, stream_rows
from partita.tables.table_blocks import TableBlocks
from partita.tables.table_reader import STDIN, checked_paths
from partita.tables.table_sample import TableSample

FREE_MEMORY_SHARE = 0.8  # that a table may need before it is read by blocks
SAMPLE_MEMORY_SHARE = 0.25  # of the limit
NEEDED_PER_FILE_BYTE = 10  # in memory, of formats without blocks
BLOCK_METHODS = ("kmeans", "spherical")  # that read rows again in every pass
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def memory_allowed(limit: float | None) -> float:
    """Return the bytes that a command may take."""
    return free_memory() * FREE_MEMORY_SHARE if limit is None else limit


def blocks_beyond(options: ReadOptions, limit: float | None) -> TableBlocks | None:
    """Return the blocks of files that do not fit memory; None if they do."""
    paths = checked_paths(options.data)
    if STDIN in paths:
        return None
    cells = CellOptions(options.decimal, options.thousands, missing_markers(options.na or ()))
    layout = (options.delimiter, options.encoding, options.header, options.skip_rows)
    files = FileOptions(*layout, options.sheet, cells)
    blocks = TableBlocks.of(paths, files, options.source_column)
    if blocks is not None:
        return blocks if blocks.bytes_needed > memory_allowed(limit) else None
    if limit is not None:
        _check_size(paths, limit)
    return None


def _check_size(paths: list[str], limit: float) -> None:
    """Refuse files that do not fit memory, of formats that are read as a whole."""
    files = [file for place in paths for file in expand_path(place) if file.is_file()]
    if NEEDED_PER_FILE_BYTE * sum(file.stat().st_size for file in files) > limit:
        raise TableError(
            f"{listed(paths, str)} does not fit the limit of memory, and files like that cannot be "
            "read by blocks. Convert it to Parquet or CSV, or use a larger --memory-limit."
        )


def too_many_labels(blocks: TableBlocks) -> TableError:
    """Return the error about an object with a label for each of too many rows."""
    return TableError(
        f"{blocks.name} does not fit memory, and --json prints a label for every row at once. Use "
        "--labels OUT, or a larger --memory-limit."
    )


def prepare(
    read: ReadOptions, columns: ColumnOptions, method: MethodOptions, limit: float | None
) -> PreparedData:
    """Read files and prepare their rows: as one table, or by blocks if that does not fit."""
    check_columns(columns, method)
    blocks = blocks_beyond(read, limit)
    if blocks is None:
        return prepared_data.prepare(prepared_data.read(read), columns, method)
    if is_auto(method):
        method = replace(method, method=BLOCK_METHODS[0])
    if method.method not in BLOCK_METHODS or columns.missing == "partial":
        partial = (
            ", --missing partial" * (columns.missing == "partial") * (method.method == "kmeans")
        )
        raise TableError(
            f"{blocks.name} does not fit memory, and --method {method.method}{partial} needs all "
            f"rows at once. Use --method {BLOCK_METHODS[0]}, fewer rows, or more --memory-limit."
        )
    return prepare_blocks(blocks, columns, method, memory_allowed(limit))


def prepare_sample(
    read: ReadOptions, columns: ColumnOptions, method: MethodOptions | None, limit: float | None
) -> PreparedData:
    """Read files and prepare their rows; if they do not fit memory, a sample of them."""
    if method is not None:
        check_columns(columns, method)
    blocks = blocks_beyond(read, limit)
    if blocks is None:
        return prepared_data.prepare(prepared_data.read(read), columns, method)
    sample = TableSample.of(blocks, memory_allowed(limit) * SAMPLE_MEMORY_SHARE)
    prepared = prepared_data.prepare(sample.table, columns, method)
    return replace(prepared, plan=plan_of_sample(sample, prepared.plan))


def prepare_blocks(
    blocks: TableBlocks, columns: ColumnOptions, method: MethodOptions, memory: float
) -> PreparedData:
    """Decide by a sample how rows are prepared, then prepare all of them."""
    sample = TableSample.of(blocks, memory * SAMPLE_MEMORY_SHARE)
    not_numeric: dict[str, str] = {}
    while True:
        selection = choose_features(sample.table, columns, not_numeric)
        _check_dates(sample.table, selection)
        scaling, why_unscaled = choose_scaling(selection, columns, method)
        if not sample.is_whole:
            scaling = with_fences(scaling, selection.X, selection.weight)
        try:
            streamed, scaling = stream_rows(
                blocks, sample, selection, columns.weight, scaling, memory
            )
        except NotNumericError as error:
            _check_not_named(blocks.name, columns, error.columns)
            not_numeric |= error.columns
            continue
        plan = plan_of_streamed(streamed, selection, scaling, why_unscaled)
        rows = scaling.apply(selection.X)
        prepared = PreparedData(sample.table, selection, scaling, rows, plan, streamed=streamed)
        return replace(prepared, id_column=columns.id)


def _check_not_named(name: str, options: ColumnOptions, columns: dict[str, str]) -> None:
    """Refuse to leave out columns that the user named."""
    included = [part.strip() for text in options.include or () for part in text.split(",")]
    for column, why in columns.items():
        if options.columns is not None or column in included:
            raise TableError(
                f"{name}: column {quoted(column)} cannot be a feature: {why}. Leave it out, or "
                "convert it to numbers."
            )


def _check_dates(table: Table, selection: Selection) -> None:
    """Refuse dates of text whose format only all rows together show."""
    if table.text is None:
        return
    for name in selection.days:
        cells = (cell.as_py() for cell in table.text[name])
        first = next((cell for cell in cells if cell.strip()), "")
        if not (_ISO_DATE.match(first) or first.isdecimal()):
            raise TableError(
                f"{table.name} does not fit memory, and dates like {quoted(first)} in column "
                f"{quoted(name)} cannot be read by blocks. Write them like 2024-05-31, or leave "
                "the column out ({}).",
                Setting("exclude", name),
            )

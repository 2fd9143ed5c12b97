"""Blocks of tables: the rows of the whole table, whatever their size."""

from __future__ import annotations

import numpy as np
import pytest

from partita.tables import Table, read_table, select, table_blocks, text_blocks, write_table
from partita.tables.block_writer import FORMATS_BY_BLOCKS, write_blocks
from partita.tables.file_options import FileOptions
from partita.tables.table_blocks import TableBlocks
from partita.tables.table_sample import TableSample, _Drawn

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

N_ROWS = 1000


@pytest.fixture(params=[70, 300, 5000])
def block_rows(request, monkeypatch):
    monkeypatch.setattr(table_blocks, "BLOCK_ROWS", request.param)
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 40 * request.param)
    return request.param


def example():
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "number": np.arange(N_ROWS),
            "name": [f'a "{i}",\nb' if i % 90 == 0 else "é" for i in range(N_ROWS)],
            "x": rng.normal(size=N_ROWS),
            "is_old": rng.random(N_ROWS) < 0.5,
        }
    )


def blocks_of(*paths, **options):
    return TableBlocks.of([str(path) for path in paths], FileOptions(**options))


@pytest.mark.parametrize("format", ["csv", "tsv", "csv.gz", "parquet", "feather"])
def test_blocks_in_succession_are_the_table(tmp_path, block_rows, format):
    path = tmp_path / f"a.{format}"
    write_table(example(), path)
    whole, blocks = read_table(path), blocks_of(path)
    part = TableSample.of(blocks, np.inf)
    assert part.is_whole
    assert part.table.data.equals(whole.data)
    assert part.table.names == whole.names
    copies = pa.concat_tables([part.types.copy(block, "parquet") for block in blocks])
    assert copies.cast(whole.copy_as("parquet").schema).equals(whole.copy_as("parquet"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings_and_titles_are_detected_as_in_memory(tmp_path, block_rows, encoding):
    lines = [f"{i};{i},5;é\n" for i in range(N_ROWS)]
    text = "A title\n\nn;x;note\n" + "".join(lines)
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    whole = read_table(tmp_path / "a.csv")
    part = TableSample.of(blocks_of(tmp_path / "a.csv"), np.inf).table
    assert part.data.equals(whole.data)
    for attribute in ("delimiter", "encoding", "newline", "decimal", "notes", "format", "named_as"):
        assert getattr(part, attribute) == getattr(whole, attribute), attribute
    assert part.where(7) == whole.where(7)


def test_a_sample_does_not_depend_on_the_blocks(tmp_path, monkeypatch):
    write_table(example(), tmp_path / "a.parquet")
    drawn = []
    for size in (70, 300, 5000):
        monkeypatch.setattr(table_blocks, "BLOCK_ROWS", size)
        sample = _Drawn(100)
        for block in blocks_of(tmp_path / "a.parquet"):
            sample.add(block)
        table, rows = sample.table("a")
        assert len(rows) == 100
        assert table.data["number"].to_pylist() == rows.tolist()
        drawn.append(rows.tolist())
    assert drawn[0] == drawn[1] == drawn[2]


def test_row_numbers_are_recognised_in_a_sample():
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(100_000, 2000, replace=False))
    numbers, measured = rng.permutation(100_000)[rows], rng.integers(0, 50_000, 2000)
    data = pa.table({"n": numbers, "x": rng.normal(size=2000), "y": measured})
    sample = Table(data, "a", "csv", sample_of=100_000)
    assert select(sample, by_role=True).names == ("x", "y")
    assert select(Table(data, "a", "csv"), by_role=True).names == ("n", "x", "y")


@pytest.mark.parametrize("format", FORMATS_BY_BLOCKS)
def test_a_file_of_blocks_is_that_of_one_table(tmp_path, format):
    table = example() if format != "npy" else example().select(["number", "x"])
    parts = [table.slice(i, 300) for i in range(0, N_ROWS, 300)]
    whole, blocks = tmp_path / f"a.{format}", tmp_path / f"b.{format}"
    write_table(table, whole)
    write_blocks(parts, blocks, format, N_ROWS)
    assert read_table(whole).data.equals(read_table(blocks).data)
    if format in ("csv", "tsv", "jsonl", "npy"):
        assert whole.read_bytes() == blocks.read_bytes()


def test_a_failure_leaves_no_file(tmp_path):
    def parts():
        yield example()
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        write_blocks(parts(), tmp_path / "a.csv", "csv", 2 * N_ROWS)
    assert list(tmp_path.iterdir()) == []

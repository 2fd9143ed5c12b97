"""Compressed files: the content, the same bytes, and a bound on the decompressed size."""

from __future__ import annotations

import bz2
import functools
import gzip
import lzma

import pytest
from helpers.table_files import peak_of, write_file

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import (  # noqa: E402
    TableError,
    compression,
    read_table,
    select,
    write_table,
)


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "feather", "npy", "npz"])
def test_packed_files_are_unpacked(tmp_path, kind, packing):
    data = pa.table({"x": [1.5, 2.5], "y": [0.25, 4.0]})
    plain, small = tmp_path / f"a.{kind}", tmp_path / f"a.{kind}.{packing}"
    write_table(data, plain)
    write_table(data, small)
    assert small.read_bytes() != plain.read_bytes()
    found = read_table(small)
    assert found.format == kind
    assert list(found.data.to_pydict().values()) == [[1.5, 2.5], [0.25, 4.0]]
    assert select(read_table(str(tmp_path / f"*.{packing}"))).X.tolist() == [[1.5, 0.25], [2.5, 4]]
    first = small.read_bytes()
    write_table(data, small, force=True)
    assert small.read_bytes() == first
    small.write_bytes(first[:-9])
    with pytest.raises(TableError, match="cannot be decompressed"):
        read_table(small)


def test_a_header_may_begin_as_packed_files_do(tmp_path):
    assert read_table(write_file(tmp_path, "BZh,b\n1,2\n")).names == ("BZh", "b")


@pytest.mark.parametrize(
    "pack", [gzip.compress, functools.partial(bz2.compress, compresslevel=1), lzma.compress]
)
def test_what_unpacks_without_end_is_refused_before_it_fills_the_memory(
    tmp_path, monkeypatch, pack
):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(pack(b"x\n" + b"0\n" * (1 << 23)))
    monkeypatch.setattr(compression, "UNPACKED_BYTES_ALLOWED", 1 << 18)
    monkeypatch.setattr(compression, "CHUNK_BYTES", 1 << 16)

    def read():
        with pytest.raises(
            TableError, match=r"unlikely for a table\. If it is one, decompress it first"
        ):
            read_table(path)

    # gzip makes it a thousandth, bzip2 and xz far less
    assert path.stat().st_size * compression.MAX_UNPACKED_RATIO < 1 << 23
    assert peak_of(read) < 1 << 24


def test_tables_of_constants_are_no_bombs(tmp_path):
    path = tmp_path / "a.csv.xz"
    path.write_bytes(lzma.compress(b"x,y\n" + b"0,0\n" * 200_000))
    assert read_table(path).data.num_rows == 200_000


PACKS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("kind", PACKS)
def test_several_streams_in_a_file_are_one_table(tmp_path, kind):
    """As `cat a.gz b.gz` and parallel compressors write them."""
    pack = PACKS[kind]
    path = write_file(tmp_path, pack(b"x,y\n1,2\n") + pack(b"") + pack(b"3,4\n"), f"a.csv.{kind}")
    assert read_table(path).data.to_pydict() == {"x": [1, 3], "y": [2, 4]}


@pytest.mark.parametrize("kind", PACKS)
def test_a_compressed_file_cut_or_changed_anywhere_is_an_error(tmp_path, kind):
    rows = b"".join(b"%d,%d\n" % (i, i * i % 97) for i in range(300))
    whole = PACKS[kind](b"x,y\n" + rows)
    cuts = [whole[:cut] for cut in range(12, len(whole), max(1, len(whole) // 40))]
    last_stream = [whole + whole[: len(whole) - cut] for cut in (1, 9, 20)]
    for content in (*cuts, *last_stream):
        with pytest.raises(TableError, match="cannot be decompressed"):
            read_table(write_file(tmp_path, content, f"a.csv.{kind}"))
    for place in range(len(whole) // 4, 3 * len(whole) // 4, max(1, len(whole) // 20)):
        changed = bytearray(whole)
        changed[place] ^= 0xFF
        with pytest.raises(TableError, match="cannot be decompressed"):
            read_table(write_file(tmp_path, bytes(changed), f"a.csv.{kind}"))


@pytest.mark.parametrize("kind", ["gz", "bz2"])
def test_zeros_after_the_last_stream_are_padding(tmp_path, kind):
    path = write_file(tmp_path, PACKS[kind](b"x\n1\n") + bytes(512), f"a.csv.{kind}")
    assert read_table(path).data.to_pydict() == {"x": [1]}

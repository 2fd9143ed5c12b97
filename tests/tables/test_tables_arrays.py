"""Zips and packed files: only what is needed is read, and what is no table is called what it is."""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import lzma
import tracemalloc
import zipfile

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import TableError, compression, read_table

X = np.arange(6.0).reshape(3, 2)


def zip_of(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in members.items():
            out.writestr(name, content)
    return path


def npy_of(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def peak_of(read):
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"xl/workbook.xml": "", "docProps/app.xml": ""}, "is an Excel workbook. Save the sheet"),
        ({"xl/workbook.bin": ""}, "is an Excel workbook"),
        ({"mimetype": "", "content.xml": ""}, "is an OpenDocument file. Save the sheet as CSV"),
        ({"header.json": "{}", "centers.npy": npy_of(X)}, "is a partita model"),
        ({"word/document.xml": ""}, "a zip file without arrays"),
        ({}, "a zip file without arrays"),
        ({"X.npy": "nothing"}, "array X: it cannot be read"),
    ],
)
def test_other_zips_are_called_what_they_are(tmp_path, members, words):
    path = zip_of(tmp_path / "a.zip", **members)
    with pytest.raises(TableError, match=words) as caught:
        read_table(path)
    assert str(path) in str(caught.value)


def test_old_workbooks_and_json_are_called_what_they_are(tmp_path):
    old = tmp_path / "a.xls"
    old.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100))
    with pytest.raises(TableError, match=r"is an Excel workbook\. Save the sheet as CSV"):
        read_table(old)
    for text in ('{"a": [1, 2]}', ' [{"a": 1}]', '\ufeff{"a": 1}\n{"a": 2}'):
        path = tmp_path / "a.json"
        path.write_text(text, "utf-8")
        with pytest.raises(TableError, match="is JSON, which is not supported"):
            read_table(path)


def test_arrays_that_are_not_needed_may_hold_anything(tmp_path):
    rows = np.array([{}, [], "x"], dtype=object)
    np.savez(tmp_path / "a.npz", X=X, rownames=rows, table=rows[:, None])
    assert read_table(tmp_path / "a.npz").data["c1"].to_pylist() == [1, 3, 5]
    np.savez(tmp_path / "b.npz", only=X, labels=rows, pairs=np.array([["a", "b"]]))
    assert read_table(tmp_path / "b.npz").data["c1"].to_pylist() == [1, 3, 5]
    members = {"X.npy": npy_of(X), "readme.txt": "numbers", "broken.npy": "no array"}
    path = zip_of(tmp_path / "c.npz", **members)
    assert read_table(path).data["c0"].to_pylist() == [0, 2, 4]


def test_names_may_be_bytes_and_must_not_be_objects(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, names=np.array(["größe".encode(), b"y"]))
    assert read_table(tmp_path / "a.npz").names == ("größe", "y")
    np.savez(tmp_path / "b.npz", X=X, names=np.array(["u", "v"], dtype=object))
    with pytest.raises(TableError, match=r"array names: .*Python objects"):
        read_table(tmp_path / "b.npz")


def test_an_array_that_is_not_needed_takes_no_memory(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X=X, zeros=np.zeros(1 << 21))
    assert peak_of(lambda: read_table(tmp_path / "a.npz")) < 1 << 23


def test_a_header_that_is_longer_than_its_values_takes_no_memory(tmp_path):
    long = b"\x93NUMPY\x02\x00" + (1 << 25).to_bytes(4, "little") + b" " * (1 << 25)
    path = zip_of(tmp_path / "a.npz", **{"X.npy": npy_of(X), "a.npy": long})
    assert peak_of(lambda: read_table(path)) < 1 << 23


def test_an_array_that_claims_more_than_its_file_is_refused(tmp_path):
    file = io.BytesIO()
    says = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 2)}
    np.lib.format.write_array_header_1_0(file, says)
    (tmp_path / "a.npy").write_bytes(file.getvalue() + bytes(64))
    with pytest.raises(TableError, match="its header claims"):
        read_table(tmp_path / "a.npy")
    path = zip_of(tmp_path / "a.npz", **{"X.npy": file.getvalue() + bytes(64)})
    with pytest.raises(TableError, match="its header claims"):
        read_table(path)


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


def test_an_array_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((1 << 19, 2)))
    monkeypatch.setattr(compression, "UNPACKED_BYTES_ALLOWED", 1 << 20)
    with pytest.raises(TableError, match=r"array X: .* unlikely for a table"):
        read_table(tmp_path / "a.npz")


def test_tables_of_constants_are_no_bombs(tmp_path):
    path = tmp_path / "a.csv.xz"
    path.write_bytes(lzma.compress(b"x,y\n" + b"0,0\n" * 200_000))
    assert read_table(path).data.num_rows == 200_000

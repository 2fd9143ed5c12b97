"""Arrays of NumPy: only the needed ones are read, and no objects."""

from __future__ import annotations

import io

import numpy as np
import pytest
from helpers.table_files import npy_of, peak_of, write_file, zip_of

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import (  # noqa: E402
    TableError,
    compression,
    read_table,
    select,
)


def test_npz_has_x_or_one_array_and_perhaps_names(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "a.npz", data=X, columns=["u", "v"], other=np.arange(3))
    assert select(read_table(tmp_path / "a.npz")).names == ("u", "v")
    np.savez(tmp_path / "b.npz", X=X, Y=X)
    assert read_table(tmp_path / "b.npz").names == ("c0", "c1")
    np.savez(tmp_path / "c.npz", U=X, Y=X)
    with pytest.raises(TableError, match="called X"):
        read_table(tmp_path / "c.npz")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.arange(3.0), "two dimensions"),
        (np.zeros((2, 2), complex), "complex"),
        (np.array([["a", "b"]]), "must hold numbers"),
        (np.zeros((0, 2)), "no rows"),
        (np.zeros((2, 0)), "no columns"),
    ],
)
def test_arrays_that_are_no_tables(tmp_path, array, words):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(TableError, match=words):
        read_table(tmp_path / "a.npy")


def test_arrays_of_objects_are_not_loaded(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(TableError, match="Python objects"):
        read_table(tmp_path / "a.npy")


X = np.arange(6.0).reshape(3, 2)


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


@pytest.mark.heavy
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


def test_an_array_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((1 << 19, 2)))
    monkeypatch.setattr(compression, "UNPACKED_BYTES_ALLOWED", 1 << 20)
    with pytest.raises(TableError, match=r"array X: .* unlikely for a table"):
        read_table(tmp_path / "a.npz")


def test_a_header_of_an_array_that_is_no_python(tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros((2, 2)))
    raw = buffer.getvalue().replace(b"(2, 2)", b"((2, 2")
    with pytest.raises(TableError, match=r"not a \.npy file"):
        read_table(write_file(tmp_path, raw, "a.npy"))

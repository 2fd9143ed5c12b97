"""Every format: what is written is read, and other or damaged files are named."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from helpers.table_files import npy_of, write_file, zip_of

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import (  # noqa: E402
    TableError,
    read_table,
    select,
    write_table,
)

FORMATS = ("csv", "tsv", "json", "jsonl", "parquet", "feather", "npy", "npz")


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_every_format_gives_back_the_numbers_that_were_written(tmp_path, kind, dtype):
    X = (np.random.default_rng(0).normal(size=(7, 3)) * 100).astype(dtype)
    path = tmp_path / f"a.{kind}"
    write_table(pa.table([X[:, i].copy() for i in range(3)], names=["x", "y", "z"]), path)
    found = select(read_table(path))
    np.testing.assert_array_equal(found.X.astype(dtype), X)
    if kind != "npy":
        assert found.names == ("x", "y", "z")
    if kind not in ("csv", "tsv", "json", "jsonl"):
        assert found.X.dtype == (np.float32 if dtype == np.float32 else np.float64)


def test_doubles_survive_text_to_the_last_bit(tmp_path):
    X = np.random.default_rng(1).normal(size=500) * 10.0 ** np.arange(-250, 250)
    write_table(pa.table({"x": X}), tmp_path / "a.csv")
    np.testing.assert_array_equal(select(read_table(tmp_path / "a.csv")).X[:, 0], X)


@pytest.mark.parametrize("kind", ["npy", "npz", "parquet", "feather", "json"])
def test_a_file_cut_anywhere_is_an_error_and_not_a_shorter_table(tmp_path, kind):
    write_table(pa.table({"x": np.arange(50.0), "y": np.arange(50.0)}), tmp_path / f"a.{kind}")
    whole = (tmp_path / f"a.{kind}").read_bytes()
    for cut in range(0, len(whole) - 1, max(1, len(whole) // 40)):
        path = write_file(tmp_path, whole[:cut], f"b.{kind}")
        with pytest.raises(TableError):
            read_table(path)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"xl/workbook.xml": "", "docProps/app.xml": ""}, "is not an .xlsx file that can be read"),
        ({"xl/workbook.bin": ""}, "is a binary Excel workbook. Save it as .xlsx"),
        ({"mimetype": "", "content.xml": ""}, "is an OpenDocument file. Save it as .xlsx"),
        ({"header.json": "{}", "centers.npy": npy_of(np.zeros((3, 2)))}, "is a partita model"),
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


def test_old_workbooks_are_called_what_they_are(tmp_path):
    old = tmp_path / "a.xls"
    old.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100))
    with pytest.raises(TableError, match=r"is an old Excel workbook.* Save it as \.xlsx"):
        read_table(old)


SEVERAL = """
import sys
from pathlib import Path
import numpy as np
import pyarrow as pa, pyarrow.feather as feather
from partita.tables import TableError, read_table, select
folder = Path(sys.argv[1])
feather.write_feather(pa.table({"who": [f"row {i}" for i in range(9)], "x": np.arange(9.0)}),
                      folder / "a.feather", compression="uncompressed")
whole = (folder / "a.feather").read_bytes()
rng = np.random.default_rng(0)
for _ in range(400):
    part = bytearray(whole)
    part[rng.integers(8, len(part))] ^= 1 << rng.integers(8)
    (folder / "b.feather").write_bytes(part)
    try:
        table = read_table(folder / "b.feather")
        select(table, missing="drop")
        table.data.to_pylist()
    except TableError:
        pass
print("alive")
"""


@pytest.mark.heavy
def test_a_wrong_byte_does_not_end_the_process(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SEVERAL, str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "alive", (done.returncode, done.stderr[-500:])

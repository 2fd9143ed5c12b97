"""Writing: existing files are kept, and no value changes unnoticed."""

from __future__ import annotations

import io

import numpy as np
import pytest
from helpers.table_files import write_file

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import (  # noqa: E402
    TableError,
    read_table,
    select,
    write_table,
)


def test_a_file_that_exists_is_kept_unless_forced(tmp_path):
    path, data = write_file(tmp_path, "old"), pa.table({"x": [1]})
    with pytest.raises(FileExistsError, match="exists"):
        write_table(data, path)
    assert path.read_text() == "old"
    write_table(data, path, force=True)
    assert path.read_text() == "x\n1\n"


def test_an_empty_cell_alone_is_still_a_row(tmp_path):
    write_table(pa.table({"a": ["x", "", "y"]}), tmp_path / "a.csv")
    assert read_table(tmp_path / "a.csv").text["a"].to_pylist() == ["x", "", "y"]


def test_text_does_not_fit_npy_but_npz(tmp_path):
    data = pa.table({"x": [1.5, 2.5], "who": ["a", None]})
    with pytest.raises(TableError, match=r"only numbers, but 'who'"):
        write_table(data, tmp_path / "a.npy")
    assert list(tmp_path.iterdir()) == []
    write_table(data, tmp_path / "a.npz")
    with np.load(io.BytesIO((tmp_path / "a.npz").read_bytes())) as file:
        assert file["X"].tolist() == [[1.5], [2.5]]
        assert file["who"].tolist() == ["a", ""]


def test_letters_that_an_encoding_lacks_are_an_error_that_names_them(tmp_path):
    with pytest.raises(TableError, match="'€' cannot be written in latin-1"):
        write_table(pa.table({"x": ["€"]}), tmp_path / "a.csv", encoding="latin-1")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "encoding", ["UTF-16", "utf16", "utf_8_sig", "utf-8-sig", "utf-16-be", "utf-32", "utf-8"]
)
def test_a_mark_is_written_once_however_the_encoding_is_spelled(tmp_path, encoding):
    rows = (1 << 16) + 2  # more than are written at once
    data = pa.table({"x": np.arange(rows), "y": np.arange(rows)})
    write_table(data, tmp_path / "a.csv", encoding=encoding)
    text = (tmp_path / "a.csv").read_bytes().decode(encoding)
    assert "\ufeff" not in text[1:]
    if encoding != "utf-32":  # which is not detected
        table = read_table(tmp_path / "a.csv")
        assert table.names == ("x", "y")
        assert table.data.num_rows == rows
    with pytest.raises(
        TableError, match="`encoding` must be the name of a text encoding, got 'utf-99'"
    ):
        write_table(data, tmp_path / "b.csv", encoding="utf-99")


def test_encodings_with_states_are_written(tmp_path):
    write_table(pa.table({"x": ["日本"]}), tmp_path / "a.csv", encoding="iso-2022-jp")
    assert (tmp_path / "a.csv").read_bytes() == "x\n日本\n".encode("iso-2022-jp")


def test_columns_called_as_the_arrays_of_an_npz_are_kept(tmp_path):
    data = pa.table({"X": ["a", "b"], "n": [1.5, 2.5], "names": ["u", "v"], "X_2": ["c", "d"]})
    write_table(data, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as file:
        found = {key: file[key].tolist() for key in file.files}
    assert found == {
        "X": [[1.5], [2.5]],
        "names": ["n"],
        "X_3": ["a", "b"],
        "names_2": ["u", "v"],
        "X_2": ["c", "d"],
    }
    assert read_table(tmp_path / "a.npz").names == ("n",)


@pytest.mark.parametrize("end", ["npy", "npz"])
def test_whole_numbers_that_would_change_are_refused(tmp_path, end):
    path, long = tmp_path / f"a.{end}", [2**53 + 1, 1]
    for other in (pa.array([0.5, 1]), pa.array([1, 2], pa.uint64())):
        with pytest.raises(TableError, match=r"integers of 'id'.*Choose .csv or .parquet"):
            write_table(pa.table({"x": other, "id": long}), path)
    with pytest.raises(TableError, match="integers of 'id'"):
        write_table(pa.table({"id": [*long, None]}), path)
    assert list(tmp_path.iterdir()) == []
    write_table(pa.table({"id": long, "n": [1, 2]}), path)  # all whole: nothing changes
    assert read_table(path).data.column(0).to_pylist() == long
    write_table(pa.table({"id": [2**53, 1], "x": [0.5, 1]}), path, force=True)
    assert select(read_table(path)).X.tolist() == [[2**53, 0.5], [1, 1]]

"""Folders, several files, names that are nearly right."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import TableError, read_table, select, write_table  # noqa: E402


def file_of(folder, content, name="a.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# --- which files ----------------------------------------------------------------------------------


def test_several_paths_are_one_table(tmp_path):
    paths = [file_of(tmp_path, f"a\n{i}\n", f"p{i}.csv") for i in (3, 1, 2)]
    table = read_table(paths)
    assert table.data["a"].to_pylist() == [3, 1, 2]  # in the order that was given
    assert table.name == f"{paths[0]} and 2 more"
    assert read_table([str(path) for path in paths]).data["a"].to_pylist() == [3, 1, 2]
    assert read_table(paths[:1]).name == str(paths[0])
    folder = tmp_path / "more"
    folder.mkdir()
    file_of(folder, "a\n9\n", "q.csv")
    found = read_table((tmp_path / "p[12].csv", folder), source="from")
    assert found.data["a"].to_pylist() == [1, 2, 9]
    assert found.data["from"].to_pylist()[2] == str(folder / "q.csv")
    with pytest.raises(TableError, match="must name at least one file"):
        read_table([])
    with pytest.raises(TableError, match=r"standard input.*cannot be combined"):
        read_table([paths[0], "-"])


def test_standard_input_alone_may_be_a_sequence(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a\n1\n")))
    assert read_table(["-"]).name == "standard input"


def test_a_readme_beside_tables_is_no_table(tmp_path):
    file_of(tmp_path, "Read me, please.\nThis is, as it were, text.\n", "README.txt")
    file_of(tmp_path, "a,b\n1,2\n")
    (tmp_path / "folder.csv").mkdir()
    assert read_table(tmp_path).data.to_pydict() == {"a": [1], "b": [2]}
    other = tmp_path / "other"
    other.mkdir()
    file_of(other, "a b\n1 2\n", "x.txt")
    file_of(other, "a b\n3 4\n", "y.dat")
    assert read_table(other).data.to_pydict() == {"a": [1, 3], "b": [2, 4]}


def test_a_file_that_is_missing_brings_names_like_it(tmp_path):
    for name in ("a.csv", "b.csv", "c.csv", "d.csv", "e.csv", "f.csv", "wine-quality.csv.gz"):
        file_of(tmp_path, "x\n1\n", name)
    with pytest.raises(TableError, match=r"no file .*. Did you mean 'wine-quality.csv.gz'\?"):
        read_table(tmp_path / "Wine_quality.csv")
    with pytest.raises(TableError, match=r"no file .*. The folder has 'a.csv', .*more"):
        read_table(tmp_path / "quite-something-else")
    missing = tmp_path / "nowhere" / "a.csv"
    with pytest.raises(TableError, match=rf"no file {re.escape(str(missing))}\.?$"):
        read_table(missing)


def test_the_notes_of_all_files_are_kept_once(tmp_path):
    file_of(tmp_path, "x,x\n1,2\n", "p1.csv")
    file_of(tmp_path, "x,x\n3,4\n", "p2.csv")
    file_of(tmp_path, "x;x\n5;6\n", "p3.csv")
    notes = read_table(tmp_path).notes
    assert [note.split(":")[0] for note in notes] == [
        "3 files",
        "read as utf-8, delimiter comma",
        "duplicate column names were changed",
        "read as utf-8, delimiter semicolon",
    ]


# --- writing --------------------------------------------------------------------------------------


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


# --- damage ---------------------------------------------------------------------------------------


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


def test_a_wrong_byte_does_not_end_the_process(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SEVERAL, str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "alive", (done.returncode, done.stderr[-500:])


def test_a_header_of_an_array_that_is_no_python(tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros((2, 2)))
    raw = buffer.getvalue().replace(b"(2, 2)", b"((2, 2")
    with pytest.raises(TableError, match=r"not a \.npy file"):
        read_table(file_of(tmp_path, raw, "a.npy"))

"""Folders, patterns, several files, and names that are nearly right."""

from __future__ import annotations

import io
import re
import sys
from types import SimpleNamespace

import pytest
from helpers.table_files import write_file

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import (  # noqa: E402
    TableError,
    read_table,
)


def test_folders_and_patterns_are_read_in_order_by_names_of_columns(tmp_path):
    write_file(tmp_path, "a,b\n1,2\n", "p1.csv")
    write_file(tmp_path, "b,a\n20,10\nx,30\n", "p2.csv")
    write_file(tmp_path, "not data", ".hidden.csv")
    for path in (tmp_path, tmp_path / "p*.csv"):
        table = read_table(path, source="file")
        assert table.data["a"].to_pylist() == [1, 10, 30]
        assert table.data["b"].to_pylist() == ["2", "20", "x"]  # one text makes it text
        assert table.data["file"].to_pylist()[1].endswith("p2.csv")
        assert "another order" in " ".join(table.notes)
        assert table.where(2) == f"line 3 of {tmp_path / 'p2.csv'}"


def test_files_that_do_not_fit_together_are_named(tmp_path):
    write_file(tmp_path, "a,b\n1,2\n", "p1.csv")
    write_file(tmp_path, "a,c\n1,2\n", "p2.csv")
    with pytest.raises(TableError, match=r"p2.csv lacks 'b' and has 'c' in addition"):
        read_table(tmp_path)
    write_file(tmp_path, "a\tb\n1\t2\n", "p2.tsv")
    with pytest.raises(TableError, match="several formats"):
        read_table(tmp_path / "*.?sv")
    with pytest.raises(TableError, match="no files"):
        read_table(tmp_path / "*.nothing")


def test_several_paths_are_one_table(tmp_path):
    paths = [write_file(tmp_path, f"a\n{i}\n", f"p{i}.csv") for i in (3, 1, 2)]
    table = read_table(paths)
    assert table.data["a"].to_pylist() == [3, 1, 2]  # in the order that was given
    assert table.name == f"{paths[0]} and 2 more"
    assert read_table([str(path) for path in paths]).data["a"].to_pylist() == [3, 1, 2]
    assert read_table(paths[:1]).name == str(paths[0])
    folder = tmp_path / "more"
    folder.mkdir()
    write_file(folder, "a\n9\n", "q.csv")
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
    write_file(tmp_path, "Read me, please.\nThis is, as it were, text.\n", "README.txt")
    write_file(tmp_path, "a,b\n1,2\n")
    (tmp_path / "folder.csv").mkdir()
    assert read_table(tmp_path).data.to_pydict() == {"a": [1], "b": [2]}
    other = tmp_path / "other"
    other.mkdir()
    write_file(other, "a b\n1 2\n", "x.txt")
    write_file(other, "a b\n3 4\n", "y.dat")
    assert read_table(other).data.to_pydict() == {"a": [1, 3], "b": [2, 4]}


def test_a_file_that_is_missing_brings_names_like_it(tmp_path):
    for name in ("a.csv", "b.csv", "c.csv", "d.csv", "e.csv", "f.csv", "wine-quality.csv.gz"):
        write_file(tmp_path, "x\n1\n", name)
    with pytest.raises(TableError, match=r"no file .*. Did you mean 'wine-quality.csv.gz'\?"):
        read_table(tmp_path / "Wine_quality.csv")
    with pytest.raises(TableError, match=r"no file .*. The folder has 'a.csv', .*more"):
        read_table(tmp_path / "quite-something-else")
    missing = tmp_path / "nowhere" / "a.csv"
    with pytest.raises(TableError, match=rf"no file {re.escape(str(missing))}\.$"):
        read_table(missing)


def test_the_notes_of_all_files_are_kept_once(tmp_path):
    write_file(tmp_path, "x,x\n1,2\n", "p1.csv")
    write_file(tmp_path, "x,x\n3,4\n", "p2.csv")
    write_file(tmp_path, "x;x\n5;6\n", "p3.csv")
    notes = read_table(tmp_path).notes
    assert [note.split(":")[0] for note in notes] == [
        "3 files",
        "read as utf-8, delimiter comma",
        "duplicate column names were changed",
        "read as utf-8, delimiter semicolon",
    ]

"""Errors are one message and an exit code; files that exist are kept."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from helpers.cli import write_csv

from partita.cli.command_group import app


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", (), "is empty"),
        ("a,b\n", (), "no rows"),
        ("a,b\n1,2\n", ("-k", "2"), "2 clusters need at least as many rows, got 1 row."),
        ("a,b\n1,2\n", (), "one row to cluster; choosing K needs at least two"),
        ("a,b\nx,y\nu,v\n", ("-k", "1"), "no numeric column to cluster: 'a' (text"),
        ("a,b\n1,2\n3,\n", ("-k", "1", "--raw"), "line 3, column 'b': the value is missing"),
        (
            "a,b\n1,2\n3,nan\n",
            ("-k", "1", "--raw"),
            "line 3, column 'b': the value is missing",
        ),
        ("a,b\n1,2\n3,inf\n", ("-k", "1", "--raw"), "line 3, column 'b': the value is infinite"),
        ("a,b\n1,2\n3,4\n", ("-k", "3"), "3 clusters need at least as many rows, got 2 rows."),
        ("a,b\n1,2\n3,4\n", ("-k", "2:9"), "9 clusters need at least as many rows, got 2 rows."),
        ("a,b\n1,2\n3,4\n", ("-k", "1", "-c", "bb"), "no column 'bb'. Did you mean 'b'?"),
        ("a,b\n1,2\n3,4\n", ("-k", "1", "-x", "c"), "no column 'c'"),
        ("a,b\n1,2\n3,4\n", ("-k", "1", "--id", "c"), "no column 'c'"),
        ("a,b\n1,2\n3,-4\n", ("-k", "1", "-w", "b"), "line 3, column 'b': the weight is negative"),
        ("a,b\n1,2\n3\n", ("-k", "1"), "line 3: 1 cell found"),
        ("a,b\n0,0\n1,1\n", ("-k", "1", "-m", "spherical"), "line 2 has only zeros"),
    ],
)
def test_wrong_data_give_3_and_name_the_file_and_the_place(tmp_path, fails, text, options, words):
    path = write_csv(tmp_path / "data.csv", text)
    code, output = fails("fit", path, *options)
    assert code == 3
    assert words in output
    assert str(path) in output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-k", "0"), "must be at least 1, got 0."),
        (("-k", "many"), "a number, auto, or a range like 2:20"),
        (("-k", "5:2"), "LOW:HIGH with 1 <= LOW < HIGH"),
        (("-k", "3:3"), "LOW:HIGH with 1 <= LOW < HIGH"),
        (("--model", "-"), "only --labels can be printed"),
        (("--report", "-"), "only --labels can be printed"),
        (("--report", "page.pdf"), "must end in .html or .htm, got page.pdf"),
        (("--labels", "out.xlsx"), "got out.xlsx"),
        (("--only-labels",), "--only-labels needs --labels OUT"),
        (("--threads", "5000"), "must be an integer of at least 1 and at most 1024, got 5000."),
        (("-m", "medoids", "--metric", "manhatten"), "Did you mean manhattan?"),
        (("-m", "kernel", "--kernel", "zzz"), "one of rbf, laplacian"),
        (("-k", "-3"), ""),
        (("-m", "kmean"), "'--method' / '-m': must be one of kmeans,"),
        (("--scale", "std"), "must be one of auto, none, standard, robust, got 'std'."),
        (("--missing", "x"), "must be one of auto, error, drop, mean, partial, got 'x'."),
        (("--gamma", "nan"), "must be a number of at least 0, or auto, got nan."),
        (("--halt", "Never()"), "--halt"),
        (("--metric", "cosine"), "--metric needs --method medoids"),
        (("--kernel", "rbf"), "--kernel needs --method kernel"),
        (("--seed", "-1"), "'--seed': must be an integer of at least 0, got -1."),
        (("--n-init", "1.5"), "must be an integer of at least 1, got 1.5."),
        (("--delimiter", "ab"), "single character"),
        (("--decimal", "space"), "must be one of point, comma, or that character, got 'space'."),
        (("--thousands", "x"), "must be one of comma, point, space, apostrophe, or that"),
        (("--skip-rows", "-1"), "an integer of at least 0 and at most 2147483648, got -1."),
        (("--nothing",), "--nothing"),
        (("--labels", "-", "--json"), "both print"),
    ],
)
def test_a_wrong_command_gives_2(tmp_path, fails, options, words):
    code, output = fails("fit", write_csv(tmp_path / "data.csv", "a,b\n1,2\n3,4\n"), *options)
    assert code == 2
    assert words in output


def test_files_that_cannot_be_read(tmp_path, fails):
    code, output = fails("fit", tmp_path / "no.csv")
    assert code == 3
    assert f"There is no file {tmp_path / 'no.csv'}" in output
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and then nothing")
    code, output = fails("fit", tmp_path / "a.parquet")
    assert (code, "a.parquet is not a parquet file" in output) == (3, True)
    np.save(tmp_path / "a.npy", np.zeros((100, 3)))
    whole = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(whole[: len(whole) // 2])
    code, output = fails("fit", tmp_path / "a.npy")
    assert (code, "a.npy" in output, "not a .npy file" in output) == (3, True, True)


@pytest.mark.parametrize("content", [b"", b"not a model", b"PK\x03\x04"])
def test_models_that_cannot_be_read(tmp_path, fails, content):
    data, model = write_csv(tmp_path / "data.csv", "a\n1\n"), tmp_path / "m.partita"
    model.write_bytes(content)
    for words in (
        ("inspect", model),
        ("predict", data, "--model", model),
        ("report", data, "--model", model, "--out", tmp_path / "r.html"),
    ):
        code, output = fails(*words)
        assert code == 3
        assert str(model) in output
    code, output = fails("inspect", tmp_path / "none.partita")
    assert code == 3
    assert "none.partita" in output


def test_outputs_that_cannot_be_written_are_said_before_the_work(tmp_path, fails):
    data = write_csv(tmp_path / "data.csv", "a,b\n1,2\n3,4\n")
    code, output = fails("fit", data, "-k", "1", "--labels", tmp_path / "no" / "out.csv")
    assert (code, "there is no folder" in output) == (3, True)
    code, output = fails("fit", data, "-k", "1", "--model", tmp_path)
    assert (code, "is a folder" in output) == (3, True)
    code, output = fails("fit", data, "-k", "1", "--labels", data / "out.csv")
    assert code == 3


def test_a_missing_package_is_named(tmp_path, fails, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    data = write_csv(tmp_path / "data.csv", "a,b\n1,2\n3,4\n")
    code, output = fails("fit", data, "-k", "1", "--report", tmp_path / "a.html")
    assert (code, "pip install 'partita[report]'" in output) == (2, True)


def test_a_bug_is_called_one_and_debug_shows_it(tmp_path, fails, monkeypatch):
    def broken(*_):
        raise RuntimeError("oh")

    monkeypatch.setattr("partita.cli.prepared_data.read", broken)
    data = write_csv(tmp_path / "data.csv", "a\n1\n")
    code, output = fails("fit", data)
    assert (code, "RuntimeError: oh" in output, "--debug" in output) == (1, True, True)
    with pytest.raises(RuntimeError):
        app(["fit", str(data), "--debug"])


def test_no_permission_gives_3_before_the_work(tmp_path, fails, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, *_, **__: str(path) != str(tmp_path))
    data = write_csv(tmp_path / "a.csv", "x\n1\n2\n")
    code, output = fails("fit", data, "-k", 2, "--labels", tmp_path / "out.csv")
    assert code == 3
    assert f"{tmp_path / 'out.csv'} cannot be written: no permission" in output


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to any folder")
def test_a_folder_without_permission_gives_3(tmp_path, fails):
    data, locked = write_csv(tmp_path / "a.csv", "x\n1\n2\n"), tmp_path / "locked"
    locked.mkdir(mode=0o555)
    code, output = fails("fit", data, "-k", 2, "--labels", locked / "out.csv")
    assert code == 3
    assert f"{locked / 'out.csv'} cannot be written: no permission" in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "a.csv/b"), "a.csv/b cannot be read: Not a directory."),
        (("fit", "nowhere.csv"), "nowhere.csv is a link to a file that does not exist."),
        (("fit", "a.csv", "--labels", "a.csv/x.csv"), "a.csv/x.csv cannot be written: Not a dir"),
        (
            ("fit", "a.csv", "--labels", "no/x.csv"),
            "no/x.csv cannot be written: there is no",
        ),
        (("fit", "a.csv", "--labels", "loop"), "loop cannot be written: Too many levels"),
        (("fit", "a.csv", "--encoding", "x"), "--encoding must be the name of a text encoding"),
        (("inspect", "folder"), "folder is a folder, not a model file"),
        (("inspect", "loop"), "loop cannot be read: Too many levels"),
        (("demo", "a.csv"), "a.csv is not a folder. Choose another name."),
        (("demo", "a.csv/x"), "a.csv/x cannot be created: Not a directory."),
    ],
)
def test_errors_of_the_system_are_worded(tmp_path, monkeypatch, fails, words, message):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "a.csv", "x,y\n1,2\n3,4\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "nowhere.csv").symlink_to("nothing")
    (tmp_path / "loop").symlink_to("loop")
    code, output = fails(*words)
    assert code in (2, 3)
    assert output.startswith(f"Error: {message}")

"""The command line says and writes what the Python interface computes, on every format."""

from __future__ import annotations

import ast
import io
import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers.paths import ROOT
from sklearn.datasets import load_wine, make_blobs

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")
pytest.importorskip("typer", reason="typer is not installed: no command line")

from partita import (  # noqa: E402
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
    choose_k,
    diagnosis,
    save,
)
from partita._common.errors import Setting  # noqa: E402
from partita.cli import app  # noqa: E402
from partita.cli.finding_advice import ADVICE, advice_for  # noqa: E402
from partita.cli.halt_option import CRITERIA, HaltError, parse_halt  # noqa: E402
from partita.cli.requests import KERNELS, METRICS  # noqa: E402
from partita.cli.show_results import as_json, clean  # noqa: E402
from partita.diagnosis.diagnose import _CHECKS as CHECKS  # noqa: E402
from partita.model_file import read_model  # noqa: E402
from partita.tables import Scaling, read_table, select, write_table  # noqa: E402

SPELLED = ("data", "summary", "scaling")  # whose parts docs/cli.md lists one by one
FORMATS = ("csv", "tsv", "parquet", "feather", "npy", "npz")
DOCS = ROOT / "docs" / "cli.md"


@pytest.fixture
def partita(capsys, monkeypatch):
    """Run a command in this process: its exit code, stdout and stderr."""

    def run(*words, stdin=b"", code=0):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            app([str(word) for word in words], prog_name="partita")
        out, err = capsys.readouterr()
        assert (ended.value.code or 0) == code, f"{out}\n{err}"
        return out if code == 0 else err

    return run


@pytest.fixture(scope="module")
def blobs():
    X, _ = make_blobs(120, centers=3, n_features=3, random_state=7)
    return X


@pytest.fixture
def file(tmp_path, blobs):
    path = tmp_path / "blobs.csv"
    table = {"who": [f"r{i:03}" for i in range(len(blobs))]}
    write_table(pa.table(table | dict(zip("xyz", blobs.T.copy(), strict=True))), path)
    return path


def clusters_in(path):
    return np.array(read_table(path).data["cluster"].to_pylist())


# --- the same as the Python interface -------------------------------------------------------------


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_labels_and_objective_are_those_of_the_api_on_every_format(
    partita, tmp_path, blobs, kind, dtype
):
    X = blobs.astype(dtype)
    data, out, model = tmp_path / f"a.{kind}", tmp_path / f"b.{kind}", tmp_path / "m.partita"
    write_table(pa.table([X[:, t].copy() for t in range(3)], names=["x", "y", "z"]), data)
    found = json.loads(
        partita("fit", data, "-k", 4, "--seed", 3, "--labels", out, "--model", model, "--json")
    )
    rows = select(read_table(data)).X
    expected = KMeans(4, random_state=3).fit(rows)
    assert found["summary"]["objective"] == expected.inertia_
    column = -1 if kind == "npy" else "cluster"
    written = read_table(out).data.column(column if kind != "npy" else 3).to_pylist()
    np.testing.assert_array_equal(written, expected.labels_)
    # and predict, from the file, gives them again
    again = json.loads(partita("predict", data, "--model", model, "--json"))
    np.testing.assert_array_equal(again["labels"], expected.labels_)


@pytest.mark.parametrize(
    ("words", "estimator"),
    [
        ([], KMeans(3, random_state=0)),
        (["--n-init", 4, "--max-iter", 2], KMeans(3, random_state=0, n_init=4, max_iter=2)),
        (["--method", "mini-batch"], MiniBatchKMeans(3, random_state=0)),
        (["--method", "spherical"], SphericalKMeans(3, random_state=0)),
        (["--method", "medoids", "--metric", "manhattan"],
         KMedoids(3, metric="manhattan", random_state=0)),
        (["--method", "kernel", "--gamma", 0.05], KernelKMeans(3, gamma=0.05, random_state=0)),
    ],
)  # fmt: skip
def test_every_member_of_the_family(partita, tmp_path, file, blobs, words, estimator):
    out, model = tmp_path / "out.csv", tmp_path / "m.partita"
    found = json.loads(
        partita("fit", file, "-k", 3, *words, "--labels", out, "--model", model, "--json")
    )
    estimator.fit(blobs)
    assert found["summary"]["objective"] == estimator.inertia_
    np.testing.assert_array_equal(clusters_in(out), estimator.labels_)
    again = partita("predict", file, "--model", model, "--only-labels")
    np.testing.assert_array_equal(again.split()[1:], estimator.predict(blobs).astype(str))


@pytest.mark.parametrize("scale", ["standard", "robust"])
def test_weights_and_scales_are_those_of_the_api(partita, tmp_path, blobs, scale):
    w = np.arange(len(blobs)) % 4
    data, out, model = tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "m.partita"
    write_table(pa.table({"x": blobs[:, 0], "y": blobs[:, 1] * 1e3, "w": w}), data)
    found = json.loads(
        partita("fit", data, "-k", 3, "--weight", "w", "--scale", scale, "--labels", out,
                "--model", model, "--json")
    )  # fmt: skip
    rows = np.column_stack([blobs[:, 0], blobs[:, 1] * 1e3])
    scaling = Scaling.fit(rows, scale, w)
    expected = KMeans(3, random_state=0).fit(scaling.apply(rows), sample_weight=w)
    assert found["summary"]["objective"] == expected.inertia_
    np.testing.assert_array_equal(clusters_in(out), expected.labels_)
    again = json.loads(partita("predict", data, "--model", model, "--json"))
    np.testing.assert_array_equal(again["labels"], expected.labels_)


def test_a_choice_of_k_is_that_of_the_api(partita, tmp_path, file, blobs):
    out = tmp_path / "out.csv"
    found = json.loads(partita("fit", file, "--k", "2:6", "--labels", out, "--json"))
    sweep = choose_k(blobs, range(2, 7), estimator=KMeans(random_state=0), random_state=0)
    assert found["sweep"]["best_k"] == sweep.best_k == found["summary"]["n_clusters"]
    np.testing.assert_array_equal(clusters_in(out), sweep.model().labels_)
    alone = json.loads(partita("choose-k", file, "-k", "2:6", "--json"))
    assert alone["sweep"] == found["sweep"]
    assert alone["sweep"]["table"]["k"] == [2, 3, 4, 5, 6]
    text = partita("choose-k", file, "-k", "2:6")
    assert sweep.verdict in text
    assert "<" in text
    assert max(map(len, text.splitlines())) <= 80


def test_standard_input_folders_and_patterns(partita, tmp_path, file, blobs):
    expected = KMeans(3, random_state=0).fit(blobs).labels_
    table = partita("fit", "-", "-k", 3, "--labels", "-", stdin=file.read_bytes())
    rows = [line.split(",") for line in table.splitlines()]
    assert rows[0] == ["who", "x", "y", "z", "cluster"]
    np.testing.assert_array_equal([row[-1] for row in rows[1:]], expected.astype(str))
    lines = file.read_text().splitlines(keepends=True)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "1.csv").write_text("".join(lines[:50]))
    (tmp_path / "parts" / "2.csv").write_text(lines[0] + "".join(lines[50:]))
    for data in (tmp_path / "parts", tmp_path / "parts" / "*.csv"):
        found = partita("fit", data, "-k", 3, "--labels", "-", "--only-labels", "--quiet")
        np.testing.assert_array_equal(found.split()[1:], expected.astype(str))


# --- what is written ------------------------------------------------------------------------------


def test_a_copy_changes_no_cell_and_keeps_delimiter_and_encoding(partita, tmp_path):
    text = 'id;größe;note\n007;1,50;"a;b"\n008;2,5;é\n009;9,0;\n010;9,5;x\n'
    (tmp_path / "a.csv").write_bytes(text.encode("cp1252"))
    partita("fit", tmp_path / "a.csv", "-k", 2, "--id", "id", "--labels", tmp_path / "b.csv")
    lines = (tmp_path / "b.csv").read_bytes().decode("cp1252").splitlines()
    assert [line.rpartition(";")[0] for line in lines] == text.splitlines()
    assert lines[0].endswith(";cluster")
    partita("fit", tmp_path / "a.csv", "-k", 2, "--id", "id", "--only-labels", "--labels",
            tmp_path / "c.csv")  # fmt: skip
    assert (tmp_path / "c.csv").read_text().split()[:2] == [
        "id;cluster",
        lines[1][:4] + lines[1][-1],
    ]


def test_rows_without_a_value_are_dropped_or_filled(partita, tmp_path):
    data, model = tmp_path / "a.csv", tmp_path / "m.partita"
    data.write_text("x,y\n1,1\n,2\n1,3\n9,9\n9,8\n")
    assert "line 3" in partita("fit", data, "-k", 2, code=3)
    partita("fit", data, "-k", 2, "--missing", "drop", "--labels", tmp_path / "b.csv")
    lines = (tmp_path / "b.csv").read_text().splitlines()
    assert lines[2] == ",2,"
    assert lines[1].rpartition(",")[2] in "01"
    partita("fit", data, "-k", 2, "--missing", "mean", "--model", model)
    found = json.loads(partita("predict", data, "--model", model, "--json"))
    assert found["data"]["filled"] == 1
    assert len(found["labels"]) == 5
    dropped = json.loads(partita("predict", data, "--model", model, "--missing", "drop", "--json"))
    assert dropped["rows"] == [1, 3, 4, 5]


def test_a_column_cluster_that_exists_is_kept(partita, tmp_path):
    (tmp_path / "a.csv").write_text("x,cluster\n1,a\n2,b\n9,c\n")
    partita("fit", tmp_path / "a.csv", "-k", 2, "--labels", tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text().startswith("x,cluster,cluster_2\n1,a,")


def test_predict_finds_columns_by_name_in_any_order(partita, tmp_path, file):
    model = tmp_path / "m.partita"
    partita("fit", file, "-k", 3, "--scale", "standard", "--model", model)
    expected = json.loads(partita("predict", file, "--model", model, "--json"))["labels"]
    data = read_table(file).data
    write_table(data.select(["z", "who", "x", "y"]), tmp_path / "other.parquet")
    again = json.loads(partita("predict", tmp_path / "other.parquet", "--model", model, "--json"))
    assert again["labels"] == expected
    np.save(tmp_path / "bare.npy", np.column_stack([data[c].to_numpy() for c in "xyz"]))
    bare = json.loads(partita("predict", tmp_path / "bare.npy", "--model", model, "--json"))
    assert bare["labels"] == expected
    write_table(data.select(["who", "x"]), tmp_path / "less.csv")
    said = partita("predict", tmp_path / "less.csv", "--model", model, code=3)
    assert "lacks 'y', 'z'" in said
    assert "less.csv" in said


def test_nothing_is_overwritten_without_force(partita, tmp_path, file):
    out = tmp_path / "out.csv"
    for option, name in (("--labels", out), ("--model", out), ("--report", tmp_path / "out.html")):
        name.write_text("mine")
        said = partita("fit", file, "-k", 2, option, name, code=2)
        assert f"{name.name} already exists" in said
        assert "--force" in said
        assert name.read_text() == "mine"
    partita("fit", file, "-k", 2, "--labels", out, "--force")
    assert out.read_text().startswith("who,x")
    said = partita(
        "fit", file, "-k", 2, "--labels", tmp_path / "q", "--model", f"{tmp_path}/./q", code=2
    )
    assert "twice" in said
    partita("fit", file, "-k", 2, "--labels", "/dev/null", "--model", "/dev/null")


def test_inspect_says_what_fit_made(partita, tmp_path, file, blobs):
    model = tmp_path / "m.partita"
    partita("fit", file, "-k", 3, "--scale", "standard", "--model", model, "--quiet")
    found = json.loads(partita("inspect", model, "--json"))
    scaling = Scaling.fit(blobs, "standard")
    expected = KMeans(3, random_state=0).fit(scaling.apply(blobs))
    assert found["objective"] == expected.inertia_
    assert found["features"] == ["x", "y", "z"]
    assert found["weights"] == expected.stats_.weight.tolist()
    np.testing.assert_allclose(found["centers"], scaling.undo(expected.cluster_centers_))
    assert found["scaling"]["kind"] == "standard"
    assert found["made_by"].startswith("partita fit ")
    text = partita("inspect", model)
    assert "KMeans, 3 clusters" in text
    assert "standard" in text


def test_reports_are_written(partita, tmp_path, file):
    pytest.importorskip("jinja2", reason="jinja2 is not installed: no report")
    model, page = tmp_path / "m.partita", tmp_path / "a.html"
    said = partita("fit", file, "-k", 3, "--id", "who", "--model", model, "--report", page)
    assert str(page) in said
    assert "<html" in page.read_text()
    partita("report", file, "--model", model, "--out", tmp_path / "b.html", "--id", "who")
    assert "<html" in (tmp_path / "b.html").read_text()
    partita("choose-k", file, "-k", "2:4", "--report", tmp_path / "c.html")
    assert "<html" in (tmp_path / "c.html").read_text()


def test_the_demo_ends_with_a_report(partita, tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed: no report")
    said = partita("demo", tmp_path / "demo")
    assert str(tmp_path / "demo" / "wine.html") in said.splitlines()[-1]
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert names == {"wine.csv", "wine-clusters.csv", "wine.partita", "wine.html"}
    assert len(set(clusters_in(tmp_path / "demo" / "wine-clusters.csv"))) == 3
    np.testing.assert_array_equal(
        select(read_table(tmp_path / "demo" / "wine.csv"), id="wine").X, load_wine().data
    )
    assert "exists" in partita("demo", tmp_path / "demo", code=2)


# --- what is said ---------------------------------------------------------------------------------


def test_results_go_to_stdout_and_remarks_to_stderr(capsys, file):
    for words, out_is_empty in ((["--quiet"], True), ([], False)):
        with pytest.raises(SystemExit):
            app(["fit", str(file), "-k", "3", *words])
        out, err = capsys.readouterr()
        assert (out == "") == out_is_empty
        assert ("not used: who" in err) != out_is_empty
        assert "\x1b" not in out + err  # no terminal: no colours, no bars


def test_a_hostile_file_cannot_speak_to_the_terminal(capsys, tmp_path):
    assert clean("a\x1b[31mb\n\u202ec\x07" + "d" * 99, 12) == "a [31mb…dddd"
    (tmp_path / "a.csv").write_text("[red]x\x1b[31m,b\x1b[7m\n1,\x1b]0;t\x07\n2,[bold]\n9,c\n")
    for words in (("fit", "-k", "2"), ("choose-k", "-k", "2:3")):
        with pytest.raises(SystemExit):
            app([words[0], str(tmp_path / "a.csv"), *words[1:]])
        out, err = capsys.readouterr()
        assert "\x1b" not in out + err
        assert "not used: b" in err
        assert ("[red]x" in out) == (words[0] == "fit")


def keys(value, path=""):
    if isinstance(value, dict):
        for key, part in value.items():
            yield f"{path}{key}"
            if path.count(".") < 1:
                yield from keys(part, f"{path}{key}.")


@pytest.mark.parametrize("command", ["fit", "predict", "choose-k", "inspect"])
def test_the_object_of_json_is_the_documented_one(partita, tmp_path, file, command):
    model = tmp_path / "m.partita"
    partita("fit", file, "-k", 3, "--missing", "mean", "--scale", "standard", "--model", model)
    words = {
        "fit": ("fit", file, "-k", "2:4", "--labels", tmp_path / "o.csv"),
        "predict": ("predict", file, "--model", model),
        "choose-k": ("choose-k", file, "-k", "2:4"),
        "inspect": ("inspect", model),
    }[command]
    found = json.loads(partita(*words, "--json"))
    section = re.search(rf"### `{command}`\n(.*?)(?=\n#|\Z)", DOCS.read_text(), re.S)[1]
    first = re.findall(r"^\|([^|]*)\|", section, re.M)
    documented = {key for cell in first for key in re.findall(r"`([\w.]+)`", cell)}
    spelled = SPELLED if command == "fit" else ("scaling",)  # elsewhere: "as in fit"
    told = {key for key in keys(found) if "." not in key or key.split(".")[0] in spelled}
    assert {key for key in keys(found) if key in documented} == documented
    assert told - documented == set()
    assert found["command"] == command


def test_json_holds_no_nan(partita, tmp_path, capsys):
    as_json({"a": [math.nan, np.float32(np.inf)], "b": np.array([1.5, np.nan])})
    assert json.loads(capsys.readouterr().out) == {"a": [None, None], "b": [1.5, None]}
    (tmp_path / "a.csv").write_text("x\n1\n1\n1\n")
    text = partita("fit", tmp_path / "a.csv", "-k", 1, "--json")
    assert "NaN" not in text
    assert "Infinity" not in text
    json.loads(text)


def test_help_has_examples_for_every_command(partita):
    for command in ("fit", "predict", "choose-k", "inspect", "report", "demo"):
        text = partita(command, "--help")
        assert "Examples" in text
        assert f"partita {command}" in text
    assert partita("--version").startswith("partita 0.")


def test_help_answers_without_loading_anything_heavy():
    heavy = "numpy", "scipy", "sklearn", "pyarrow", "narwhals", "matplotlib", "jinja2"
    code = (
        "import sys, partita.cli\n"
        "try:\n    partita.cli.app(['fit', '--help'], prog_name='partita')\n"
        "except SystemExit: pass\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_completion_is_there():
    done = subprocess.run(
        [sys.executable, "-m", "partita"],
        env={**os.environ, "_PARTITA_COMPLETE": "complete_bash", "COMP_WORDS": "partita ch",
             "COMP_CWORD": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "choose-k" in done.stdout


# --- halting --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "RelDecrease(1e-4) | Deadline(60)",
        "MaxIter(300) | SamePartition() | (RelDecrease(0.0001) & Deadline(60))",
        "(Shift(0.5) | Target(-3)) & Decrease(0)",
        "((MaxIter(1)))",
        "Deadline ( .5 )",
    ],
)
def test_what_is_parsed_says_the_same_again(text):
    found = parse_halt(text)
    assert repr(parse_halt(repr(found))) == repr(found)


def test_and_binds_closer_than_or():
    assert repr(parse_halt("MaxIter(1) | MaxIter(2) & MaxIter(3)")) == (
        "MaxIter(1) | (MaxIter(2) & MaxIter(3))"
    )


@pytest.mark.parametrize(
    "text",
    ["", "MaxIter", "MaxIter(", "MaxIter()", "MaxIter(1.5)", "SamePartition(3)", "Deadline(-1)",
     "|", "MaxIter(1) |", "MaxIter(1) MaxIter(2)", "When(1)", "__import__('os')", "MaxIter(1); x",
     "Halt()", "AnyOf(1)", "(" * 500, "MaxIter(1, 2)", "MaxIter(0)", "Deadline(nan)", "maxiter(1)"],
)  # fmt: skip
def test_anything_else_is_refused_with_the_names_that_are_known(text):
    with pytest.raises(HaltError) as caught:
        parse_halt(text)
    assert all(name in str(caught.value) for name in CRITERIA)


def test_halting_and_strict(partita, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "a.npy", rng.normal(size=(3000, 2)))
    said = partita("fit", tmp_path / "a.npy", "-k", 20, "--max-iter", 2, "--strict", code=4)
    assert "limit of 2 iterations" in said
    partita("fit", tmp_path / "a.npy", "-k", 20, "--max-iter", 2)
    partita("fit", tmp_path / "a.npy", "-k", 20, "--strict", "--halt", "RelDecrease(0.1)")
    limits = "MaxIter(1) | Deadline(60)"
    assert partita("fit", tmp_path / "a.npy", "-k", 20, "--strict", "--halt", limits, code=4)
    assert partita("fit", tmp_path / "a.npy", "-k", 20, "--strict", "--halt", "Deadline(0)", code=4)
    said = partita("fit", tmp_path / "a.npy", "-k", 20, "--halt", "Never(1)", code=2)
    assert "--halt" in said


def test_rows_without_names_are_taken_in_the_order_of_the_file(partita, tmp_path, blobs):
    plain, named = tmp_path / "plain.csv", tmp_path / "named.csv"
    lines = "".join(f"{a!r},{b!r},{c!r}\n" for a, b, c in (blobs * [1, 5, 25]).tolist())
    plain.write_text(lines)
    named.write_text("x,y,z\n" + lines)
    for first, columns in ((plain, "c2,c0,c1"), (named, "z,x,y")):
        model = tmp_path / f"{first.stem}.partita"
        partita("fit", first, "-k", 3, "-c", columns, "--model", model)
        fitted = json.loads(partita("predict", first, "--model", model, "--json"))
        found = json.loads(partita("predict", plain, "--model", model, "--json"))
        assert found["labels"] == fitted["labels"]
        assert len(set(found["labels"])) == 3
    assert "taken for 'x', 'y', 'z', in this order" in " ".join(found["data"]["notes"])


def test_models_of_python_label_files(partita, tmp_path, file, blobs):
    frame = pd.DataFrame(blobs, columns=["x", "y", "z"])
    for rows in (frame, blobs):
        model = KMeans(3, random_state=0).fit(rows)
        save(model, tmp_path / "m.partita", force=True)
        frame.to_csv(tmp_path / "a.csv", index=False)
        found = json.loads(
            partita("predict", tmp_path / "a.csv", "--model", tmp_path / "m.partita", "--json")
        )
        assert found["labels"] == model.labels_.tolist()
        assert found["warnings"] == []


def test_a_file_that_cannot_be_written_keeps_no_other_from_it(partita, tmp_path, file):
    labels, model, page = tmp_path / "l.npy", tmp_path / "m.partita", tmp_path / "r.html"
    said = partita(
        "fit", file, "-k", 3, "--labels", labels, "--model", model, "--report", page, code=3
    )
    assert "only numbers, but 'who'" in said
    assert not labels.exists()
    assert read_model(model).n_clusters == 3
    assert "3 clusters" in page.read_text()


def test_means_are_filled_in_only_if_the_model_has_them(partita, tmp_path, file):
    model, gaps = tmp_path / "m.partita", tmp_path / "gaps.csv"
    header, first, *_ = file.read_text().splitlines()
    gaps.write_text(f"{header}\n{first}\n{',' * header.count(',')}\n")
    partita("fit", file, "-k", 3, "--model", model)
    for command in ("predict", "report"):
        more = ("--out", tmp_path / "r.html") if command == "report" else ()
        said = partita(command, gaps, "--model", model, *more, code=3)
        assert "--missing drop" in said
        assert "--missing mean" not in said  # the model has no means
        assert "missing=" not in said
        said = partita(command, gaps, "--model", model, "--missing", "mean", *more, code=3)
        assert "holds no means" in said
        partita(command, gaps, "--model", model, "--missing", "drop", *more)


def test_predict_says_how_many_rows_each_cluster_has(partita, tmp_path, file):
    model = tmp_path / "m.partita"
    partita("fit", file, "-k", 3, "--model", model)
    said = partita("predict", file, "--model", model, "--labels", tmp_path / "out.csv")
    sizes = np.bincount(read_model(model).labels_)
    assert ", ".join(f"cluster {j}: {n}" for j, n in enumerate(sizes)) in said


def test_many_clusters_do_not_fill_the_screen(partita, tmp_path):
    rows = np.random.default_rng(0).random((300, 2))
    write_table(pa.table({"a": rows[:, 0], "b": rows[:, 1]}), tmp_path / "a.csv")
    said = partita("fit", tmp_path / "a.csv", "-k", 60)
    assert "and 40 smaller ones" in said
    assert len(said.splitlines()) < 80
    assert "(nothing was saved; --labels, --model and --report write files)" in said


def shell(command, **more):
    """A command line with pipes and closed streams: its exit code by PIPESTATUS, and stderr."""
    words = f"{sys.executable} -m partita {command}"
    return subprocess.run(["bash", "-c", words], capture_output=True, text=True, **more)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_streams_that_close_or_lack_letters(file):
    done = shell(f"fit {file} -k 3 --labels - | head -n 1 > /dev/null; exit ${{PIPESTATUS[0]}}")
    assert (done.returncode, done.stderr) in ((141, ""), (0, ""))  # it may be faster than head
    for closed in ("fit - -k 2 <&-", f"fit {file} -k 3 >&-", f"predict {file} --model no 2>&-"):
        done = shell(closed)
        assert "Traceback" not in done.stderr
        assert done.returncode == (0 if ">&-" in closed and "2>" not in closed else 3)
    done = shell(f"fit {file} -k 3", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="there is no /dev/stdout")
def test_labels_can_go_into_a_pipe(file):
    done = shell(f"fit {file} -k 3 -q --labels /dev/stdout | tail -n +2 | wc -l")
    assert done.stdout.strip() == "120", done.stderr


def test_messages_cannot_speak_to_a_terminal(partita, tmp_path):
    said = partita("fit", tmp_path / "no\x1b]0;pwned\x07.csv", "-k", 3, code=3)
    assert "\x1b" not in said
    assert "pwned" in said


def test_several_files_are_one_table(partita, tmp_path, file):
    header, *lines = file.read_text().splitlines(keepends=True)
    parts = [tmp_path / f"part-{i}.csv" for i in range(3)]
    for i, part in enumerate(parts):
        part.write_text("".join([header, *lines[40 * i : 40 * (i + 1)]]))
    whole = json.loads(partita("fit", file, "-k", 3, "--json"))["summary"]
    found = json.loads(partita("fit", *parts, "-k", 3, "--json", "--labels", tmp_path / "out.csv"))
    assert found["summary"]["objective"] == whole["objective"]
    assert found["data"]["rows"] == 120
    assert found["data"]["name"] == f"{parts[0]} and 2 more"
    assert read_table(tmp_path / "out.csv").data.num_rows == 120


def test_lines_end_in_a_copy_as_they_did(partita, tmp_path):
    data, out = tmp_path / "a.csv", tmp_path / "b.csv"
    data.write_bytes(b"who;x\r\na;1,5\r\nb;2,5\r\nc;9\r\n")
    partita("fit", data, "-k", 2, "--labels", out)
    assert re.fullmatch(rb"who;x;cluster\r\n(\w;[\d,]+;[01]\r\n){3}", out.read_bytes())
    said = partita("fit", data, "-k", 2, "-q", "--labels", "-")
    assert said.startswith("who;x;cluster")


def test_a_column_that_is_nearly_numbers_is_said_apart(tmp_path, capsys):
    rows = "".join(f"p{i},{i % 7},{'unknown' if i == 30 else i * 3 % 11}\n" for i in range(60))
    (tmp_path / "a.csv").write_text("who,age,income\n" + rows)
    with pytest.raises(SystemExit):
        app(["fit", str(tmp_path / "a.csv"), "-k", "2"])
    err = capsys.readouterr().err
    assert "Note: income is NOT used: " in err
    assert "59 of 60 values are numbers, but not 'unknown' in line 32" in err
    assert "not used: who" in err


def test_the_report_says_what_the_terminal_says_of_the_data(partita, tmp_path):
    rows = "".join(f"{i},{i % 7},{'?' if i % 9 else 'x'},{i * 3 % 11}\n" for i in range(60))
    (tmp_path / "a.csv").write_text("number,age,text,w\n" + rows)
    model, page = tmp_path / "m.partita", tmp_path / "a.html"
    partita("fit", tmp_path / "a.csv", "-k", 2, "-w", "w", "--model", model, "--report", page)
    assert "Number looks like a row number or id, and is used as a feature" in page.read_text()
    assert "of weight" in partita("fit", tmp_path / "a.csv", "-k", 2, "-w", "w")
    words = ("report", tmp_path / "a.csv", "--model", model, "--out", page, "--force")
    partita(*words)
    text = page.read_text()
    assert "The model was fitted with weights, and this page is without them" in text
    assert "The model was made by <code>partita fit " in text
    assert "partita report " in text
    partita(*words, "--weight", "w")
    assert "without them" not in page.read_text()
    assert "cannot be a feature too" in partita(
        "fit", tmp_path / "a.csv", "-k", 2, "-w", "w", "-c", "w,age", code=3
    )


def test_names_with_commas_are_found_in_a_list(partita, tmp_path):
    (tmp_path / "a.csv").write_text(
        '"Weight, kg",height,"a,b,c",x\n' + "1,2,3,4\n5,6,7,9\n8,9,1,3\n"
    )
    for given in ("Weight, kg,height,a,b,c", "height, a,b,c ,Weight, kg"):
        found = json.loads(partita("fit", tmp_path / "a.csv", "-k", 2, "-c", given, "--json"))
        assert found["data"]["features"] == ["Weight, kg", "height", "a,b,c"]
    assert "no column 'kg'" in partita("fit", tmp_path / "a.csv", "-k", 2, "-c", "kg,x", code=3)


def test_the_index_of_a_frame_names_the_labels(partita, tmp_path, blobs):
    frame = pd.DataFrame(blobs, columns=["x", "y", "z"], index=[f"s{i}" for i in range(120)])
    frame.to_parquet(tmp_path / "a.parquet")
    out = tmp_path / "out.parquet"
    partita("fit", tmp_path / "a.parquet", "-k", 3, "--only-labels", "--labels", out)
    data = read_table(out).data
    assert data.num_columns == 2
    assert data.column(0).to_pylist() == frame.index.tolist()


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_a_copy_keeps_categories(partita, tmp_path, kind):
    size = pd.Categorical(["s", "l", "m", "s"] * 5, categories=["s", "m", "l"], ordered=True)
    frame = pd.DataFrame({"size": size, "x": np.arange(20.0) ** 2})
    data, out = tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"
    getattr(frame, f"to_{kind}")(data)
    partita("fit", data, "-k", 2, "--labels", out)
    copy = getattr(pd, f"read_{kind}")(out)
    pd.testing.assert_frame_equal(copy[["size", "x"]], frame)
    partita("fit", data, "-k", 2, "--labels", tmp_path / "c.csv")
    assert read_table(tmp_path / "c.csv").data["size"].to_pylist() == list(size)


def test_directions_have_no_units(partita, tmp_path, file):
    model = tmp_path / "m.partita"
    partita("fit", file, "-k", 3, "-m", "spherical", "-s", "standard", "--model", model)
    centers = np.array(json.loads(partita("inspect", model, "--json"))["centers"])
    assert np.allclose((centers**2).sum(axis=1), 1)
    assert "direction" in partita("inspect", model)


@pytest.mark.filterwarnings("ignore:The kernel is not positive")
def test_kernels_and_metrics_are_known_to_their_members(blobs):
    rows = np.abs(blobs[:40])
    for name in KERNELS:
        KernelKMeans(2, kernel=name, random_state=0).fit(rows)
    for name in METRICS:
        KMedoids(2, metric=name, random_state=0).fit(rows > 3 if name == "jaccard" else rows)


def test_no_output_replaces_what_is_read(partita, tmp_path, file):
    before, model = file.read_bytes(), tmp_path / "m.partita"
    said = partita("fit", file, "-k", 2, "--model", f"{tmp_path}/./{file.name}", "-f", code=2)
    assert "is read by this command" in " ".join(said.replace("│", " ").split())
    partita("fit", file, "-k", 2, "--model", model)
    partita("predict", file, "--model", model, "--labels", model, "-f", code=2)
    partita("fit", file, "-k", 2, "--labels", "", code=2)
    partita("predict", file, "--model", model, "--labels", "-", "--json", code=2)
    assert "The path of the data is empty" in partita("fit", "", "-k", 2, code=3)
    assert file.read_bytes() == before
    assert read_model(model).n_clusters == 2


def test_a_limit_of_passes_is_no_convergence(partita, tmp_path):
    rows = np.random.default_rng(0).random((5000, 3))
    np.save(tmp_path / "a.npy", rows)
    words = ("fit", tmp_path / "a.npy", "-k", 8, "-m", "mini-batch", "--max-iter", 1, "--n-init", 1)
    assert json.loads(partita(*words, "--json"))["converged"] is False
    partita(*words, "--strict", code=4)


def test_sparse_medoids_are_inspected(partita, tmp_path):
    rows = sp.random(60, 8, 0.3, format="csr", random_state=0)
    model = KMedoids(3, random_state=0).fit(rows)
    save(model, tmp_path / "m.partita")
    found = json.loads(partita("inspect", tmp_path / "m.partita", "--json"))
    assert np.allclose(found["centers"], model.cluster_centers_.toarray())
    assert "center" in partita("inspect", tmp_path / "m.partita")


def test_advice_names_options_that_exist(partita, monkeypatch):
    """Every finding whose advice is Python has advice in options, for all of its settings."""
    monkeypatch.setenv("COLUMNS", "200")
    options = set(re.findall(r"--[a-z-]+", partita("fit", "--help")))
    names = {check.name for check in CHECKS}
    assert set(ADVICE) <= names
    assert names - set(ADVICE) <= {"inexact-sums"}  # its own advice names no parameter
    for advice in ADVICE.values():
        assert set(re.findall(r"--[a-z-]+", advice)) <= options
        assert not re.search(r"\w\(|[a-z]_[a-z]|\w=", advice), advice


def test_advice_words_every_setting_of_its_finding():
    calls = [
        node
        for path in Path(diagnosis.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding"
    ]
    assert len(calls) > 15
    for call in calls:
        name = ast.literal_eval(call.args[0])
        settings = next((k.value.elts for k in call.keywords if k.arg == "settings"), [])
        assert ADVICE.get(name, "").count("{}") == len(settings), name
    few = diagnosis.Finding("empty-clusters", "", "", "", settings=(Setting("n_clusters", 3),))
    assert advice_for(few) == "Use fewer clusters: --k 3 gives the same result."

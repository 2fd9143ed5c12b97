"""Files that the command line reads and writes."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from helpers.cli import write_csv
from sklearn.datasets import load_wine

from partita import KMeans
from partita.model_file import read_model
from partita.tables import read_table, select


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
        result = partita("fit", data, "-k", 3, "--labels", "-", "--only-labels", "--quiet")
        np.testing.assert_array_equal(result.split()[1:], expected.astype(str))


@pytest.mark.heavy
def test_several_files_are_one_table(partita, tmp_path, file):
    header, *lines = file.read_text().splitlines(keepends=True)
    parts = [tmp_path / f"part-{i}.csv" for i in range(3)]
    for i, part in enumerate(parts):
        part.write_text("".join([header, *lines[40 * i : 40 * (i + 1)]]))
    whole = json.loads(partita("fit", file, "-k", 3, "--json"))["summary"]
    result = json.loads(partita("fit", *parts, "-k", 3, "--json", "--labels", tmp_path / "out.csv"))
    assert result["summary"]["objective"] == whole["objective"]
    assert result["data"]["rows"] == 120
    assert result["data"]["name"] == f"{parts[0]} and 2 more"
    assert read_table(tmp_path / "out.csv").data.num_rows == 120


def test_names_with_commas_are_found_in_a_list(partita, tmp_path):
    (tmp_path / "a.csv").write_text(
        '"Weight, kg",height,"a,b,c",x\n' + "1,2,3,4\n5,6,7,9\n8,9,1,3\n"
    )
    for given in ("Weight, kg,height,a,b,c", "height, a,b,c ,Weight, kg"):
        result = json.loads(partita("fit", tmp_path / "a.csv", "-k", 2, "-c", given, "--json"))
        assert result["data"]["features"] == ["Weight, kg", "height", "a,b,c"]
    assert "no column 'kg'" in partita("fit", tmp_path / "a.csv", "-k", 2, "-c", "kg,x", code=3)


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


def test_lines_end_in_a_copy_as_they_did(partita, tmp_path):
    data, out = tmp_path / "a.csv", tmp_path / "b.csv"
    data.write_bytes(b"who;x\r\na;1,5\r\nb;2,5\r\nc;9\r\n")
    partita("fit", data, "-k", 2, "--labels", out)
    assert re.fullmatch(rb"who;x;cluster\r\n(\w;[\d,]+;[01]\r\n){3}", out.read_bytes())
    output = partita("fit", data, "-k", 2, "-q", "--labels", "-")
    assert output.startswith("who;x;cluster")


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


def test_the_index_of_a_frame_names_the_labels(partita, tmp_path, blobs):
    frame = pd.DataFrame(blobs, columns=["x", "y", "z"], index=[f"s{i}" for i in range(120)])
    frame.to_parquet(tmp_path / "a.parquet")
    out = tmp_path / "out.parquet"
    partita("fit", tmp_path / "a.parquet", "-k", 3, "--only-labels", "--labels", out)
    data = read_table(out).data
    assert data.num_columns == 2
    assert data.column(0).to_pylist() == frame.index.tolist()


def test_rows_without_a_value_are_dropped_or_filled(partita, tmp_path):
    data, model = tmp_path / "a.csv", tmp_path / "m.partita"
    data.write_text("x,y\n1,1\n,2\n1,3\n9,9\n9,8\n")
    assert "line 3" in partita("fit", data, "-k", 2, "--missing", "error", code=3)
    partita("fit", data, "-k", 2, "--missing", "drop", "--labels", tmp_path / "b.csv")
    lines = (tmp_path / "b.csv").read_text().splitlines()
    assert lines[2] == ",2,-1"
    assert lines[1].rpartition(",")[2] in "01"
    partita("fit", data, "-k", 2, "--missing", "mean", "--model", model)
    result = json.loads(partita("predict", data, "--model", model, "--json"))
    assert result["data"]["filled"] == 1
    assert len(result["labels"]) == 5
    dropped = json.loads(partita("predict", data, "--model", model, "--missing", "drop", "--json"))
    assert [label >= 0 for label in dropped["labels"]] == [True, False, True, True, True]


@pytest.mark.heavy
def test_means_are_filled_in_only_if_the_model_has_them(partita, tmp_path, file):
    model, gaps = tmp_path / "m.partita", tmp_path / "gaps.csv"
    header, first, *_ = file.read_text().splitlines()
    gaps.write_text(f"{header}\n{first}\n{',' * header.count(',')}\n")
    partita("fit", file, "-k", 3, "--raw", "--model", model)
    for command in ("predict", "report"):
        more = ("--out", tmp_path / "r.html") if command == "report" else ()
        output = partita(command, gaps, "--model", model, *more, code=3)
        assert "--missing drop" in output
        assert "--missing mean" not in output  # the model has no means
        assert "missing=" not in output
        output = partita(command, gaps, "--model", model, "--missing", "mean", *more, code=3)
        assert "has no values to fill in" in output
        partita(command, gaps, "--model", model, "--missing", "drop", *more)


def test_a_column_cluster_that_exists_is_kept(partita, tmp_path):
    write_csv(tmp_path / "a.csv", "x,cluster\n1,a\n2,b\n9,c\n")
    partita("fit", tmp_path / "a.csv", "-k", 2, "--labels", tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text().startswith("x,cluster,cluster_2\n1,a,")


@pytest.mark.heavy
def test_nothing_is_overwritten_without_force(partita, tmp_path, file):
    out = tmp_path / "out.csv"
    for option, name in (("--labels", out), ("--model", out), ("--report", tmp_path / "out.html")):
        name.write_text("mine")
        output = partita("fit", file, "-k", 2, option, name, code=2)
        assert f"{name.name} already exists" in output
        assert "--force" in output
        assert name.read_text() == "mine"
    partita("fit", file, "-k", 2, "--labels", out, "--force")
    assert out.read_text().startswith("who,x")
    output = partita(
        "fit", file, "-k", 2, "--labels", tmp_path / "q", "--model", f"{tmp_path}/./q", code=2
    )
    assert "the name of two outputs" in " ".join(output.replace("│", " ").split())
    partita("fit", file, "-k", 2, "--labels", "/dev/null", "--model", "/dev/null")


@pytest.mark.heavy
def test_no_output_replaces_what_is_read(partita, tmp_path, file):
    before, model = file.read_bytes(), tmp_path / "m.partita"
    output = partita("fit", file, "-k", 2, "--model", f"{tmp_path}/./{file.name}", "-f", code=2)
    assert "is an input of this command" in " ".join(output.replace("│", " ").split())
    partita("fit", file, "-k", 2, "--model", model)
    partita("predict", file, "--model", model, "--labels", model, "-f", code=2)
    partita("fit", file, "-k", 2, "--labels", "", code=2)
    partita("predict", file, "--model", model, "--labels", "-", "--json", code=2)
    assert "The path of the data is empty" in partita("fit", "", "-k", 2, code=3)
    assert file.read_bytes() == before
    assert read_model(model).n_clusters == 2


def test_a_file_that_cannot_be_written_keeps_no_other_from_it(partita, tmp_path, file):
    labels, model, page = tmp_path / "l.npy", tmp_path / "m.partita", tmp_path / "r.html"
    output = partita(
        "fit", file, "-k", 3, "--labels", labels, "--model", model, "--report", page, code=3
    )
    assert "only numbers, but 'who'" in output
    assert not labels.exists()
    assert read_model(model).n_clusters == 3
    answer = re.search(r"<h1><bdi>(.+?)</bdi></h1>", page.read_text())[1]
    assert answer.startswith("120 rows fall into 3 ")


@pytest.mark.heavy
def test_reports_are_written(partita, tmp_path, file):
    pytest.importorskip("jinja2", reason="jinja2 is not installed: no report")
    model, page = tmp_path / "m.partita", tmp_path / "a.html"
    output = partita("fit", file, "-k", 3, "--id", "who", "--model", model, "--report", page)
    assert str(page) in output
    assert "<html" in page.read_text()
    partita("report", file, "--model", model, "--out", tmp_path / "b.html", "--id", "who")
    assert "<html" in (tmp_path / "b.html").read_text()
    partita("choose-k", file, "-k", "2:4", "--report", tmp_path / "c.html")
    assert "<html" in (tmp_path / "c.html").read_text()


@pytest.mark.heavy
def test_the_demo_ends_with_a_report(partita, tmp_path, clusters_in):
    pytest.importorskip("jinja2", reason="jinja2 is not installed: no report")
    output = partita("demo", tmp_path / "demo")
    assert str(tmp_path / "demo" / "wine.html") in output.splitlines()[-1]
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert names == {"wine.csv", "wine-clusters.csv", "wine.partita", "wine.html"}
    assert len(set(clusters_in(tmp_path / "demo" / "wine-clusters.csv"))) == 3
    np.testing.assert_array_equal(
        select(read_table(tmp_path / "demo" / "wine.csv"), id="wine").X, load_wine().data
    )
    again = partita("demo", tmp_path / "demo", code=2)
    assert "wine.csv already exists. Choose another folder, or overwrite the files with" in again

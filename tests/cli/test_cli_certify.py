"""`partita certify` and `fit --certify`: results, refusals, and Ctrl-C."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest
from helpers.cli import pa

from partita import KMeans, certify
from partita.cli.option_values import parse_level, parse_time_limit
from partita.model_file import read_model
from partita.tables import write_table

LIMIT = ("--time-limit", "0.5")


@pytest.fixture
def model(partita, tmp_path, file):
    path = tmp_path / "a.partita"
    labels = tmp_path / "out.csv"
    partita("fit", file, "-k", 3, "--model", path, "--labels", labels, "-q")
    return path


def certificate_in(text):
    return json.loads(text)["certificate"]


def test_a_model_is_certified(partita, file, model):
    out = partita("certify", file, "--model", model, *LIMIT)
    first = out.splitlines()[0]
    assert "best possible" in first
    assert "K = 3, n = 120, d = 3" in " ".join(out.split())
    values = certificate_in(partita("certify", file, "--model", model, *LIMIT, "--json"))
    assert values["objective"] == pytest.approx(read_model(model).inertia_, rel=1e-12)
    assert 0 <= values["gap"] <= 1
    assert values["kind"] in ("exact", "rigorous")


def test_a_column_of_labels_is_certified_as_the_model_is(partita, tmp_path, file, model):
    by_model = certificate_in(partita("certify", file, "--model", model, *LIMIT, "--json"))
    words = ("certify", tmp_path / "out.csv", "--labels-column", "cluster", *LIMIT, "--json")
    by_column = certificate_in(partita(*words))
    assert by_column["objective"] == pytest.approx(by_model["objective"], rel=1e-9)
    assert by_column["n_features"] == 3


def test_labels_may_be_texts_and_rows_without_one_are_left_out(partita, tmp_path, blobs, capsys):
    labels = KMeans(3, random_state=0).fit(blobs).labels_
    names = np.array(["red", "green", "-1"])[labels]
    columns = {"x": blobs[:, 0], "y": blobs[:, 1], "z": blobs[:, 2], "colour": names.tolist()}
    write_table(pa.table(columns), tmp_path / "a.csv")
    words = ("certify", tmp_path / "a.csv", "--labels-column", "colour", "--raw", *LIMIT, "--json")
    result = json.loads(partita(*words))
    kept = labels != 2
    expected = certify(blobs[kept], labels[kept], callback=lambda progress: True)
    assert result["certificate"]["objective"] == pytest.approx(expected.objective, rel=1e-12)
    assert result["certificate"]["n_clusters"] == 2
    assert result["warnings"][0].endswith("without a cluster (no label, or -1): left out")


def test_a_fit_is_certified_and_its_model_keeps_it(partita, tmp_path, file):
    path = tmp_path / "b.partita"
    words = ("fit", file, "-k", 3, "--certify", "--certify-time", "0.5", "--model", path)
    out = " ".join(partita(*words, "--report", tmp_path / "b.html").split())
    kept = read_model(path).certificate_
    assert kept.n_rows == 120
    assert f"J is {kept.short}".replace("\u202f", " ") in out
    shown = partita("inspect", path)
    assert "gap  " in shown
    assert certificate_in(partita("inspect", path, "--json"))["gap"] == kept.gap
    assert "How good it is" in (tmp_path / "b.html").read_text(encoding="utf-8")


def test_without_certify_there_is_none(partita, file, model):
    summary = json.loads(partita("fit", file, "-k", 3, "--json"))["summary"]
    assert summary["certificate"] is None
    assert certificate_in(partita("inspect", model, "--json")) is None


def test_the_preparation_of_a_model_is_not_changed(fails, file, model):
    code, text = fails("certify", file, "--model", model, "--scale", "none")
    assert code == 2
    assert "--scale needs --labels-column" in text
    for words in ((), ("--model", model, "--labels-column", "who")):
        code, text = fails("certify", file, *words)
        assert code == 2
        assert "give either --model MODEL or --labels-column COLUMN." in text


def test_ctrl_c_prints_the_best_bound_so_far(capsys, monkeypatch, file, model):
    from partita.cli.command_group import app
    from partita.progress.bars import ProgressBar

    monkeypatch.setattr(ProgressBar, "__call__", lambda *_: signal.raise_signal(signal.SIGINT))
    with pytest.raises(SystemExit) as ended:
        app(["certify", str(file), "--model", str(model), "--time-limit", "none", "--json"])
    out, err = capsys.readouterr()
    assert ended.value.code == 130
    assert json.loads(out)["interrupted"] is True
    assert len(certificate_in(out)["history"]) == 1
    assert "Interrupted: this is the best bound that was found until then" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--level", "1"), "must be a number between 0 and 1, like 0.95, got 1"),
        (("--time-limit", "soon"), "must be a number of seconds, or none, got soon"),
        (("--time-limit", "-1"), "must be a number of seconds, or none, got -1"),
    ],
)
def test_limits_are_checked(fails, file, model, words, message):
    code, text = fails("certify", file, "--model", model, *words)
    assert code == 2
    assert message in text


def test_values_of_limits():
    assert parse_time_limit("none") == np.inf
    assert parse_time_limit("1.5") == 1.5
    assert parse_level("95%") == parse_level("0.95") == 0.95


def test_columns_without_labels_are_refused(fails, tmp_path, file):
    code, text = fails("certify", file, "--labels-column", "colour")
    assert code == 3
    assert "'colour'" in text
    write_table(pa.table({"x": [1.0, 2.0, 4.0], "z": [-1, -1, -1]}), tmp_path / "a.csv")
    code, text = fails("certify", tmp_path / "a.csv", "--labels-column", "z", "--json")
    assert code == 3
    assert "no row has a label" in text


def test_rows_that_are_read_by_blocks_are_not_certified(fails, tmp_path, file):
    words = ("fit", file, "-k", "3", "--memory-limit", "1kB", "--certify", "-q")
    code, text = fails(*words)
    assert code == 2
    assert "--certify needs all rows in memory" in text

"""`predict` marks rows that are unlike the fit, and says what has changed since."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from helpers.cli import write_csv

from partita import KMeans, save
from partita.tables import read_table

pytestmark = pytest.mark.heavy
METHODS = ("kmeans", "mini-batch", "medoids", "kernel")


def table(rows, first=0):
    lines = [f"p{first + i},{x!r},{y!r}" for i, (x, y) in enumerate(rows.tolist())]
    return "who,height,income\n" + "\n".join(lines) + "\n"


def people(rng, n=300, share=(1, 1)):
    kind = rng.choice(2, n, p=np.array(share) / sum(share))
    low, high = [160.0, 30_000.0], [185.0, 50_000.0]
    return np.where(kind[:, None] == 0, low, high) + rng.normal(0, [3.0, 900.0], (n, 2))


@pytest.fixture
def fit(partita, tmp_path):
    """Fit people, and return a function that compares others with them."""
    write_csv(tmp_path / "a.csv", table(people(np.random.default_rng(0))))
    model = tmp_path / "m.partita"

    def make(*options):
        partita("fit", tmp_path / "a.csv", "-k", 2, "--model", model, "-q", "--id", "who", *options)

        def predict(rows, *words):
            file = write_csv(tmp_path / "new.csv", table(rows, 1000))
            return partita("predict", file, "--model", model, *words)

        return predict

    return make


@pytest.mark.parametrize("method", METHODS)
def test_strangers_are_listed_marked_and_in_json(fit, tmp_path, method):
    predict = fit("-m", method)
    rows = np.vstack([people(np.random.default_rng(1), 60), [[172.0, 4e5], [20.0, 40_000.0]]])
    out = tmp_path / "out.csv"
    text = predict(rows, "--labels", out, "--distance", "--id", "who")
    assert "2 of 62 rows are unlike anything in the fit" in " ".join(text.split())
    assert "rows p1060, p1061" in " ".join(text.split())
    written = read_table(out).data
    assert written.column_names == ["who", "height", "income", "cluster", "distance", "stranger"]
    assert np.flatnonzero(written["stranger"].to_pylist()).tolist() == [60, 61]
    result = json.loads(predict(rows, "--json"))
    assert result["strangers"] == [61, 62]
    assert result["distances"] == pytest.approx(written["distance"].to_pylist())
    assert len(result["reach"]) == 2
    assert result["drift"] == {"shares": [], "means": []}


def test_the_same_people_give_no_remark(fit):
    predict = fit()
    result = json.loads(predict(people(np.random.default_rng(2)), "--json"))
    assert result["strangers"] == []
    assert result["drift"] == {"shares": [], "means": []}


def test_drift_is_told_in_the_units_of_the_data(fit, tmp_path):
    rows = people(np.random.default_rng(3), 300, (9, 1))
    predict = fit()
    drift = json.loads(predict(rows, "--json"))["drift"]
    by_name = {mean["feature"]: mean for mean in drift["means"]}
    assert by_name["income"]["mean"] == pytest.approx(32_000, rel=0.02)
    assert by_name["income"]["fit_mean"] == pytest.approx(40_000, rel=0.05)
    assert by_name["income"]["deviations"] < -0.5
    assert {share["cluster"] for share in drift["shares"]} == {0, 1}
    text = " ".join(predict(rows, "--labels", tmp_path / "out.csv").split())
    assert re.search(r"Shares differ from the fit: .+ % of the rows \(\d+ % in the fit\)", text)
    assert "Means differ from the fit: " in text


def test_rows_in_other_units_are_noticed(fit, tmp_path):
    rows = people(np.random.default_rng(4)) / [2.54, 1000.0]  # inches, thousands
    text = " ".join(fit()(rows, "--labels", tmp_path / "out.csv").split())
    assert "300 of 300 rows are unlike anything in the fit" in text
    assert "in the units of the fit" in text
    assert "Means differ from the fit: " in text


def test_rows_that_were_left_out_have_neither_distance_nor_mark(fit, partita, tmp_path):
    fit()
    write_csv(tmp_path / "new.csv", "who,height,income\na,160,30000\nb,,\nc,161,31000\n")
    words = (
        "predict",
        tmp_path / "new.csv",
        "--model",
        tmp_path / "m.partita",
        "--missing",
        "drop",
    )
    out = tmp_path / "out.csv"
    partita(*words, "--labels", out, "--distance", "--only-labels")
    lines = out.read_text().splitlines()
    assert lines[0] == "cluster,distance,stranger"
    assert lines[2] == "-1,,"
    assert [line.split(",")[2] for line in lines] == ["stranger", "false", "", "false"]
    result = json.loads(partita(*words, "--json"))
    assert result["distances"][1] is None


def test_names_that_are_taken_get_a_number(fit, partita, tmp_path):
    fit()
    write_csv(tmp_path / "new.csv", "height,income,distance,cluster\n160,30000,5,6\n")
    words = ("predict", tmp_path / "new.csv", "--model", tmp_path / "m.partita", "--distance")
    header = partita(*words).splitlines()[0]
    assert header == "height,income,distance,cluster,cluster_2,distance_2,stranger"


def test_a_model_that_does_not_know_its_rows_marks_none(partita, tmp_path):
    rows = people(np.random.default_rng(0))
    save(KMeans(2, random_state=0).fit(rows), tmp_path / "m.partita", names=["height", "income"])
    file = write_csv(tmp_path / "new.csv", table(rows))
    words = ("predict", file, "--model", tmp_path / "m.partita", "--distance")
    lines = partita(*words).splitlines()
    assert lines[0] == "who,height,income,cluster,distance"
    result = json.loads(partita(*words, "--json"))
    assert [result[name] for name in ("reach", "strangers", "drift")] == [None] * 3


def test_a_report_compares_other_rows_with_the_fit(fit, partita, tmp_path):
    fit()
    pytest.importorskip("jinja2")
    rows = np.vstack([people(np.random.default_rng(5)), [[20.0, 40_000.0]]])
    write_csv(tmp_path / "new.csv", table(rows))
    words = ("--model", tmp_path / "m.partita", "--id", "who", "--out", tmp_path / "r.html", "-f")
    text = partita("report", tmp_path / "new.csv", *words)
    assert "1 of 301 rows is unlike anything in the fit" in " ".join(text.split())
    page = (tmp_path / "r.html").read_text()
    assert "Compared with the fit" in page
    assert "p300" in page
    partita("report", tmp_path / "a.csv", *words)
    assert "Compared with the fit" not in (tmp_path / "r.html").read_text()

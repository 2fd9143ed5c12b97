"""Model files with the steps of a pipeline, on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.cli import pa
from helpers.saved_pipelines import CASES, FRAME, GAPS, fitted_pipeline, kmeans
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from partita import save
from partita.tables import write_table

NAMES = ("a", "b", "c")


@pytest.fixture
def files(tmp_path):
    """Save the pipeline of a case and its rows; return their paths."""

    def write(case, rows=None):
        model, data = tmp_path / "m.partita", tmp_path / "rows.parquet"
        rows = np.asarray(CASES[case][1] if rows is None else rows, dtype=np.float64)
        save(fitted_pipeline(case), model, names=NAMES, force=True)
        columns = {name: rows[:, t] for t, name in enumerate(NAMES)}
        write_table(pa.table({"who": [f"r{i}" for i in range(len(rows))], **columns}), data,
                    force=True)  # fmt: skip
        return model, data, rows

    return write


@pytest.mark.parametrize(
    "case", ["standard", "robust", "minmax", "maxabs", "normalizer", "mean", "constant", "pca",
             "svd", "standard gaps", "four steps", "passthrough", "only passthrough"],
)  # fmt: skip
def test_predict_prepares_rows_by_the_steps(partita, files, case):
    model, data, rows = files(case)
    result = json.loads(partita("predict", data, "--model", model, "--json"))
    pipeline = fitted_pipeline(case)
    if hasattr(pipeline[0], "feature_names_in_"):
        rows = FRAME.set_axis(range(len(FRAME))).assign(**dict(zip(NAMES, rows.T, strict=True)))
    assert result["labels"] == pipeline.predict(rows).tolist()
    assert result["warnings"] == []


def test_gaps_are_filled_only_if_a_step_does(partita, files):
    model, data, _ = files("standard", GAPS)
    assert "the value is missing" in partita("predict", data, "--model", model, code=3)
    model, data, _ = files("mean")
    dropped = partita("predict", data, "--model", model, "--missing", "drop", "--json")
    used = np.array(json.loads(dropped)["labels"]) >= 0
    assert used.tolist() == (~np.isnan(GAPS).any(axis=1)).tolist()


def test_inspect_shows_steps_and_centers_in_the_units_of_the_data(partita, files):
    model, _, rows = files("mean")
    pipeline = fitted_pipeline("mean")
    text = partita("inspect", model)
    assert "steps  simpleimputer (SimpleImputer), standardscaler (StandardScaler)" in text
    result = json.loads(partita("inspect", model, "--json"))
    filled = pipeline[0].transform(rows)
    means = [filled[pipeline.predict(rows) == j].mean(axis=0) for j in range(3)]
    np.testing.assert_allclose(result["centers"], means)
    assert [step["class"] for step in result["steps"]] == ["SimpleImputer", "StandardScaler"]
    assert result["steps"][1]["parameters"]["with_mean"] is True
    assert result["features"] == list(NAMES)
    model, _, _ = files("normalizer")  # lengths are lost: the centers are the model's own
    directions = json.loads(partita("inspect", model, "--json"))["centers"]
    assert directions == fitted_pipeline("normalizer")[-1].cluster_centers_.tolist()


@pytest.mark.parametrize("case", ["mean", "pca", "standard gaps", "normalizer"])
def test_reports_describe_the_rows(partita, files, tmp_path, case):
    model, data, _ = files(case)
    page = tmp_path / f"{case}.html"
    partita("report", data, "--model", model, "--out", page, "--id", "who")
    text = page.read_text(encoding="utf-8")
    assert ("pca0" if case == "pca" else ">a<") in text


def test_a_model_of_python_labels_a_file_as_python_does(partita, tmp_path):
    """What `save(pipeline[-1])` lost: the scaling."""
    rows = FRAME * [1.0, 100.0, 0.01]
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), kmeans()).fit(rows)
    save(pipeline, tmp_path / "m.partita")
    rows.to_csv(tmp_path / "a.csv", index=False)
    result = json.loads(
        partita("predict", tmp_path / "a.csv", "--model", tmp_path / "m.partita", "--json")
    )
    assert result["labels"] == pipeline[-1].labels_.tolist()


@pytest.mark.parametrize("case", ["standard frame", "pca"])
def test_strangers_and_drift_are_measured_after_the_steps(partita, tmp_path, case):
    pipeline, model, data = fitted_pipeline(case), tmp_path / "m.partita", tmp_path / "a.csv"
    save(pipeline, model, fitted_to=CASES[case][1], names=NAMES)
    rows = FRAME.assign(c=FRAME["c"] + 0.9 * FRAME["c"].std())
    rows.iloc[4] = [1e6, -1e6, 1e6]
    rows.to_csv(data, index=False)
    result = json.loads(partita("predict", data, "--model", model, "--json"))
    assert 5 in result["strangers"]
    features = {"pca": {"pca0", "pca1"}}.get(case, set(NAMES))
    assert {drift["feature"] for drift in result["drift"]["means"]} <= features
    if case == "standard frame":
        (drift,) = (drift for drift in result["drift"]["means"] if drift["feature"] == "c")
        assert drift["fit_mean"] == pytest.approx(FRAME["c"].mean())  # in the units of the data
    text = partita("predict", data, "--model", model, "--labels", tmp_path / "o.csv")
    assert "unlike anything in the fit" in " ".join(text.split())

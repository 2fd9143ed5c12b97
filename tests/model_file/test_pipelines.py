"""Pipelines come back whole: steps, parameters, fitted attributes, and the bits they give."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from helpers.damaged_models import changed, members, put, refused
from helpers.saved_models import ROWS, same
from helpers.saved_pipelines import CASES, FRAME, GAPS, fitted_pipeline, kmeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from partita import KMeans, diagnose, load, save
from partita.model_file import ModelFileError, read_header, read_model, to_sklearn

PRIVATE = ("_fit_svd_solver",)  # of the fit alone


def equal(a, b):
    """Whether two values are the same; arrays of objects by their items."""
    if isinstance(a, np.ndarray) and a.dtype == object:
        return a.shape == b.shape and all(x == y or x != x for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and a != a:
        return b != b
    return same(a, b)


def attributes(step):
    return {name: value for name, value in vars(step).items() if name not in PRIVATE}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
def test_a_pipeline_comes_back_whole(tmp_path, case):
    pipeline, rows = fitted_pipeline(case), CASES[case][1]
    save(pipeline, tmp_path / "a.partita")
    again = load(tmp_path / "a.partita")
    assert type(again) is Pipeline
    assert [name for name, _ in again.steps] == [name for name, _ in pipeline.steps]
    for (_, before), (_, after) in zip(pipeline.steps[:-1], again.steps[:-1], strict=True):
        if isinstance(before, str):
            assert after == before
            continue
        assert type(after) is type(before)
        first, second = attributes(before), attributes(after)
        assert set(first) == set(second)
        for name, value in first.items():
            assert equal(value, second[name]), name
    new = rows[:20] * 1 if not hasattr(rows, "iloc") else rows.iloc[:20]
    assert same(again.predict(new), pipeline.predict(new))
    if hasattr(pipeline, "transform"):
        assert same(np.asarray(again.transform(new)), np.asarray(pipeline.transform(new)))
    assert getattr(again, "n_features_in_", 3) == 3
    save(again, tmp_path / "b.partita")  # and once more
    assert same(load(tmp_path / "b.partita").predict(new), pipeline.predict(new))
    version = read_header(tmp_path / "a.partita")["versions"]["scikit-learn"]
    assert version == __import__("sklearn").__version__


def test_the_scaling_of_a_pipeline_is_not_lost(tmp_path):
    X = load_wine(as_frame=True).data
    pipeline = make_pipeline(StandardScaler(), KMeans(3, random_state=0)).fit(X)
    save(pipeline, tmp_path / "wine.partita")
    again = load(tmp_path / "wine.partita")
    assert same(again.predict(X), pipeline[-1].labels_)
    assert again.feature_names_in_.tolist() == list(X.columns)
    assert again.saved_.names == tuple(X.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(X[X.columns[::-1]])
    assert same(read_model(tmp_path / "wine.partita").labels_, pipeline[-1].labels_)


def test_a_pipeline_that_was_loaded_can_do_what_the_other_can(tmp_path):
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), kmeans()).fit(GAPS)
    save(pipeline, tmp_path / "a", names=["a", "b", "c"], note="by hand")
    again = load(tmp_path / "a")
    assert (again.saved_.note, again.saved_.names) == ("by hand", ("a", "b", "c"))
    frame = pd.DataFrame(GAPS, columns=["a", "b", "c"])
    assert same(again.predict(frame), pipeline.predict(GAPS))
    assert same(to_sklearn(again).predict(frame), to_sklearn(pipeline).predict(GAPS))
    assert diagnose(again, frame).names == diagnose(pipeline, GAPS).names
    assert str(again) == str(pipeline)
    again.set_params(standardscaler__with_mean=False).fit(ROWS)
    save(again, tmp_path / "b")
    other = load(tmp_path / "b")
    assert same(other.predict(ROWS), again.predict(ROWS))
    assert other.saved_.note is None  # another fit


def refused_by_save(pipeline, path, words, error=TypeError):
    with pytest.raises(error, match=words):
        save(pipeline, path)
    assert not path.exists()


def test_steps_that_no_file_can_hold_are_refused_and_named(tmp_path):
    path = tmp_path / "a.partita"
    logs = make_pipeline(FunctionTransformer(np.log1p), kmeans()).fit(np.abs(ROWS))
    refused_by_save(logs, path, "got 'functiontransformer', a FunctionTransformer.*holds no code")
    columns = make_column_transformer((StandardScaler(), ["a"]), remainder="passthrough")
    words = "got 'columntransformer', a ColumnTransformer. .*prepare the columns before"
    refused_by_save(make_pipeline(columns, kmeans()).fit(FRAME), path, words)

    class Mine(StandardScaler):
        pass

    refused_by_save(make_pipeline(Mine(), kmeans()).fit(ROWS), path, "got 'mine', a Mine")
    nested = make_pipeline(make_pipeline(StandardScaler(), PCA(2)), kmeans()).fit(ROWS)
    refused_by_save(nested, path, "got 'pipeline', a Pipeline")
    from sklearn.cluster import KMeans as Other

    refused_by_save(make_pipeline(StandardScaler(), Other(3)).fit(ROWS), path, "must be a fitted")
    indicator = make_pipeline(SimpleImputer(add_indicator=True), kmeans()).fit(GAPS)
    refused_by_save(indicator, path, "'simpleimputer' has add_indicator=True", ModelFileError)
    refused_by_save(make_pipeline(StandardScaler(), kmeans()), path, "not fitted", NotFittedError)
    means = make_pipeline(SimpleImputer(strategy=np.mean), kmeans()).fit(GAPS)
    refused_by_save(means, path, "needs strategy=.*which no file can hold", ModelFileError)
    scaled = make_pipeline(StandardScaler(), kmeans()).fit(ROWS)
    with pytest.raises(ModelFileError, match="besides its steps"):
        save(scaled, path, fill=[1.0, 2.0, 3.0])


def test_a_seed_that_no_file_can_hold_is_dropped(tmp_path):
    seed = np.random.RandomState(0)
    pipeline = make_pipeline(PCA(2, random_state=seed), kmeans()).fit(ROWS)
    save(pipeline, tmp_path / "a")
    again = load(tmp_path / "a")
    assert again[0].random_state is None
    assert set(again.saved_.dropped) == {"pca__random_state"}


WRONG = {
    "class": put("pipeline", "steps", 0, "class", value="os.system"),
    "class of another": put("pipeline", "steps", 0, "class", value="RobustScaler"),
    "a class with code": put("pipeline", "steps", 0, "class", value="FunctionTransformer"),
    "steps": put("pipeline", "steps", value={}),
    "too many steps": put("pipeline", "steps", value=[{}] * 31),
    "no names": put("pipeline", "steps", 0, "name", value=None),
    "a name twice": put("pipeline", "steps", 0, "name", value="kmeans"),
    "a name of a parameter": put("pipeline", "model", value="steps"),
    "a name of two": put("pipeline", "model", value="a__b"),
    "verbose": put("pipeline", "verbose", value="yes"),
    "parameter": put("pipeline", "steps", 0, "parameters", "with_mean", value="x"),
    "unknown parameter": put("pipeline", "steps", 0, "parameters", "gamma", value=1),
    "features": put("pipeline", "steps", 0, "fitted", "n_features_in", value=4),
    "very many features": put("pipeline", "steps", 0, "fitted", "n_features_in", value=2**31 - 1),
    "no mean": put("pipeline", "steps", 0, "fitted", "mean", value=None),
    "another array": put("pipeline", "steps", 0, "fitted", "mean", value={"$array": "stats.mean"}),
    "an array twice": put(
        "pipeline", "steps", 0, "fitted", "mean", value={"$array": "pipeline.steps.0.scale"}
    ),
    "names": put("pipeline", "steps", 0, "fitted", "feature_names", value=["a"]),
    "output": put("pipeline", "steps", 0, "fitted", "output", value={"transform": "os"}),
    "seen": put("pipeline", "steps", 0, "fitted", "n_samples_seen", value=-1),
    "a scaling besides": put("fill", value={"$array": "stats.weight"}),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("pipelines") / "a.partita"
    save(fitted_pipeline("standard"), path)
    return path.read_bytes()


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_wrong_steps_are_refused(saved, tmp_path, change):
    refused(tmp_path, changed(saved, change), "")


def test_a_step_without_arrays_takes_no_memory_for_a_false_width(tmp_path):
    save(fitted_pipeline("normalizer"), tmp_path / "a")
    change = put("pipeline", "steps", 0, "fitted", "n_features_in", value=2**31 - 1)
    refused(tmp_path, changed((tmp_path / "a").read_bytes(), change), "the next takes 3")


def test_older_versions_of_partita_refuse_a_pipeline(saved, tmp_path):
    header = json.loads(members(saved)["header.json"])
    assert header["format_version"] == 2
    save(kmeans().fit(ROWS), tmp_path / "b")
    assert read_header(tmp_path / "b")["format_version"] == 1

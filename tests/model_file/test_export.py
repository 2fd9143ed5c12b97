"""A model as scikit-learn's KMeans: the same labels, for everything that reads one."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from helpers.saved_models import CASES, FRAME, NEW, ROWS, frame
from sklearn.cluster import KMeans as Other
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from partita import (
    KernelKMeans,
    KMeans,
    KMedoids,
    SphericalKMeans,
    TrimmedKMeans,
    load,
    save,
    to_sklearn,
)
from partita.tables import Scaling

EXPORTED = [
    name
    for name in CASES
    if name.startswith(("kmeans", "minibatch")) and not name.startswith("kmeans partial")
]


@pytest.mark.parametrize("name", EXPORTED)
def test_labels_distances_and_scores_are_the_same(name):
    fit, make = CASES[name]
    model, new = fit(), make(NEW)
    if name == "kmeans huge":
        model, new = KMeans(3, random_state=0).fit(ROWS * 1e60), NEW * 1e60  # squares are numbers
    other = to_sklearn(model)
    assert type(other) is Other
    check_is_fitted(other)
    assert other.predict(new).tolist() == model.predict(new).tolist()
    np.testing.assert_allclose(other.transform(new), model.transform(new), rtol=1e-3)
    assert other.score(new) == pytest.approx(model.score(new), rel=1e-4)


def test_a_model_of_rows_with_gaps_becomes_one_for_complete_rows():
    model, rows = CASES["kmeans partial"][0](), NEW
    other = to_sklearn(model)
    assert other.predict(rows).tolist() == model.predict(rows).tolist()
    with pytest.raises(ValueError, match="NaN"):
        other.predict(np.where(rows == rows[0], np.nan, rows))


def test_what_was_found_is_the_same():
    model = KMeans(3, random_state=0).fit(FRAME)
    other = to_sklearn(model)
    assert np.array_equal(other.cluster_centers_, model.cluster_centers_)
    assert np.array_equal(other.labels_, model.labels_)
    assert (other.inertia_, other.n_iter_) == (model.inertia_, model.n_iter_)
    assert other.n_features_in_ == 3
    assert other.feature_names_in_.tolist() == FRAME.columns.tolist()
    assert other.get_feature_names_out().tolist() == ["kmeans0", "kmeans1", "kmeans2"]
    assert other.get_params()["random_state"] == 0
    with pytest.raises(ValueError, match="feature names"):
        other.predict(frame(NEW)[["c", "<b>", "länge"]])
    other.cluster_centers_[:] = 0.0
    assert model.cluster_centers_.any()


def test_a_scaling_goes_along(tmp_path):
    scaling = Scaling.fit(ROWS, "robust")
    model = KMeans(3, random_state=0).fit(scaling.apply(ROWS))
    fill = ROWS.mean(axis=0)
    save(model, tmp_path / "a", scaling=scaling, fill=fill, names=["x", "y", "z"])
    ours = load(tmp_path / "a")
    theirs = to_sklearn(ours)
    assert [type(step).__name__ for _, step in theirs.steps] == [
        "SimpleImputer", "StandardScaler", "KMeans",
    ]  # fmt: skip
    holes = pd.DataFrame(NEW.copy(), columns=["x", "y", "z"])
    holes.loc[3, "y"] = np.nan
    for rows in (holes, pickle.loads(pickle.dumps(holes))):
        assert theirs.predict(rows).tolist() == ours.predict(rows).tolist()
    assert np.array_equal(theirs[:-1].transform(holes), ours[:-1].transform(holes))


def test_a_model_without_labels_has_none():
    model = CASES["minibatch no labels"][0]()
    assert not hasattr(to_sklearn(model), "labels_")


def test_centers_that_are_alike_are_no_fault():
    model = KMeans(2, init=[[1.0], [1.0]], n_init=1, empty="keep").fit([[1.0], [1.0], [3.0]])
    model.cluster_centers_ = np.array([[1.0], [1.0]])
    assert to_sklearn(model).predict([[1.0]]).tolist() == [0]


def test_it_works_in_a_pipeline_pickles_and_fits_again():
    scaler = StandardScaler().fit(ROWS)
    model = KMeans(3, random_state=0, algorithm="plain").fit(scaler.transform(ROWS))
    line = make_pipeline(scaler, to_sklearn(model))
    wanted = model.predict(scaler.transform(NEW)).tolist()
    assert line.predict(NEW).tolist() == wanted
    assert pickle.loads(pickle.dumps(line)).predict(NEW).tolist() == wanted
    assert len(set(line.fit(ROWS).predict(ROWS))) == 3


def test_what_has_no_means_in_the_space_of_the_rows_is_refused():
    for kind in (SphericalKMeans, KMedoids, KernelKMeans, Other):
        with pytest.raises(TypeError, match=f"must be a KMeans or .*, got a {kind.__name__}"):
            to_sklearn(kind(2).fit(ROWS))
    with pytest.raises(NotFittedError):
        to_sklearn(KMeans(2))


def by_onnx(model, rows):
    """The labels of rows, by an ONNX file of the model."""
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    made = skl2onnx.to_onnx(to_sklearn(model), rows[:1])
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    (name,) = [each.name for each in session.get_inputs()]
    return session.run(None, {name: rows})[0]


@pytest.mark.filterwarnings("ignore")  # of other packages
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_becomes_onnx(dtype):
    model = KMeans(3, random_state=0).fit(ROWS.astype(dtype))
    new = NEW.astype(dtype)
    assert by_onnx(model, new).tolist() == model.predict(new).tolist()


@pytest.mark.filterwarnings("ignore")  # of other packages
def test_a_scaling_becomes_onnx_too(tmp_path):
    scaling = Scaling.fit(ROWS, "standard")
    model = KMeans(3, random_state=0).fit(scaling.apply(ROWS))
    save(model, tmp_path / "a", scaling=scaling, fill=ROWS.mean(axis=0))
    ours, new = load(tmp_path / "a"), NEW.astype(np.float32)  # its imputer takes no doubles
    assert by_onnx(ours, new).tolist() == ours.predict(new).tolist()


def test_a_model_that_leaves_rows_out_is_not_exported():
    rows = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(
        TypeError, match=r"a cluster for every row, got a TrimmedKMeans: .*rows out"
    ):
        to_sklearn(TrimmedKMeans(2, random_state=0).fit(rows))
    assert to_sklearn(TrimmedKMeans(2, trim=0, random_state=0).fit(rows)).predict(rows).min() == 0

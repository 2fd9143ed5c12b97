"""A pipeline is read as its last step, with rows as the others hand them over."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans as Peer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from partita import KernelKMeans, KMeans, cells, diagnose, factorize, merge_tree, plots
from partita.estimators.fitted_models import unwrap_pipeline

X = load_wine().data
MAKE = {
    "scaled": lambda model: make_pipeline(StandardScaler(), model),
    "alone": lambda model: make_pipeline(model),
    "passing": lambda model: Pipeline(
        [("a", "passthrough"), ("b", StandardScaler()), ("c", model)]
    ),
    "nested": lambda model: make_pipeline(StandardScaler(), make_pipeline(PCA(4), model)),
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
@pytest.mark.parametrize("model", [KMeans(3, random_state=0), Peer(3, n_init=1, random_state=0)])
def test_a_pipeline_is_its_last_step_on_its_own_rows(make, model):
    pipe = make(model).fit(X)
    last, rows, _ = unwrap_pipeline(pipe, X)
    np.testing.assert_array_equal(last.predict(rows), pipe.predict(X))
    assert str(diagnose(pipe, X)) == str(diagnose(last, rows))
    assert factorize(pipe, X).objective == factorize(last, rows).objective
    np.testing.assert_array_equal(merge_tree(pipe, X).linkage, merge_tree(last, rows).linkage)
    np.testing.assert_array_equal(cells(pipe).contains(rows), pipe.predict(X))
    if isinstance(last, KMeans):
        np.testing.assert_array_equal(merge_tree(pipe).linkage, merge_tree(last).linkage)


def test_what_is_no_pipeline_stays_as_it_is():
    model = KMeans(3)
    assert unwrap_pipeline(model, X) == (model, X, None)


@pytest.mark.heavy
def test_names_of_features_come_through():
    pytest.importorskip("pandas")
    frame = load_wine(as_frame=True).data
    for scaler in (
        StandardScaler(with_std=False),
        StandardScaler(with_std=False).set_output(transform="pandas"),
    ):
        pipe = make_pipeline(scaler, KMeans(3, n_init=5, random_state=0)).fit(frame)
        assert diagnose(pipe, frame)["scale"].features == ("proline",)
    plain = make_pipeline(StandardScaler(with_std=False), KMeans(3, random_state=0)).fit(X)
    assert diagnose(plain, X)["scale"].features == (12,)
    axes = make_pipeline(PCA(), KMeans(3, random_state=0)).fit(X)
    assert diagnose(axes, X)["scale"].features == ("pca0",)
    shy = make_pipeline(FunctionTransformer(np.asarray), KMeans(3, random_state=0)).fit(frame)
    assert diagnose(shy, frame)["scale"].features == (12,)  # which knows no names


def test_errors_are_those_of_the_last_step():
    for call in (diagnose, factorize, merge_tree):
        with pytest.raises(NotFittedError):
            call(make_pipeline(KMeans(3)), X)
        with pytest.raises(NotFittedError):
            call(make_pipeline(StandardScaler(), KMeans(3)), X)
    with pytest.raises(NotFittedError):
        cells(make_pipeline(StandardScaler(), KMeans(3)))
    kernel = make_pipeline(StandardScaler(), KernelKMeans(3, random_state=0)).fit(X)
    with pytest.raises(ValueError, match=r"factorize\(\) needs centers .* KernelKMeans has none"):
        factorize(kernel, X)
    with pytest.raises(TypeError, match="must be a fitted model with predict"):
        merge_tree(make_pipeline(StandardScaler()).fit(X), X)
    with pytest.raises(ValueError, match="features"):
        diagnose(make_pipeline(StandardScaler(), KMeans(3)).fit(X), X[:, :2])


def test_pictures_are_those_of_the_last_step():
    pytest.importorskip("pandas")
    frame = load_wine(as_frame=True).data
    pipe = make_pipeline(StandardScaler(), KMeans(3, random_state=0)).fit(frame)
    last, rows, _ = unwrap_pipeline(pipe, frame)
    for display in (
        plots.ClusterDisplay,
        plots.IterationsDisplay,
        plots.SilhouetteDisplay,
        plots.MergeTreeDisplay,
        plots.ProfileDisplay,
    ):
        assert display.from_estimator(pipe, frame).title == display.from_estimator(last, rows).title
    assert plots.ObjectiveDisplay.from_estimator(pipe).title.startswith("KMeans: 3 clusters")
    assert "proline" in plots.ProfileDisplay.from_estimator(pipe, frame).names
    two = plots.ClusterDisplay.from_estimator(pipe, frame, features=["alcohol", "proline"])
    assert two.names == ("alcohol", "proline")

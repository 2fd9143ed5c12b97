"""`KMeans` in pipelines, grid searches, copies and pickles."""

from __future__ import annotations

import copy
import pickle

import joblib
import numpy as np
import pytest
import sklearn.cluster
from helpers.iris_fits import (
    IRIS,
    assert_same_fit,
    fit_iris,
)
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from partita import KMeans
from partita.halting import Deadline, MaxIter, RelDecrease, Target

# --- among scikit-learn's tools ------------------------------------------------------------------


def test_a_pipeline_passes_weights_on_and_predicts_the_labels():
    pipe = make_pipeline(StandardScaler(), KMeans(3, random_state=0))
    weight = np.random.default_rng(0).random(150)
    labels = pipe.fit_predict(IRIS, kmeans__sample_weight=weight)
    scaled = StandardScaler().fit_transform(IRIS)
    expected = KMeans(3, random_state=0).fit(scaled, sample_weight=weight)
    np.testing.assert_array_equal(labels, expected.labels_)
    np.testing.assert_array_equal(pipe.predict(IRIS), expected.labels_)
    np.testing.assert_array_equal(pipe.get_feature_names_out(), expected.get_feature_names_out())


def test_weights_are_routed_where_they_are_requested():
    weight = np.random.default_rng(0).random(150)
    with sklearn.config_context(enable_metadata_routing=True):
        kmeans = KMeans(3, random_state=0).set_fit_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), kmeans)
        labels = pipe.fit(IRIS, sample_weight=weight)[-1].labels_
    scaled = StandardScaler().fit_transform(IRIS)
    expected = KMeans(3, random_state=0).fit_predict(scaled, sample_weight=weight)
    np.testing.assert_array_equal(labels, expected)


def test_a_grid_search_finds_that_more_clusters_lower_the_inertia():
    search = GridSearchCV(KMeans(random_state=0), {"n_clusters": [2, 3, 5]}, cv=3)
    shuffled = np.random.default_rng(0).permutation(IRIS)
    assert search.fit(shuffled).best_params_ == {"n_clusters": 5}
    assert len(search.best_estimator_.cluster_centers_) == 5


def through_joblib(model, tmp_path, mmap_mode=None):
    joblib.dump(model, tmp_path / "model.joblib")
    return joblib.load(tmp_path / "model.joblib", mmap_mode=mmap_mode)


@pytest.mark.parametrize(
    "carry",
    [
        lambda model, _: pickle.loads(pickle.dumps(model)),
        lambda model, _: pickle.loads(pickle.dumps(model, protocol=2)),
        lambda model, _: copy.copy(model),
        lambda model, _: copy.deepcopy(model),
        through_joblib,
        lambda model, folder: through_joblib(model, folder, mmap_mode="r"),
    ],
    ids=["pickle", "pickle-2", "copy", "deepcopy", "joblib", "joblib-mmap"],
)
def test_a_carried_model_is_the_same_model(carry, tmp_path):
    model = fit_iris(halt=RelDecrease(1e-3) & Deadline(60) | Target(1.0), callback=print)
    carried = carry(model, tmp_path)
    assert_same_fit(carried, model)
    assert carried.trace_ == model.trace_
    assert carried.stopped_by_ == model.stopped_by_
    assert repr(carried.halt) == repr(model.halt)
    np.testing.assert_array_equal(carried.stats_.sse, model.stats_.sse)
    np.testing.assert_array_equal(carried.predict(IRIS), model.labels_)
    np.testing.assert_array_equal(carried.predict(IRIS[:2]), model.labels_[:2])
    np.testing.assert_array_equal(carried.transform(IRIS), model.transform(IRIS))


def test_a_clone_has_the_parameters_and_no_fit():
    model = fit_iris(halt=MaxIter(3) | Deadline(60), callback=print, empty="keep", n_threads=1)
    twin = clone(model)
    assert not hasattr(twin, "cluster_centers_")
    assert str(twin.get_params()) == str(model.get_params())
    assert_same_fit(twin.fit(IRIS), model)


@pytest.mark.parametrize("show", [repr, str, lambda model: model._repr_html_()])
def test_a_model_shows_the_parameters_that_were_changed(show):
    text = show(KMeans(5, halt=RelDecrease(1e-3)))
    assert "n_clusters" in text
    assert "RelDecrease(0.001)" in text

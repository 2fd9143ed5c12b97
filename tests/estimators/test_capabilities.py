"""The capability record of every member, and of models of other libraries, is consistent."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import cluster as peers
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from partita import (
    KernelKMeans,
    KMeans,
    KMedoids,
    KPrototypes,
    MiniBatchKMeans,
    SphericalKMeans,
)
from partita.estimators.fitted_models import capabilities_of
from partita.geometry import EUCLIDEAN, SPHERICAL

X = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat([[0.0], [6.0], [12.0]], 20, axis=0)
FAR, GRAM = euclidean_distances(X), rbf_kernel(X)
MEMBERS = {
    "kmeans": (KMeans(3, random_state=0), X),
    "minibatch": (MiniBatchKMeans(3, random_state=0), X),
    "spherical": (SphericalKMeans(3, random_state=0), X),
    "medoids": (KMedoids(3, random_state=0), X),
    "medoids manhattan": (KMedoids(3, metric="manhattan", random_state=0), X),
    "medoids minkowski": (KMedoids(3, metric="minkowski", metric_params={"p": 3}), X),
    "medoids matrix": (KMedoids(3, metric="precomputed", random_state=0), FAR),
    "prototypes": (KPrototypes(3, random_state=0, categorical=[2]), X.round()),
    "kernel": (KernelKMeans(3, random_state=0), X),
    "kernel matrix": (KernelKMeans(3, kernel="precomputed", random_state=0), GRAM),
    "cut": (KernelKMeans(3, kernel="normalized-cut", random_state=0), GRAM),
    "neighbours": (KernelKMeans(3, kernel="nearest_neighbors", random_state=0), X),
    "sklearn": (peers.KMeans(3, n_init=1, random_state=0), X),
    "bisecting": (peers.BisectingKMeans(3, random_state=0), X),
    "agglomerative": (peers.AgglomerativeClustering(3), X),
}


@pytest.fixture(params=MEMBERS)
def fitted(request):
    model, data = MEMBERS[request.param]
    return model.fit(data), data


def test_a_need_that_is_not_met_has_a_reason(fitted):
    capabilities = capabilities_of(fitted[0])
    assert all(reason for reason in capabilities.lacks.values())
    assert capabilities.takes_matrix == (not capabilities.has("rows"))
    if capabilities.metric is None:
        assert not capabilities.has("metric")
    if capabilities.replay is None:
        assert not capabilities.has("replay")
    if capabilities.has("cells"):
        assert fitted[0].cluster_centers_ is not None
    if capabilities.merge_rule == "means":
        assert capabilities.geometry is not None


def test_costs_are_lowest_at_the_label(fitted):
    model, data = fitted
    costs = capabilities_of(model).costs
    if costs is None:
        assert not hasattr(model, "__partita_capabilities__")
        return
    labels, values = costs(data)
    np.testing.assert_array_equal(labels, model.predict(data))
    np.testing.assert_array_equal(values.argmin(axis=1), labels)


def test_an_unfitted_model_has_a_record_too(fitted):
    model = fitted[0]
    unfitted, after = capabilities_of(type(model)(**model.get_params())), capabilities_of(model)
    assert unfitted.input == after.input
    assert unfitted.geometry is after.geometry
    assert unfitted.warm_start == after.warm_start
    assert (unfitted.open_session is None) == (after.open_session is None)


def test_a_pipeline_has_the_capabilities_of_its_last_step():
    assert capabilities_of(make_pipeline(StandardScaler(), KMeans())).geometry is EUCLIDEAN
    assert capabilities_of(make_pipeline(StandardScaler(), SphericalKMeans())).geometry is SPHERICAL


@pytest.mark.parametrize(
    ("name", "lacking"),
    [
        ("kmeans", set()),
        ("minibatch", {"replay"}),
        ("spherical", {"features", "means"}),
        ("medoids", {"means"}),
        ("medoids manhattan", {"means", "space", "cells"}),
        ("medoids minkowski", {"means", "space", "cells", "metric"}),
        ("kernel", {"space", "cells", "means", "metric", "replay"}),
        ("bisecting", {"cells", "replay"}),
        ("agglomerative", {"cells", "means", "refit", "replay"}),
    ],
)
def test_what_each_model_lacks(name, lacking):
    model, data = MEMBERS[name]
    assert set(capabilities_of(model.fit(data)).lacks) == lacking

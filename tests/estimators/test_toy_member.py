"""A new member of the family: a class outside the package is accepted by every consumer."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.datasets import make_blobs

import partita
from partita.estimators import Capabilities, Replay, registry


@partita.register
class KMedians(ClusterMixin, BaseEstimator):
    """Centers are medians of the features, distances are those of Manhattan."""

    def __init__(self, n_clusters=3, *, init="rows", max_iter=50, random_state=None):
        self.n_clusters, self.init = n_clusters, init
        self.max_iter, self.random_state = max_iter, random_state

    def fit(self, X, y=None, sample_weight=None):
        X = np.asarray(X, dtype=np.float64)
        weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        centers = self.init
        if centers is None or isinstance(centers, str):
            rng = np.random.default_rng(self.random_state)
            centers = X[rng.choice(len(X), self.n_clusters, replace=False)]
        self.start_ = self.cluster_centers_ = np.array(centers)
        self.n_features_in_ = X.shape[1]
        for iteration in range(1, self.max_iter + 1):
            before, self.n_iter_ = self.cluster_centers_, iteration
            labels = self.transform(X).argmin(axis=1)
            self.cluster_centers_ = before.copy()
            for j in np.unique(labels):
                members = X[labels == j].repeat(weight[labels == j].round().astype(int), axis=0)
                if len(members):
                    self.cluster_centers_[j] = np.median(members, axis=0)
            if (self.cluster_centers_ == before).all():
                break
        self.labels_ = self.predict(X)
        self.inertia_ = -self.score(X, sample_weight=weight)
        return self

    def transform(self, X):
        return np.abs(np.asarray(X)[:, None] - self.cluster_centers_).sum(axis=2)

    def predict(self, X):
        return self.transform(X).argmin(axis=1)

    def score(self, X, y=None, sample_weight=None):
        return -np.average(self.transform(X).min(axis=1), weights=sample_weight) * len(X)

    def __partita_capabilities__(self):
        medians = "centers are medians, not means"
        manhattan = "distances are those of Manhattan"
        return Capabilities(
            geometry=None,
            lacks={"means": medians, "cells": manhattan, "space": manhattan},
            metric="manhattan",
            squared=False,
            merge_rule="representatives",
            costs=lambda X: (self.predict(X), self.transform(X)),
            distances=self.transform,
            replay=Replay.from_centers(self),
        )


@pytest.fixture(scope="module")
def data():
    return make_blobs(120, centers=3, cluster_std=0.6, random_state=4)[0]


@pytest.fixture(scope="module")
def model(data):
    return KMedians(3, random_state=1).fit(data)


def test_choose_k_sweeps_over_it(data):
    sweep = partita.choose_k(
        data,
        range(2, 6),
        estimator=KMedians(random_state=0),
        random_state=0,
        n_references=2,
        n_splits=1,
    )
    assert sweep.best_k == 3
    found = sweep.model(3)
    assert type(found) is KMedians
    assert found.init == "rows"
    costs = [sweep.model(k).inertia_ for k in sweep.ks]
    assert costs == sorted(costs, reverse=True)
    assert {"inertia", "silhouette", "simplified_silhouette"} <= set(sweep.criteria)


def test_diagnose_checks_what_applies_and_says_why_the_rest_does_not(model, data):
    diagnosis = partita.diagnose(model, data)
    skipped = dict(diagnosis.skipped)
    assert skipped["local-minimum"] == "centers are medians, not means"
    assert skipped["near-faces"] == "distances are those of Manhattan"
    assert "unstable" not in skipped


def test_merge_tree_keeps_the_better_of_two_centers(model, data):
    tree = partita.merge_tree(model, data)
    assert tree.cost == pytest.approx(model.inertia_)
    one_center = model.transform(data).sum(axis=0)
    assert any(tree.cost_at(1) == pytest.approx(cost) for cost in one_center)
    with pytest.raises(ValueError, match=r"merge_tree\(model, X\)"):
        partita.merge_tree(model)


def test_cells_are_refused_for_its_reason(model):
    with pytest.raises(ValueError, match="KMedians: distances are those of Manhattan"):
        partita.cells(model)


@pytest.mark.heavy
def test_every_display_of_a_fit_draws_it(model, data):
    plots = partita.plots
    for display in (
        plots.ClusterDisplay,
        plots.SilhouetteDisplay,
        plots.ProfileDisplay,
        plots.MergeTreeDisplay,
        plots.IterationsDisplay,
    ):
        shown = display.from_estimator(model, data)
        assert "KMedians" in shown.title, display.__name__
        shown.plot()


def test_its_run_can_be_replayed(model, data):
    from partita.plots.replay import replay

    fits, same = replay(model, data, None, 4)
    assert same
    first, *_, last = fits.values()
    np.testing.assert_array_equal(last.cluster_centers_, model.cluster_centers_)
    start = np.sort(model.start_, axis=0)
    np.testing.assert_array_equal(np.sort(first.cluster_centers_, axis=0), start)
    assert first.inertia_ > last.inertia_


def test_a_run_without_its_start_or_length_is_not_replayed(model, data):
    from_estimator = partita.plots.IterationsDisplay.from_estimator
    other = copy.copy(model)
    del other.n_iter_
    with pytest.raises(ValueError, match=r"KMedians cannot be repeated: it has no n_iter_\."):
        from_estimator(other, data)
    del other.start_
    with pytest.raises(ValueError, match="it has no start_ and no n_iter_"):
        from_estimator(other, data)
    skipped = dict(partita.diagnose(other, data).skipped)
    assert skipped["not-converged"] == "the model has no `trace_` and no `n_iter_`"


def test_init_may_be_none(data, tmp_path):
    sweep, named = (
        partita.choose_k(
            data, 5, estimator=KMedians(init=init), criteria="silhouette", random_state=0
        )
        for init in (None, "rows")
    )
    assert sweep.model(3).inertia_ == named.model(3).inertia_
    assert sweep.model(3).init is None
    partita.save(sweep.model(3), tmp_path / "a.partita")
    assert partita.load(tmp_path / "a.partita").init is None
    with pytest.raises(ValueError, match=r"`init` must be.*got an array of shape \(2, 2\)"):
        partita.choose_k(data, 5, estimator=KMedians(init=data[:2]))


def test_a_report_shows_it(model, data, tmp_path):
    page = tmp_path / "report.html"
    partita.report.write_report(page, partita.report.Fitted(model, data))
    assert "KMedians" in page.read_text()
    summary = partita.report.summarise(partita.report.Fitted(model, data))
    assert [cluster.size for cluster in summary.clusters] == np.bincount(model.labels_).tolist()


def test_a_file_keeps_it(model, data, tmp_path):
    path = tmp_path / "a.partita"
    partita.save(model, path)
    again = partita.load(path)
    assert type(again) is KMedians
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.transform(data), model.transform(data))
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.inertia_ == model.inertia_


def test_a_class_that_is_not_registered_is_neither_saved_nor_loaded(
    model, data, tmp_path, monkeypatch
):
    class Stranger(KMedians):
        pass

    path = tmp_path / "a.partita"
    with pytest.raises(TypeError, match=r"partita\.register"):
        partita.save(Stranger(2).fit(data), path)
    assert not path.exists()
    partita.save(model, path)
    monkeypatch.delitem(registry._REGISTERED, "KMedians")
    with pytest.raises(partita.ModelFileError, match="class KMedians, which is not registered"):
        partita.load(path)


def test_names_are_taken_once():
    class KMeans(BaseEstimator):
        def fit(self, X):
            return self

        def predict(self, X):
            return X

    with pytest.raises(ValueError, match=r"taken by partita\.estimators\.kmeans\.KMeans"):
        partita.register(KMeans)
    for other, text in ((int, "got <class 'int'>"), (3, "got 3")):
        with pytest.raises(TypeError, match=rf"clusterer with fit.*{text}\."):
            partita.register(other)
    assert partita.register(KMedians) is KMedians  # again is allowed, as in a notebook

"""`choose_k` with every member of the family: interruptions, progress, records, errors."""

from __future__ import annotations

import itertools
import pickle
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers.choosing_cases import QUICK, blobs
from scipy.spatial.distance import pdist, squareform
from sklearn import cluster as peers
from sklearn import metrics
from sklearn.datasets import load_iris, make_circles

from partita import (
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
    Sweep,
    TrimmedKMeans,
    choose_k,
)
from partita.choosing.gap_reference import among_outliers, left_out_by_most, uniform_box
from partita.halting import MaxIter
from partita.metrics.criteria import adjusted_rand


def directions():
    rng = np.random.default_rng(0)
    middle = np.eye(4)[:3] * 10
    return np.repeat(middle, 40, axis=0) + rng.normal(size=(120, 4))


@pytest.mark.parametrize(
    ("estimator", "rows", "count"),
    [
        (SphericalKMeans(random_state=0), directions(), 3),
        (SphericalKMeans(random_state=0), sp.csr_array(directions()), 3),
        (
            SphericalKMeans(random_state=0, zero_rows="drop"),
            np.vstack([directions(), np.zeros(4)]),
            3,
        ),
        (
            SphericalKMeans(random_state=0, zero_rows="separate"),
            np.vstack([np.zeros(4), directions()]),
            3,
        ),
        (MiniBatchKMeans(random_state=0), blobs(), 4),
        (MiniBatchKMeans(random_state=0, compute_labels=False), blobs(), 4),
        (peers.KMeans(random_state=0, n_init=1), blobs(), 4),
        (peers.BisectingKMeans(random_state=0), blobs(n=120), 4),
        (KMedoids(random_state=0), blobs(n=160), 4),
        (KMedoids(random_state=0, metric="manhattan"), blobs(n=160), 4),
        (KMedoids(random_state=0, metric="minkowski", metric_params={"p": 3}), blobs(n=80), 4),
        (KMedoids(random_state=0, method="clara"), blobs(n=160), 4),
        (KMedoids(random_state=0, metric="precomputed"), squareform(pdist(blobs(n=160))), 4),
        (KMedoids(random_state=0, metric="precomputed"), pdist(blobs(n=160)), 4),
        (KernelKMeans(random_state=0, kernel="rbf", gamma=0.1), blobs(n=100), 4),
        (KernelKMeans(random_state=0, kernel="precomputed"), blobs(n=160) @ blobs(n=160).T, 4),
        (KMeans(random_state=0), sp.csr_array(blobs()), 4),
        (KMeans(random_state=0), blobs().astype(np.float32), 4),
    ],
    ids=lambda value: str(value)[:40] if hasattr(value, "get_params") else "",
)
def test_every_member_of_the_family(estimator, rows, count):
    how = {"estimator": estimator, "n_references": 4, "n_splits": 2}
    if type(estimator).__module__.startswith("sklearn"):  # whose fits take long
        how["criteria"] = QUICK
    sweep = choose_k(rows, range(2, 7), random_state=0, **how)
    assert isinstance(sweep, Sweep)
    assert sweep.complete
    assert sweep.best_k == count
    assert isinstance(sweep.model(), type(estimator))
    asked = {**estimator.get_params(), "n_clusters": count}
    assert str(sweep.model().get_params()) == str(asked)
    assert pickle.loads(pickle.dumps(sweep)).best_k == count
    cost = sweep.criteria["inertia"].values
    if getattr(estimator, "method", "") != "clara":  # whose medoids are of samples
        assert (np.diff(cost) <= 1e-9 * cost[0]).all()


@pytest.mark.heavy
def test_kernels_separate_rings():
    rows, _ = make_circles(200, factor=0.2, noise=0.03, random_state=0)
    estimator = KernelKMeans(random_state=0, kernel="rbf", gamma=5.0)
    sweep = choose_k(rows, range(2, 6), random_state=0, estimator=estimator, n_references=3)
    assert set(sweep.criteria) >= {"inertia", "silhouette", "simplified_silhouette", "stability"}
    inner = np.hypot(*rows.T) < 0.6
    assert adjusted_rand(sweep.model(2).labels_, inner) == 1.0


@pytest.mark.heavy
def test_a_graph_has_an_objective_and_stability_only():
    rows = blobs(n=120)
    graph = np.exp(-squareform(pdist(rows, "sqeuclidean")))
    estimator = KernelKMeans(random_state=0, kernel="normalized-cut")
    sweep = choose_k(graph, range(2, 7), random_state=0, estimator=estimator, n_splits=2)
    assert set(sweep.criteria) == {"inertia", "prediction_strength", "stability"}
    assert 4 in sweep.ranking[:2]


@pytest.mark.parametrize("estimator", [KMeans(), KMedoids(), peers.KMeans(n_init=1)])
def test_names_of_features_are_kept(estimator):
    frame = pd.DataFrame(blobs(n=80), columns=["width", "height"])
    sweep = choose_k(frame, [2, 3], estimator=estimator, random_state=0, criteria="silhouette")
    assert sweep.model(3).feature_names_in_.tolist() == ["width", "height"]
    assert len(sweep.model(3).predict(frame)) == 80  # and no warning


def test_directions_are_measured_by_one_minus_cosine():
    rows = directions()
    estimator = SphericalKMeans(random_state=0, halt=MaxIter(300))
    sweep = choose_k(rows, [3], estimator=estimator, criteria=QUICK)
    model = sweep.model(3)
    away = np.sort(model.transform(rows), axis=1)
    simplified = (1 - away[:, 0] / away[:, 1]).mean()
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    chord = np.linalg.norm(unit - model.cluster_centers_[model.labels_], axis=1)
    spread = [chord[model.labels_ == j].mean() for j in range(3)]
    between = squareform(pdist(model.cluster_centers_))
    worst = [
        max((spread[i] + spread[j]) / between[i, j] for j in range(3) if j != i) for i in range(3)
    ]
    assert sweep.criteria["simplified_silhouette"].values[0] == pytest.approx(simplified)
    assert sweep.criteria["davies_bouldin"].values[0] == pytest.approx(np.mean(worst))
    cosine = metrics.silhouette_score(rows, model.labels_, metric="cosine")
    assert sweep.criteria["silhouette"].values[0] == pytest.approx(cosine)


@pytest.mark.parametrize("how", ["callback", "ctrl-c"])
def test_an_interruption_keeps_the_fits_so_far(how):
    heard = []

    def stop(progress):
        heard.append(progress)
        if progress.done == 4:
            if how == "ctrl-c":
                raise KeyboardInterrupt
            return np.True_
        return None

    with pytest.warns(UserWarning, match="choose_k was interrupted after 4 fits") as said:
        sweep = choose_k(blobs(), range(2, 10), random_state=0, callback=stop)
    assert said[0].filename == __file__
    assert not sweep.complete
    assert sweep.ks == (6, 7, 8, 9)
    assert sweep.best_k in sweep.ks
    assert [p.k for p in heard] == [9, 8, 7, 6]
    assert "no K below 6 was tried" in sweep.verdict
    assert {p.stage for p in heard} == {"fits"}
    assert {p.total for p in heard} == {9}


def test_an_interruption_after_the_fits_keeps_the_criteria_of_the_fits():
    def stop(progress):
        return progress.stage == "references"

    with pytest.warns(UserWarning, match="choose_k was interrupted"):
        sweep = choose_k(blobs(), range(2, 7), random_state=0, callback=stop)
    assert sweep.best_k == 4
    assert sweep.structure is None
    assert "gap" not in sweep.criteria
    assert "before all criteria were known" in sweep.verdict
    assert "whether there is structure at all was not tested" in sweep.reasons


def test_an_interruption_before_the_first_fit_is_raised():
    def at_once(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        choose_k(blobs(), [2], random_state=0, estimator=KMeans(callback=at_once))


def test_progress_counts_every_stage(capsys):
    heard = []
    choose_k(
        blobs(),
        [2, 3],
        random_state=0,
        n_references=2,
        n_splits=2,
        callback=heard.append,
        verbose=1,
    )
    stages = [(p.stage, p.done, p.total) for p in heard]
    assert stages == [
        ("fits", 1, 3),
        ("fits", 2, 3),
        ("fits", 3, 3),
        ("references", 1, 3),
        ("references", 2, 3),
        ("references", 3, 3),
        ("clouds", 1, 2),
        ("clouds", 2, 2),
        ("halves", 1, 2),
        ("halves", 2, 2),
    ]
    assert "fits: 1 of 3, K = 3" in capsys.readouterr().out


def test_the_text_of_a_sweep_has_verdict_reasons_and_table():
    sweep = choose_k(load_iris().data, range(2, 6), random_state=0)
    text = str(sweep)
    assert text.startswith(sweep.verdict)
    assert all(reason in text for reason in sweep.reasons)
    assert len(sweep.to_frame("pandas")) == 4
    assert sweep.to_dict()["k"] == [2, 3, 4, 5]
    assert {"gap", "gap_error", "prediction_strength_error"} <= set(sweep.to_dict())
    assert sweep.verdict in repr(sweep)
    assert sweep.verdict in sweep._repr_html_()
    assert "&lt; the recommended number" in sweep._repr_html_()
    assert "voting criteria" in sweep._repr_html_()
    assert max(len(line) for line in text.splitlines() if "*" in line) <= 100


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ks": [1]}, "at least one of them above 1"),
        ({"ks": []}, "`ks` must be 1 to 1000000 numbers of clusters, got"),
        ({"ks": [2, 500]}, "`ks` must be at most 300, the number of rows, got 500. Try up to 299"),
        ({"ks": [2.5]}, "`ks` must be .*got 2.5"),
        ({"ks": "2-5"}, r"`ks` must be .*got '2-5'\. Give several .*range\(2, 6\).*'2:5'"),
        ({"ks": "5:2"}, r"`ks` must be .*got '5:2'"),
        ({"ks": "2:999999999"}, "`ks` must be at most 300, the number of rows, got 301"),
        ({"ks": itertools.repeat(3)}, "`ks` must be 1 to 1000000 numbers of clusters"),
        ({"criteria": ["silhouete"]}, "names from inertia, silhouette"),
        ({"criteria": []}, "names from inertia, silhouette"),
        ({"estimator": KMeans}, "a clusterer with the parameters n_clusters and init"),
        ({"estimator": peers.DBSCAN()}, "a clusterer with the parameters n_clusters and init"),
        ({"n_references": 0}, "`n_references` must be .*got 0"),
        ({"n_splits": 0}, "`n_splits` must be .*got 0"),
        ({"sample_size": 1}, "`sample_size` must be .*got 1"),
        ({"ks": 1}, "at least one of them above 1"),
        (
            {"estimator": KMeans(init=np.zeros((3, 2)))},
            "`init` must be the name of a start or a callable",
        ),
        ({"X": [[1.0, 2.0]]}, "at least two rows"),
        ({"X": blobs() * 1e160}, "Multiply X by one number"),
        ({"X": blobs() * 1e-160}, "Multiply X by one number"),
        ({"callback": 3}, "`callback` must be a callable or None, got 3"),
        ({"sample_weight": np.ones(3)}, "sample_weight"),
        ({"random_state": -1}, "`random_state` must be .*got -1"),
    ],
)
def test_invalid_parameters_of_choose_k(given, message):
    with pytest.raises(ValueError, match=message):
        choose_k(**{"X": blobs(), **given})


@pytest.mark.parametrize("rows", [[[0.0], [1.0]], [[0.0], [0.0], [1.0]], np.zeros((9, 2))])
def test_few_rows_and_equal_rows(rows):
    sweep = choose_k(rows, random_state=0)
    assert sweep.best_k >= 1
    assert sweep.criteria["inertia"].values[-1] == 0.0


def test_rows_that_are_not_finite_are_named():
    rows = blobs()
    rows[7, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        choose_k(rows)


def test_outliers_do_not_hide_groups_from_an_estimator_that_leaves_them_out():
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 8, rng.normal(size=(4, 2)) * 60]
    estimator = TrimmedKMeans(n_init=4, random_state=0)
    sweep = partial(choose_k, ks=[2, 3, 4], estimator=estimator, n_references=4, random_state=0)
    assert sweep(np.concatenate(groups)).best_k == 2
    assert sweep(np.concatenate([groups[0], groups[0][::-1] * 0.9, groups[2]])).best_k == 1


def test_references_keep_the_rows_that_most_fits_leave_out():
    models = [SimpleNamespace(labels_=np.array(labels)) for labels in ([0, -1, -1], [0, -1, 0])]
    outliers = left_out_by_most([*models, SimpleNamespace(labels_=np.array([-1, -1, 0]))])
    np.testing.assert_array_equal(outliers, [1])
    assert left_out_by_most([SimpleNamespace(labels_=np.zeros(3)), SimpleNamespace()]) is None
    rows = np.array([[0.0], [1e9], [1.0], [2.0]])
    drawn = among_outliers(rows, outliers, lambda rows: uniform_box(rows, rotate=True))(
        np.random.default_rng(0)
    )
    assert drawn[1] == 1e9
    assert 0 <= drawn[[0, 2, 3]].min() <= drawn[[0, 2, 3]].max() <= 2

"""Policies of `KMeans` for empty clusters."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.cluster
from helpers.iris_fits import (
    CONTAINERS,
    IRIS,
    assert_same_fit,
    distances,
    fit_iris,
    near_rows,
)
from helpers.other_machines import MACHINES, text_on
from helpers.sparse_cases import relocation_by_the_last_digit
from sklearn.exceptions import ConvergenceWarning

from partita import EmptyClusterError, KMeans

# --- empty clusters ------------------------------------------------------------------------------

FAR = np.vstack([near_rows(IRIS, 3), np.full((1, 4), 1e3)])


def fit_with_a_far_center(empty, make=np.asarray, **params):
    return KMeans(4, init=FAR, empty=empty, **params).fit(make(IRIS))


@pytest.mark.parametrize("make", CONTAINERS)
def test_relocate_gives_an_empty_cluster_the_farthest_point(make):
    once = fit_with_a_far_center("relocate", make, max_iter=1)
    farthest = distances(IRIS, FAR).min(axis=1).argmax()
    np.testing.assert_allclose(once.cluster_centers_[3], IRIS[farthest], rtol=1e-12)
    full = fit_with_a_far_center("relocate", make)
    assert set(full.labels_) == {0, 1, 2, 3}
    assert [progress.empty for progress in full.trace_][:2] == [1, 0]


@pytest.mark.parametrize("make", CONTAINERS)
def test_relocating_follows_scikit_learn(make):
    ours = fit_with_a_far_center("relocate", make, tol=0)
    theirs = sklearn.cluster.KMeans(4, init=FAR, n_init=1, tol=0).fit(make(IRIS))
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)


@pytest.mark.parametrize("make", CONTAINERS)
def test_keep_leaves_an_empty_cluster_where_it_is_and_warns(make):
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(3\).*n_clusters \(4\)"):
        model = fit_with_a_far_center("keep", make)
    np.testing.assert_array_equal(model.cluster_centers_[3], FAR[3])
    assert set(model.labels_) == {0, 1, 2}
    assert model.stats_.weight[3] == 0
    assert {progress.empty for progress in model.trace_} == {1}
    np.testing.assert_array_equal(model.labels_, fit_iris().labels_)


@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform"])
def test_a_warning_points_at_the_line_that_called(method):
    with pytest.warns(ConvergenceWarning, match="distinct clusters") as caught:
        getattr(KMeans(4, init=FAR, empty="keep"), method)(IRIS)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("make", CONTAINERS)
def test_drop_goes_on_as_if_the_empty_cluster_had_never_been(make):
    model, without = fit_with_a_far_center("drop", make), fit_iris()
    np.testing.assert_array_equal(model.labels_, without.labels_)
    np.testing.assert_allclose(model.cluster_centers_, without.cluster_centers_, rtol=1e-12)
    assert model.transform(make(IRIS)).shape == (150, 3)
    assert len(model.get_feature_names_out()) == len(model.stats_.weight) == 3
    assert model.membership_.shape == (150, 3)


@pytest.mark.parametrize("make", CONTAINERS)
def test_fail_raises_an_error_that_names_the_cluster(make):
    with pytest.raises(EmptyClusterError, match=r"1 of 4 clusters became empty \(3\).*Lower"):
        fit_with_a_far_center("fail", make)
    assert issubclass(EmptyClusterError, ValueError)


@pytest.mark.parametrize("empty", ["relocate", "keep", "drop", "fail"])
def test_without_an_empty_cluster_every_policy_gives_the_same_bits(empty):
    assert_same_fit(fit_iris(5, empty=empty), fit_iris(5))


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("empty", ["relocate", "keep", "drop"])
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_a_cluster_of_rows_without_weight_is_empty_too(make, empty):
    rows = np.vstack([IRIS, FAR[3:]])
    weight = np.concatenate([np.ones(150), [0.0]])
    model = KMeans(4, init=FAR, empty=empty).fit(make(rows), sample_weight=weight)
    assert model.trace_[0].empty == 1
    np.testing.assert_array_equal(model.predict(make(rows)), model.labels_)
    assert model.score(make(rows), sample_weight=weight) == pytest.approx(-model.inertia_)
    if empty != "keep":
        assert (model.stats_.weight > 0).all()


@pytest.mark.parametrize("make", CONTAINERS)
def test_many_empty_clusters_are_relocated_to_different_points(make):
    init = np.vstack([IRIS.mean(axis=0), np.full((9, 4), 1e3) + np.arange(9)[:, None]])
    model = KMeans(10, init=init).fit(make(IRIS))
    assert set(model.labels_) == set(range(10))
    assert model.trace_[0].empty == 9


@pytest.mark.heavy
@pytest.mark.parametrize("machine", list(MACHINES))
def test_the_same_sparse_row_is_relocated_on_every_machine(machine):
    assert text_on(machine, relocation_by_the_last_digit) == relocation_by_the_last_digit()

"""Fits that are run again, step by step."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.pictures import IRIS, blobs, check
from helpers.slow_cases import slow
from sklearn.cluster import KMeans as Peer

from partita import (
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
)
from partita.plots import (
    IterationsDisplay,
)
from partita.plots.replay import select_iterations


@pytest.mark.heavy
@pytest.mark.parametrize("model", [
    KMeans(5, init="random", n_init=3, random_state=0),
    KMeans(5, init="random", n_init=1),  # a seed that nobody knows
    SphericalKMeans(4, init="random", n_init=2, random_state=1),
    KMedoids(4, method="alternate", random_state=0),
    KMedoids(4, random_state=0),
    *slow(
        SphericalKMeans(3, init=IRIS[[0, 60, 120]]),
        KMedoids(4, method="pam", init="random", random_state=3),
    ),
])  # fmt: skip
def test_the_steps_are_those_of_the_fit(model):
    model.fit(IRIS)
    display = check(IterationsDisplay.from_estimator(model, IRIS, most=50))
    costs = [frame.cost for frame in display.frames]
    assert [frame.iteration for frame in display.frames] == list(range(model.n_iter_ + 1))
    assert "cannot be repeated" not in display.caption
    assert costs[-1] == model.inertia_
    np.testing.assert_allclose(costs[: model.n_iter_], [step.cost for step in model.trace_])
    np.testing.assert_array_equal(display.frames[-1].scene.labels, model.labels_)


def test_a_start_runs_the_same_fit_again():
    X = blobs(6, 500)
    first = KMeans(6, init="random", n_init=4).fit(X)
    again = KMeans(6, init=first.start_).fit(X)
    np.testing.assert_array_equal(first.cluster_centers_, again.cluster_centers_)
    assert first.trace_[-1].cost == again.trace_[-1].cost


def test_a_start_of_medoids_is_made_of_rows_that_count():
    weight = np.r_[np.zeros(100), np.ones(50)]
    model = KMedoids(3, method="alternate", random_state=0).fit(IRIS, sample_weight=weight)
    assert (weight[model.start_] == 1).all()
    check(IterationsDisplay.from_estimator(model, IRIS, weight))
    assert KMedoids(3, method="clara", random_state=0).fit(IRIS).start_ is None


def test_clusters_keep_their_color_from_step_to_step():
    X = blobs(3, 300, seed=4)
    model = KMedoids(3, method="alternate", random_state=0).fit(X)
    frames = IterationsDisplay.from_estimator(model, X, most=50).frames
    last = frames[-1].scene
    np.testing.assert_array_equal(last.centers, model.cluster_centers_)
    before = frames[-2].scene
    assert (before.labels == last.labels).mean() > 0.9


@pytest.mark.parametrize("last", [1, 2, 5, 6, 17, 300])
@pytest.mark.parametrize("most", [2, 3, 6, 12])
def test_the_steps_shown_begin_at_the_start_and_end_at_the_end(last, most):
    turns = select_iterations(last, most)
    assert turns[0] == 0
    assert turns[-1] == last
    assert len(turns) == len(set(turns)) == min(most, last + 1)
    assert turns == sorted(turns)


@pytest.mark.heavy
def test_an_animation_has_a_picture_for_every_moment(tmp_path):
    from PIL import Image

    model = KMeans(5, init="random", n_init=1, random_state=0).fit(IRIS)
    display = IterationsDisplay.from_estimator(model, IRIS, most=4)
    path = display.save_animation(tmp_path / "a.gif", dpi=50)
    with Image.open(path) as image:
        assert image.n_frames == 4


@pytest.mark.parametrize("model", [
    Peer(2, n_init=1), MiniBatchKMeans(2), KernelKMeans(2), KMedoids(2, method="clara"),
    KMedoids(k_range=(2, 3)),
])  # fmt: skip
def test_other_members_cannot_be_run_again(model):
    reasons = "only|it keeps no start|the clusters of a kernel"
    with pytest.raises(ValueError, match=f"cannot be repeated: ({reasons})"):
        IterationsDisplay.from_estimator(model.fit(IRIS), IRIS)

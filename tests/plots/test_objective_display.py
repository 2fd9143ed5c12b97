"""The objective by iteration."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.pictures import IRIS, blobs, check, check_texts
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
    ObjectiveDisplay,
)


def test_the_objective_falls_and_ends_at_the_inertia():
    model = KMeans(8, init="random", n_init=1, random_state=0).fit(IRIS)
    display = check(ObjectiveDisplay.from_estimator(model))
    assert (np.diff(display.cost) <= 1e-9 * display.cost[0]).all()
    assert display.cost[-1] == model.inertia_
    assert display.steps[-1] == model.n_iter_
    assert model.stopped_by_ in display.caption


def test_iterations_have_the_same_numbers_in_all_displays():
    model = KMeans(5, init=IRIS[:5], n_init=1, tol=0).fit(IRIS)
    objective = ObjectiveDisplay.from_estimator(model)
    cost = dict(zip(objective.steps.tolist(), objective.cost.tolist(), strict=True))
    frames = IterationsDisplay.from_estimator(model, IRIS).frames
    assert frames[0].iteration == 0
    assert frames[-1].iteration == model.n_iter_
    for frame in frames:
        assert cost[frame.iteration] == pytest.approx(frame.cost)


@pytest.mark.parametrize(
    "model",
    [
        MiniBatchKMeans(6, batch_size=30, random_state=0),
        KMedoids(6, method="clara", random_state=0),
    ],
    ids=["batches", "clara"],
)
def test_the_objective_of_all_rows_is_apart_from_those_of_samples(model):
    X = blobs(6, 2000)
    display = check(ObjectiveDisplay.from_estimator(model.fit(X)))
    assert display.last_is_apart
    assert display.cost[-1] == model.inertia_
    assert "The diamond is J of all rows" in display.caption
    line, _, last = display.ax_.lines
    assert len(line.get_xdata()) == 2 * len(model.trace_)
    assert last.get_ydata().tolist() == [model.inertia_]
    assert [text.get_text() for text in display.ax_.texts] == ["all rows"]


def test_without_labels_there_is_no_objective_of_all_rows():
    model = MiniBatchKMeans(3, compute_labels=False, random_state=0).fit(IRIS)
    display = check(ObjectiveDisplay.from_estimator(model))
    assert not display.last_is_apart
    assert len(display.cost) == 2 * len(model.trace_)
    assert "J of samples" in display.caption


def test_several_fits_share_one_picture_with_a_legend():
    models = [KMeans(k, random_state=0).fit(IRIS) for k in (2, 3, 4)]
    first = ObjectiveDisplay.from_estimator(models[0]).plot()
    for model in models[1:]:
        ObjectiveDisplay.from_estimator(model, name=f"$K$ = {model.n_clusters}").plot(first.ax_)
    legend = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert len(legend) == 3
    assert legend[2].startswith(r"\$K\$ = 4")
    check_texts(first.figure_)


@pytest.mark.parametrize(
    "model",
    [
        KMedoids(3, random_state=0),
        KernelKMeans(3, random_state=0),
        MiniBatchKMeans(3, random_state=0),
        SphericalKMeans(3, random_state=0),
    ],
)
def test_every_member_has_an_objective(model):
    check(ObjectiveDisplay.from_estimator(model.fit(IRIS)))


def test_a_model_without_a_trace_is_refused():
    with pytest.raises(ValueError, match="keeps no trace"):
        ObjectiveDisplay.from_estimator(Peer(2, n_init=1).fit(IRIS))

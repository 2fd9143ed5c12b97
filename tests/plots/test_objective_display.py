"""The objective by iteration."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.pictures import IRIS, check, check_texts
from sklearn.cluster import KMeans as Peer

from partita import (
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
)
from partita.plots import (
    ObjectiveDisplay,
)


def test_the_objective_falls_and_ends_at_the_inertia():
    model = KMeans(8, init="random", n_init=1, random_state=0).fit(IRIS)
    display = check(ObjectiveDisplay.from_estimator(model))
    assert (np.diff(display.cost) <= 1e-9 * display.cost[0]).all()
    assert display.cost[-1] == model.inertia_
    assert display.steps[-1] == model.n_iter_ + 1
    assert model.stopped_by_ in display.caption


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

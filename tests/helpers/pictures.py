"""Displays to draw, and checks of what is drawn."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs

from partita.plots import (
    ClusterDisplay,
    IterationsDisplay,
    MergeTreeDisplay,
    ObjectiveDisplay,
    ProfileDisplay,
    SilhouetteDisplay,
)

matplotlib = pytest.importorskip("matplotlib")
IRIS = load_iris().data


def texts_of(figure):
    """The boxes of all texts that are drawn, with what they say."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    hidden = {id(text) for ax in figure.findobj(matplotlib.axes.Axes) for text in undrawn(ax)}
    texts = [text for text in figure.findobj(matplotlib.text.Text) if id(text) not in hidden]
    return [
        # of an annotation the text alone, without its line
        (text.get_text(), matplotlib.text.Text.get_window_extent(text, renderer))
        for text in texts
        if text.get_visible() and text.get_text().strip()
    ]


def undrawn(ax):
    """Texts of ticks outside of the limits."""
    for axis in (ax.xaxis, ax.yaxis):
        drawn = axis._update_ticks() if ax.axison else []
        for tick in axis.get_major_ticks() + axis.get_minor_ticks():
            if tick not in drawn:
                yield from (tick.label1, tick.label2)


def check_texts(figure):
    """No text covers another, and none leaves the page."""
    found = [(text, *box.extents.tolist()) for text, box in texts_of(figure)]
    width, height = figure.canvas.get_width_height()
    for text, left, low, right, high in found:
        assert left >= -1, text
        assert low >= -1, text
        assert right <= width + 1, text
        assert high <= height + 1, text
    for (one, ax0, ay0, ax1, ay1), (other, bx0, by0, bx1, by1) in itertools.combinations(found, 2):
        # a pixel of air around glyphs is not ink
        apart = ax1 - 1 < bx0 or bx1 - 1 < ax0 or ay1 - 1 < by0 or by1 - 1 < ay0
        assert apart, f"{one!r} covers {other!r}"


def check(display):
    check_texts(display.figure_)
    pixels = np.asarray(display.figure_.canvas.buffer_rgba())[..., :3]
    assert pixels.std() > 1, "nothing is on the page"
    return display


def blobs(k, n=400, d=2, seed=0):
    return make_blobs(n, d, centers=k, random_state=seed)[0]


def sweep(m=8, **changes):
    ks = tuple(range(1, m + 1))
    rng = np.random.default_rng(0)

    def criterion(name, better, pick=3, spread=None, values=None):
        values = rng.normal(size=m).cumsum() if values is None else values
        return SimpleNamespace(
            name=name, values=values, spread=spread, pick=pick, better=better, about=""
        )

    every = [
        criterion("inertia", "elbow", values=1e6 / np.array(ks)),
        criterion("silhouette", "high", values=np.r_[np.nan, rng.random(m - 1)]),
        criterion("simplified_silhouette", "high"),
        criterion("calinski_harabasz", "high"),
        criterion("davies_bouldin", "low"),
        criterion("bic", "low"),
        criterion("gap", "high", spread=np.full(m, 0.3)),
        criterion("prediction_strength", "high", pick=None),
        criterion("stability", "high", pick=None, values=np.full(m, np.nan)),
    ]
    given = {
        "ks": ks,
        "criteria": {each.name: each for each in every},
        "best_k": 3,
        "structure": True,
        "verdict": "3 clusters: five of seven criteria vote for it",
        "reasons": (),
        "complete": True,
    }
    return SimpleNamespace(**{**given, **changes})


def every_display(model, X):
    yield ClusterDisplay.from_estimator(model, X)
    yield ObjectiveDisplay.from_estimator(model)
    yield ProfileDisplay.from_estimator(model, X)
    yield MergeTreeDisplay.from_estimator(model, X)
    if model.n_clusters > 1:
        yield SilhouetteDisplay.from_estimator(model, X)
    yield IterationsDisplay.from_estimator(model, X)

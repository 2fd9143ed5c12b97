"""Silhouettes, sorted within clusters."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.pictures import IRIS, blobs, check

from partita import (
    KernelKMeans,
    KMeans,
    SphericalKMeans,
)
from partita._common.text import format_number
from partita.plots import (
    SilhouetteDisplay,
)
from partita.plots.silhouette_display import slot_heights


def test_silhouettes_are_those_of_scikit_learn_sorted_within_clusters():
    from sklearn.metrics import silhouette_samples

    model = KMeans(3, random_state=0).fit(IRIS)
    display = check(SilhouetteDisplay.from_estimator(model, IRIS))
    wanted = silhouette_samples(IRIS, model.labels_)
    np.testing.assert_allclose(display.values, wanted, atol=1e-10)
    assert np.isclose(display.mean, wanted.mean())
    assert display.negative == (wanted < 0).mean()
    assert len(display.ax_.collections) == 3
    for j, bars in enumerate(display.ax_.collections):
        seen = bars.get_paths()[0].vertices
        assert np.isclose(seen[:, 0].max(), wanted[model.labels_ == j].max())
        assert np.isclose(np.ptp(seen[:, 1]), (model.labels_ == j).sum())


@pytest.mark.parametrize(("k", "named"), [(30, 30), (60, 50)])
def test_thin_clusters_have_names_beside_them(k, named):
    rng = np.random.default_rng(0)
    sizes = np.r_[2000, rng.integers(2, 40, k - 1)]
    labels = np.repeat(np.arange(k), sizes)
    X = rng.normal(size=len(labels)) + 100.0 * labels
    display = check(SilhouetteDisplay.from_labels(X[:, None], labels))
    ax = display.ax_
    assert len(ax.collections) == k
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert len(names) == named
    for name, height in zip(names, ax.get_yticks(), strict=True):
        j = int(name.split()[0])
        assert f"({format_number(int(sizes[j]))}, " in name
        edges = ax.collections[j].get_paths()[0].vertices[:, 1]
        assert edges.min() <= height <= edges.max()
        assert np.ptp(edges) == pytest.approx(sizes[j])  # bands are not stretched
    assert ("only the 50 largest" in display.caption.lower()) == (named < k)


def test_bands_have_room_for_their_names():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        heights, lines = rng.exponential(size=20) ** 3, rng.uniform(21, 60)
        named = rng.random(20) < 0.7
        slots = slot_heights(heights, named, lines)
        assert (slots >= heights).all()
        assert (slots[named] >= slots.sum() / lines * (1 - 1e-6)).all()
        np.testing.assert_array_equal(slots[~named], heights[~named])


def test_labels_may_be_names_and_distances_may_be_given():
    from scipy.spatial.distance import cdist

    X = blobs(3, 90)
    labels = np.array(["one", "two", "$three$"])[KMeans(3, random_state=0).fit_predict(X)]
    display = check(SilhouetteDisplay.from_labels(X, labels))
    given = SilhouetteDisplay.from_labels(cdist(X, X), labels, metric="precomputed")
    np.testing.assert_allclose(display.values, given.values)


def test_many_rows_are_sampled_and_the_caption_says_so(monkeypatch):
    monkeypatch.setattr("partita.plots.silhouette_display._MAX_ROWS", 200)
    X = blobs(3, 1000)
    display = check(SilhouetteDisplay.from_estimator(KMeans(3, random_state=0).fit(X), X))
    assert len(display.values) == 200
    assert "200 of 1 000 rows, sampled" in display.caption
    assert display.sizes.sum() == 1000
    for name, size in zip(display.ax_.get_yticklabels(), display.sizes, strict=True):
        assert f"({size}, " in name.get_text()  # of all rows, not of the sample


def test_silhouettes_use_the_distance_of_the_model():
    model = SphericalKMeans(3, random_state=0).fit(IRIS)
    cosine = SilhouetteDisplay.from_labels(IRIS, model.labels_, metric="cosine")
    np.testing.assert_array_equal(
        SilhouetteDisplay.from_estimator(model, IRIS).values, cosine.values
    )
    with pytest.raises(ValueError, match="feature space"):
        SilhouetteDisplay.from_estimator(KernelKMeans(2, random_state=0).fit(IRIS), IRIS)


def test_weights_of_silhouettes_are_repeats():
    weight = np.random.default_rng(0).integers(1, 4, len(IRIS))
    labels = KMeans(3, random_state=0).fit_predict(IRIS)
    once = check(SilhouetteDisplay.from_labels(IRIS, labels, weight))
    often = SilhouetteDisplay.from_labels(IRIS.repeat(weight, axis=0), labels.repeat(weight))
    assert np.isclose(once.mean, often.mean)
    assert np.isclose(once.negative, often.negative)


def test_labels_must_be_as_many_as_rows():
    with pytest.raises(ValueError, match=r"`labels` must be of shape \(150,\)"):
        SilhouetteDisplay.from_labels(IRIS, [0, 1])

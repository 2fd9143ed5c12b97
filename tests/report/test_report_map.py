"""The map: every row in its place with its own values, or a fair sample."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.reports import NONE, Page, blobs, budget, fitted, unpacked

from partita import (
    KMeans,
)
from partita.report import (
    Fitted,
    map_data,
    render,
    silhouette_sample,
    summarise,
)


def test_axes_of_different_scales_say_so():
    says = "The axes have different scales."
    X = blobs(60, d=2) * [1, 1000]
    text = Page(render(Fitted(KMeans(3, random_state=0).fit(X), X, diagnosis=NONE))).text
    assert says in text
    assert says not in Page(render(fitted(d=1))).text
    round_ones = np.random.default_rng(0).normal(size=(60, 2))
    model = KMeans(3, random_state=0).fit(round_ones)
    assert says not in Page(render(Fitted(model, round_ones, diagnosis=NONE))).text


@pytest.mark.heavy
def test_many_rows_are_sampled_said_and_small_clusters_kept():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(60_000, 20)), rng.normal(50, 1, size=(5, 20))])
    model = KMeans(2, init=np.vstack([np.zeros(20), np.full(20, 50.0)])).fit(X)
    ids = [f"a rather long identifier {i}" for i in range(len(X))]
    text = render(Fitted(model, X, ids=ids, diagnosis=NONE))
    page = Page(text)
    labels = unpacked(page.data["labels"], "<u2")
    assert map_data.MAX_ROWS <= len(labels) < map_data.MAX_ROWS + 20
    assert np.count_nonzero(labels == 1) == 5
    assert "of 60\u202f005 rows are drawn: a random sample" in page.text
    assert len(text.encode()) < 8_000_000


def test_the_map_holds_every_row_with_its_own_values():
    made = fitted(ids=[f"r{i}" for i in range(60)], names=list("abcd"))
    data = Page(render(made)).data
    rows, labels = unpacked(data["rows"], "<u4") - 1, unpacked(data["labels"], "<u2")
    assert sorted(rows.tolist()) == list(range(60))
    assert data["ids"] == [f"r{i}" for i in rows]
    np.testing.assert_array_equal(labels, made.model.labels_[rows])
    np.testing.assert_array_equal(unpacked(data["values"], "<f8").reshape(60, 4), made.X[rows])
    assert data["names"] == list("abcd")


def test_points_and_cells_of_two_features_agree_with_predict():
    made = fitted(d=2)
    data = Page(render(made)).data
    xy = unpacked(data["xy"], "<u2").reshape(-1, 2) / 65535
    low, high = np.array(data["box"][:2]), np.array(data["box"][2:])
    rows = unpacked(data["rows"], "<u4") - 1
    np.testing.assert_allclose(low + xy * (high - low), made.X[rows], atol=1e-3)
    for corners in data["cells"]:
        inside = low + np.mean(corners, axis=0) * (high - low)
        j = made.model.predict([inside])[0]
        assert corners == data["cells"][j]


def test_small_clusters_are_in_every_sample(monkeypatch):
    monkeypatch.setattr(map_data, "MAX_ROWS", 200)
    monkeypatch.setattr(silhouette_sample, "MAX_PRODUCTS", budget(100, 5010, 2))
    X = np.vstack([np.random.default_rng(0).normal(size=(5000, 2)), np.full((10, 2), 50.0)])
    X[-10:] += np.arange(20).reshape(10, 2) / 100
    made = Fitted(KMeans(2, init=[[0, 0], [50, 50]]).fit(X), X, diagnosis=NONE)
    labels = unpacked(Page(render(made)).data["labels"], "<u2")
    assert (labels == 1).sum() == 10
    assert 200 <= len(labels) <= 210
    assert summarise(made).clusters[1].silhouette == pytest.approx(1.0, abs=0.05)

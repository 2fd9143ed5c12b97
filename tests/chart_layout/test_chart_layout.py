"""Layouts of charts: what plots and the report draw is the same."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from partita import KMeans, merge_tree
from partita.chart_layout.axis_range import axis_range
from partita.chart_layout.cluster_profile import cluster_profile
from partita.chart_layout.merge_tree_layout import merge_tree_layout
from partita.chart_layout.silhouette_bands import silhouette_bands
from partita.plots import ClusterDisplay, ProfileDisplay
from partita.report import Fitted
from partita.report.summary import analyse

IRIS = load_iris().data


def test_bands_hold_every_row_once_from_high_to_low():
    rng = np.random.default_rng(0)
    values, labels = rng.normal(size=200), rng.choice(["a", "b", "c"], 200)
    bands = silhouette_bands(values, labels)
    assert [band.label for band in bands] == ["a", "b", "c"]
    assert sorted(np.concatenate([band.rows for band in bands])) == list(range(200))
    for label, rows in bands:
        assert (labels[rows] == label).all()
        assert (np.diff(values[rows]) <= 0).all()


def test_a_merge_tree_has_its_prices_at_the_top_of_its_links():
    linkage = merge_tree(KMeans(8, random_state=0).fit(IRIS)).linkage
    layout = merge_tree_layout(linkage)
    assert sorted(layout.leaves) == list(range(8))
    np.testing.assert_allclose(np.sort(layout.links[:, 1, 1]), linkage[:, 2])
    assert layout.top == linkage[:, 2].max()
    assert layout.links[:, :, 1].min() == layout.floor


def test_prices_of_many_orders_need_a_logarithmic_axis_above_a_floor():
    linkage = np.array([[0.0, 1, 0, 2], [2, 4, 1, 3], [3, 5, 1000, 4]])
    layout = merge_tree_layout(linkage)
    assert layout.log
    assert 0 < layout.floor < 1
    assert merge_tree_layout(np.empty((0, 4))).leaves == (0,)


def test_differences_that_rounding_made_have_no_range():
    assert axis_range(np.array([10.0, 10.0 + 1e-9, np.nan]))[:2] == (10.0 + 1e-9, 10.0 + 1e-9)
    assert axis_range(np.array([np.nan, np.inf])) is None
    assert not axis_range(np.array([0.0, 1000.0])).log  # 0 has no logarithm


@pytest.mark.parametrize("wide", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_weights_of_a_profile_are_repeats(wide):
    rng = np.random.default_rng(0)
    labels, weight = rng.integers(-1, 3, len(IRIS)), rng.integers(0, 4, len(IRIS))
    once = cluster_profile(wide(IRIS), labels, weight.astype(float), 3)
    many = np.repeat(np.arange(len(IRIS)), weight)
    often = cluster_profile(wide(IRIS[many]), labels[many], np.ones(len(many)), 3)
    np.testing.assert_allclose(once.scores, often.scores, atol=1e-9)
    np.testing.assert_allclose(once.centers, often.centers)
    np.testing.assert_array_equal(once.cluster_weight, often.cluster_weight)


def test_the_report_and_the_displays_show_the_same():
    model = KMeans(3, random_state=0).fit(IRIS)
    analysis = analyse(Fitted(model, IRIS))
    display = ProfileDisplay.from_estimator(model, IRIS)
    profile = analysis.described.profile
    np.testing.assert_allclose(profile.mean, model.cluster_centers_, atol=1e-9)
    np.testing.assert_array_equal(profile.weight, display.weight)


def test_a_unit_has_one_length_along_both_axes_unless_half_the_panel_stays_empty():
    square = np.random.default_rng(0).uniform(size=(200, 2))
    for X, equal in ((square, True), (square * [1, 100], False)):
        display = ClusterDisplay.from_estimator(KMeans(2, random_state=0).fit(X), X)
        assert display.equal is equal
        if equal:
            x0, y0, x1, y1 = display.box
            assert (x1 - x0) / (y1 - y0) == pytest.approx(1.5)

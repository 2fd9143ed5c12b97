"""Merge trees and their cuts."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.pictures import IRIS, blobs, check

from partita import (
    KMeans,
    merge_tree,
)
from partita.plots import (
    MergeTreeDisplay,
)


@pytest.mark.heavy
def test_the_tree_has_a_link_for_every_merge_at_its_price():
    model = KMeans(8, random_state=0).fit(IRIS)
    display = check(MergeTreeDisplay.from_estimator(model))
    links = display.ax_.collections[0].get_segments()
    prices = merge_tree(model).linkage[:, 2]
    np.testing.assert_allclose(sorted(link[1][1] for link in links), prices)
    leaves = [text.get_text().split("\n") for text in display.ax_.get_xticklabels()]
    assert sorted(int(number) for number, _ in leaves) == list(range(8))
    for number, weight in leaves:
        assert weight == f"({(model.labels_ == int(number)).sum()})"


@pytest.mark.heavy
def test_a_cut_crosses_as_many_lines_as_it_leaves_clusters():
    model = KMeans(8, random_state=0).fit(IRIS)
    display = check(MergeTreeDisplay.from_estimator(model, cuts=(1, 2, 3, 7)))
    prices = display.linkage[:, 2]
    heights = [line.get_ydata()[0] for line in display.ax_.lines]
    assert [8 - int((prices < height).sum()) for height in heights] == [7, 3, 2, 1]
    assert not np.isclose(np.subtract.outer(heights, prices), 0).any()


@pytest.mark.heavy
def test_cuts_at_nearly_the_same_height_share_a_name():
    X = blobs(20, 400)
    model = KMeans(20, random_state=0).fit(X)
    display = check(MergeTreeDisplay.from_estimator(model, cuts=range(1, 20)))
    assert len(display.ax_.lines) == 19


@pytest.mark.heavy
def test_the_scale_is_logarithmic_where_prices_differ_by_orders():
    near = np.array([[0.0], [0.001], [1.0], [100.0], [10_000.0]])
    display = check(MergeTreeDisplay.from_estimator(KMeans(5, random_state=0).fit(near)))
    assert display.ax_.get_yscale() == "log"
    even = MergeTreeDisplay.from_estimator(KMeans(3, random_state=0).fit(IRIS)).plot()
    assert even.ax_.get_yscale() == "linear"


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore:Number of distinct")
def test_merges_that_cost_nothing_are_said_to():
    X = np.array([[0.0], [0.0], [1.0], [50.0]])
    model = KMeans(4, init=[[0], [0], [1], [50]], empty="keep").fit(X)
    display = check(MergeTreeDisplay.from_estimator(model))
    assert "cost nothing" in display.figure_.get_supxlabel()


@pytest.mark.parametrize("cut", [0, 3, 1.5, "a"])
def test_other_cuts_are_refused(cut):
    with pytest.raises(ValueError, match="cuts"):
        MergeTreeDisplay.from_estimator(KMeans(3, random_state=0).fit(IRIS), cuts=(cut,))

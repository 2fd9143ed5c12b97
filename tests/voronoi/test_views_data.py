"""On real data: the merge tree, the factors and the cells of a fit agree with the fit."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.real_data import load
from helpers.voronoi_cases import area
from scipy.cluster.hierarchy import is_valid_linkage

from partita import KMeans, SphericalKMeans, cells, factorize, merge_tree
from partita.theory import sse, sse_of_partition

pytestmark = pytest.mark.data
SETS = ["Aggregation", "Cloud", "D31", "Norm25-new", "S2", "Spam", "Unbalance", "uniform"]
K = 15


@pytest.fixture(params=SETS)
def fitted(request, data_folder):
    X = load(data_folder, f"bkmeans/{request.param}")
    return X, KMeans(K, random_state=0, tol=0.0).fit(X)


def test_the_tree_prices_what_it_cuts_and_starts_fits_that_cost_no_more(fitted):
    X, model = fitted
    tree = merge_tree(model)
    assert is_valid_linkage(tree.linkage)
    assert tree.cost == pytest.approx(model.inertia_, rel=1e-9)
    assert tree.cost_at(1) == pytest.approx(sse(X), rel=1e-9)
    for k in (2, 5, 10):
        cut = sse_of_partition(X, tree.labels_at(k)[model.labels_])
        assert tree.cost_at(k) == pytest.approx(cut, rel=1e-9)
        warm = KMeans(k, init=tree.centers_at(k), n_init=1).fit(X)
        assert warm.inertia_ <= cut * (1 + 1e-12)


def test_the_factors_give_the_objective_to_the_last_bit(fitted):
    X, model = fitted
    found = factorize(model, X)
    assert found.objective == model.inertia_
    assert found.explained_variance == pytest.approx(1 - model.inertia_ / sse(X), abs=1e-9)
    size = np.abs(X).max()
    np.testing.assert_allclose(found.theta, found.means, rtol=1e-9, atol=1e-9 * size)


def test_cells_contain_the_rows_that_predict_assigns_to_them(fitted):
    X, model = fitted
    found = cells(model)
    np.testing.assert_array_equal(found.contains(X), model.labels_)
    margins = found.margins(X, model.labels_)
    assert (margins > -1e-9 * np.abs(X).max()).all()
    if X.shape[1] == 2:
        low, high = X.min(axis=0), X.max(axis=0)
        polygons = found.polygons((*low, *high))
        assert sum(map(area, polygons)) == pytest.approx(np.prod(high - low), rel=1e-9)
        assert found.neighbours().sum() <= 2 * (3 * K - 6)  # a planar graph


def test_directions_too(fitted):
    X, _ = fitted
    X = X[np.abs(X).sum(axis=1) > 0]
    model = SphericalKMeans(K, random_state=0).fit(X)
    tree = merge_tree(model)
    assert tree.cost <= model.inertia_ * (1 + 1e-9)
    np.testing.assert_array_equal(cells(model).contains(X), model.labels_)
    assert factorize(model, X).objective == pytest.approx(model.inertia_, rel=1e-9)

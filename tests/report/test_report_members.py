"""Every member has a report, also at the ends of the range."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.reports import NONE, Page, blobs
from sklearn.cluster import KMeans as Peer
from sklearn.datasets import make_moons
from sklearn.metrics import pairwise_distances

from partita import (
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
    merge_tree,
)
from partita.report import (
    Fitted,
    render,
    summarise,
)

MOONS = make_moons(80, noise=0.05, random_state=0)[0]


ROWS = np.abs(blobs(50)) + 1.0


@pytest.mark.parametrize(
    ("model", "X", "says"),
    [
        (MiniBatchKMeans(3, random_state=0), ROWS, "of the variance explained"),
        (SphericalKMeans(3, random_state=0), ROWS, "1 − cos of the angle"),
        (SphericalKMeans(3, random_state=0), sp.csr_array(ROWS), "1 − cos of the angle"),
        (KMeans(3, random_state=0), sp.csr_array(ROWS), "distance to the center"),
        (KernelKMeans(2, kernel="rbf", gamma=10, random_state=0), MOONS, "predictions on a grid"),
        (KernelKMeans(3, random_state=0), ROWS, "lie in its feature space"),
        (KMedoids(3, random_state=0), ROWS, "dissimilarity to the medoid"),
        (KMedoids(3, metric="manhattan", random_state=0), ROWS, "no cells are drawn"),
        (
            KMedoids(3, metric="precomputed", random_state=0),
            pairwise_distances(ROWS),
            "which has no points to draw",
        ),
        (
            KernelKMeans(3, kernel="precomputed", random_state=0),
            ROWS @ ROWS.T,
            "typical rows are not known",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_member_has_a_report_that_says_what_does_not_apply(model, X, says):
    text = Page(render(Fitted(model.fit(X), X))).text
    assert says.lower() in text.lower()
    assert re.search(rf"(into|in) {model.n_clusters} ", text)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("zero_rows", ["error", "drop", "separate"])
def test_directions_explain_a_share_of_the_objective_of_one_cluster(zero_rows, weighted):
    rng = np.random.default_rng(0)
    X, weight = rng.random((80, 4)), rng.integers(1, 5, 80) if weighted else None
    if zero_rows != "error":
        X[7] = 0.0
    one, model = (
        SphericalKMeans(k, random_state=0, zero_rows=zero_rows).fit(X, sample_weight=weight)
        for k in (1, 3)
    )
    found = summarise(Fitted(model, X, weight=weight, diagnosis=NONE))
    assert found.explained_variance == pytest.approx(1 - model.inertia_ / one.inertia_)
    assert 0 < found.explained_variance < 1
    single = summarise(Fitted(one, X, weight=weight, diagnosis=NONE))
    assert single.explained_variance == pytest.approx(0, abs=1e-12)
    assert "less than J with one cluster" in render(Fitted(model, X, weight=weight))


@pytest.mark.parametrize(
    "model",
    [KMeans(3), MiniBatchKMeans(3), SphericalKMeans(3), KernelKMeans(3), KMedoids(3)],
    ids=lambda model: type(model).__name__,
)
def test_no_share_of_the_variance_is_negative(model):
    model.set_params(random_state=0).fit(ROWS)
    far = np.repeat(ROWS[:2] * [9.0, 1.0, 1.0, 1.0], 20, axis=0)
    for X in (ROWS, far + np.linspace(0, 1e-3, 40)[:, None]):  # of the fit, and quite other rows
        found = summarise(Fitted(model, X, diagnosis=NONE))
        assert found.explained_variance is None or 0 <= found.explained_variance <= 1


def test_the_merge_tree_of_a_kernel_says_what_it_explains():
    model = KernelKMeans(3, random_state=0).fit(ROWS)
    found = summarise(Fitted(model, ROWS, diagnosis=NONE))
    whole = merge_tree(model, ROWS).cost_at(1)
    assert found.explained_variance == pytest.approx(1 - model.inertia_ / whole)
    far = model.transform(ROWS)[np.arange(50), model.labels_]
    assert found.clusters[0].typical[0].far == pytest.approx(far[model.labels_ == 0].min())


@pytest.mark.parametrize(
    ("X", "k"),
    [
        ([[0.0, 1.0], [2.0, 3.0]], 2),
        ([[0.0, 1.0], [2.0, 3.0]], 1),
        ([[1.0], [2.0], [9.0]], 2),
        ([[5.0, 1.0]] * 4 + [[6.0, 1.0]] * 4, 2),
        (np.arange(60.0).reshape(20, 3), 20),
        (blobs(40) + 1e6, 3),
        (blobs(40) * 1e150, 3),
        (blobs(40) * 1e160, 3),
        (blobs(40) * 1e-200, 3),
        (blobs(40).astype(np.float32), 3),
        (blobs(400, k=50), 50),
        (np.asfortranarray(blobs(40))[::2], 3),
    ],
    ids=[
        "two",
        "one cluster",
        "one feature",
        "constant",
        "K = n",
        "offset",
        "huge",
        "beyond squares",
        "tiny",
        "float32",
        "fifty",
        "strided",
    ],
)
def test_the_ends_of_the_range_have_readable_reports(X, k):
    model = KMeans(k, random_state=0).fit(X)
    text = render(Fitted(model, X))
    page = Page(text)
    assert (f"{k} groups" if k > 1 else "in one group") in page.text.replace(
        " clearly separated", ""
    )
    for word in ("nan", "NaN", "inf", "None"):
        assert not re.search(rf"\b{word}\b", page.text)
    assert "not defined" not in page.text


def test_equal_rows_have_a_report():
    X = np.ones((6, 2))
    with pytest.warns(Warning, match="distinct clusters"):
        model = KMeans(2, random_state=0).fit(X)
    text = Page(render(Fitted(model, X))).text
    assert "there is no variance to explain" in text


def test_rows_of_zeros_are_counted_and_not_placed():
    X = np.vstack([ROWS, np.zeros((3, 4))])
    model = SphericalKMeans(3, zero_rows="drop", random_state=0).fit(X)
    made = Fitted(model, X, labels=model.labels_)
    assert summarise(made).nowhere == 3
    assert "3 rows of zeros" in Page(render(made)).text


@pytest.mark.parametrize("factor", [1e-170, 1e-300, 1e160, 1e300])
@pytest.mark.parametrize("sparse", [False, True])
def test_spreads_and_traits_do_not_depend_on_the_unit(factor, sparse):
    X = blobs(60)
    made = [X, np.column_stack([X[:, :2] * factor, X[:, 2:]])]
    wide, model = sp.csr_array if sparse else np.asarray, KMeans(3, init=X[:3]).fit(X)
    found = [summarise(Fitted(model, X, wide(units), diagnosis=NONE)) for units in made]
    for a, b in zip(*(one.clusters for one in found), strict=True):
        assert [t.score for t in a.traits] == pytest.approx([t.score for t in b.traits])
        assert [t.feature for t in a.traits] == [t.feature for t in b.traits]
    scaled = KMeans(3, init=X[:3] * factor).fit(wide(X * factor))
    other = summarise(Fitted(scaled, wide(X * factor), diagnosis=NONE))
    for a, b in zip(found[0].clusters, other.clusters, strict=True):
        assert a.spread == pytest.approx(b.spread / factor)
        assert [m.index for m in a.typical] == [m.index for m in b.typical]


@pytest.mark.parametrize(
    "model",
    [
        MiniBatchKMeans(3, random_state=0),
        SphericalKMeans(3, random_state=0),
        KMedoids(3, metric="manhattan", random_state=0),
        KernelKMeans(3, kernel="rbf", gamma=0.1, random_state=0),
        Peer(3, n_init=1, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_every_member_knows_the_rows_of_its_fit(model, kind):
    X = (np.abs(blobs(80)) + 1).astype(kind)
    model = model.fit(X)
    found = summarise(Fitted(model, X, diagnosis=NONE))
    assert (found.of_fit, found.objective) == (True, model.inertia_)
    other = summarise(Fitted(model, X[:60], diagnosis=NONE))
    assert not other.of_fit
    assert other.objective == pytest.approx(-model.score(X[:60]), rel=1e-6)
    render(Fitted(model, X[:60], diagnosis=NONE))


def test_rows_that_cost_nothing_are_of_the_fit_only_if_they_are_as_many():
    model = KMeans(2, init=[[0.0], [1.0]]).fit([[0.0], [1.0]])
    for rows, same in (([[0.0], [1.0]], True), ([[0.0], [1.0], [1.0]], False)):
        found = summarise(Fitted(model, rows, diagnosis=NONE))
        assert (found.objective, found.of_fit) == (0.0, same)


@pytest.mark.filterwarnings("ignore:Number of distinct")
def test_only_clusters_with_rows_and_features_are_close_to_a_mean():
    words = "nothing: close to the average in every feature"
    matrix = pairwise_distances(ROWS)
    medoids = KMedoids(3, metric="precomputed", random_state=0).fit(matrix)
    assert words not in Page(render(Fitted(medoids, matrix, diagnosis=NONE))).text
    X = [[0.0], [0.0], [1.0], [1.0]]
    empty = KMeans(3, init=[[0], [1], [9]], empty="keep").fit(X)
    assert words not in Page(render(Fitted(empty, X, diagnosis=NONE))).text
    one = KMeans(1).fit(X)
    assert words in Page(render(Fitted(one, X, diagnosis=NONE))).text

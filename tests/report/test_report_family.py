"""Every member of the family has a report, and so has every end of the range."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers.reports import NONE, Page, blobs, fitted, unpacked, wine_report
from sklearn.datasets import load_wine, make_moons
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from partita import (
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
    load,
    merge_tree,
    save,
)
from partita.report import Fitted, charts, cluster_profiles, render, summarise
from partita.report.safe_text import number, ticks, value
from partita.report.summary import study
from partita.tables import Scaling


@pytest.fixture(scope="module")
def wine():
    return wine_report()


# --- the family, and the ends of the range ------------------------------------------------------

MOONS = make_moons(80, noise=0.05, random_state=0)[0]
ROWS = np.abs(blobs(50)) + 1.0


@pytest.mark.parametrize(
    ("model", "X", "says"),
    [
        (MiniBatchKMeans(3, random_state=0), ROWS, "of the variance explained"),
        (SphericalKMeans(3, random_state=0), ROWS, "1 − cos of the angle"),
        (SphericalKMeans(3, random_state=0), sp.csr_array(ROWS), "1 − cos of the angle"),
        (KMeans(3, random_state=0), sp.csr_array(ROWS), "distance to the center"),
        (KernelKMeans(2, kernel="rbf", gamma=10, random_state=0), MOONS, "what predict says on"),
        (KernelKMeans(3, random_state=0), ROWS, "lie in its feature space"),
        (KMedoids(3, random_state=0), ROWS, "dissimilarity to the medoid"),
        (KMedoids(3, metric="manhattan", random_state=0), ROWS, "no cells are drawn"),
        (
            KMedoids(3, metric="precomputed", random_state=0),
            pairwise_distances(ROWS),
            "rows are no points",
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
    assert f"{model.n_clusters} clusters" in text


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
    assert f"{k} cluster" in page.text
    for word in ("nan", "NaN", "inf", "None"):
        assert not re.search(rf"\b{word}\b", page.text)
    assert "not defined" not in page.text


def test_equal_rows_have_a_report():
    X = np.ones((6, 2))
    with pytest.warns(Warning, match="distinct clusters"):
        model = KMeans(2, random_state=0).fit(X)
    text = Page(render(Fitted(model, X))).text
    assert "there is no variance to explain" in text


def test_rows_without_weight_are_no_typical_rows():
    X, weight = blobs(40), np.ones(40)
    weight[:20] = 0
    model = KMeans(3, random_state=0).fit(X, sample_weight=weight)
    found = summarise(Fitted(model, X, weight=weight, diagnosis=NONE))
    assert all(m.index >= 20 for c in found.clusters for m in c.typical)
    assert sum(c.share for c in found.clusters) == pytest.approx(1.0)


def test_rows_of_zeros_are_counted_and_not_placed():
    X = np.vstack([ROWS, np.zeros((3, 4))])
    model = SphericalKMeans(3, zero_rows="drop", random_state=0).fit(X)
    made = Fitted(model, X, labels=model.labels_)
    assert summarise(made).nowhere == 3
    assert "3 rows of zeros" in Page(render(made)).text


def test_missing_values_are_called_missing():
    original = blobs(30)
    original[3, 1] = np.nan
    X = np.nan_to_num(original)
    X[3] = X.mean(axis=0)  # the most typical row of all
    model = KMeans(1).fit(X)
    page = Page(render(Fitted(model, X, original=original, diagnosis=NONE)))
    at = unpacked(page.data["rows"], "<u4").tolist().index(4)
    assert np.isnan(unpacked(page.data["values"], "<f8").reshape(30, 4)[at, 1])
    assert "row 4" in page.text
    assert page.text.count("missing") == 1
    assert '"missing"' in page.raw["script"]  # what pointing at the row shows


def test_values_that_were_filled_in_are_counted():
    text = Page(render(fitted(filled=12))).text
    assert "12 missing values were filled in by means" in text
    assert "12, filled in by the means of their features" in text
    assert summarise(fitted(filled=12)).filled == 12
    assert "1 missing value was filled in" in Page(render(fitted(filled=1))).text
    assert "filled in" not in Page(render(fitted())).text


def test_missing_values_stand_at_the_weighted_mean_of_their_feature():
    X, weight = blobs(40), np.arange(40.0)
    gaps = X.copy()
    gaps[::4, 2] = np.nan
    known = np.isfinite(gaps[:, 2])
    filled = np.where(np.isnan(gaps), np.average(X[known, 2], weights=weight[known]), gaps)
    model = KMeans(3, random_state=0).fit(X, sample_weight=weight)
    parts = [
        study(Fitted(model, X, original=original, weight=weight, diagnosis=NONE)).profile
        for original in (gaps, filled)
    ]
    np.testing.assert_allclose(parts[0].means, parts[1].means, rtol=1e-9)


def test_rows_are_not_copied_for_their_profile():
    X = blobs(40)
    assert cluster_profiles._filled(X, np.ones(40)) is X


def test_weights_are_explained():
    X, weight = blobs(40), np.arange(40) % 4.0
    model = KMeans(3, random_state=0).fit(X, sample_weight=weight)
    text = Page(render(Fitted(model, X, weight=weight, diagnosis=NONE))).text
    assert "Share: of the weight." in text
    assert "10 rows of weight 0 are counted among the rows, but for nothing else." in text
    assert "60 in all; 10 rows of weight 0" in text
    assert "of the weight lies left of 0" in text
    text = Page(render(fitted())).text
    assert "of the weight" not in text


def test_traits_say_the_mean_in_the_units_of_the_user(wine):
    page = Page(render(wine))
    for cluster in summarise(wine).clusters:
        for trait in cluster.traits:
            mean = value(float(f"{trait.mean:.4g}"))
            assert trait.words.startswith(trait.feature)
            assert f" ({mean}, " in trait.words
            assert trait.words.endswith(" sd)")
            assert ("td", f"mean {mean}") in [(t, a.get("title")) for t, a in page.elements]
    assert "In brackets: the mean of the cluster" in page.text


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


def test_numbers_along_an_axis_can_be_told_apart():
    assert ticks([1270.0, 1280.0, 1290.0]) == ["1\u202f270", "1\u202f280", "1\u202f290"]
    assert ticks([1279.1, 1279.2]) == ["1\u202f279.1", "1\u202f279.2"]
    assert ticks([0.2, 0.4, 0.6000000000000001]) == ["0.2", "0.4", "0.6"]
    assert ticks([-1e-9, 0.0]) == ["−1e−09", "0"]
    assert ticks([5.0, 5.0]) == ["5", "5"]  # nothing tells them apart
    assert ticks([1280.0, 1282.5, 1285.0]) == ["1\u202f280.0", "1\u202f282.5", "1\u202f285.0"]
    assert ticks([]) == []
    assert ticks([1e9, 1.5e9]) == ["1e+09", "1.5e+09"]
    assert ticks([1e10, 1.00001e10]) == ["1.00000e+10", "1.00001e+10"]


@pytest.mark.parametrize("size", [1.0, 1e9, 1e12])
def test_numbers_at_the_left_of_a_chart_are_not_cut(size):
    cost = size * (1 + 1e-5 * np.arange(7.0)[::-1])
    drawn = Page(charts.objective(np.arange(1.0, 4.5, 0.5), cost))
    texts = [t for t in drawn.texts if t.strip()]
    left = [float(a["x"]) for t, a in drawn.elements if a.get("text-anchor") == "end"]
    assert len(left) >= 2
    longest = max(map(len, texts[: len(left)]))
    assert min(left) >= 7 * longest


def test_weights_of_a_merge_tree_are_whole_and_apart_from_the_numbers():
    weight = np.array([123456.0, 999999.0, 1234567.0, 3.0])
    linkage = np.array([[0, 1, 1.0, 2], [2, 4, 2.0, 3], [3, 5, 5.0, 4]])
    drawn = Page(charts.tree(linkage, weight))
    assert {number(w) for w in weight} <= set(drawn.texts)
    assert "1\u202f234\u202f567" in drawn.texts
    ends = {float(a["x"]) for t, a in drawn.elements if a.get("text-anchor") == "end"}
    numbers, sizes = min(ends), max(ends)
    assert sizes - numbers >= 7 * len("1 234 567")


def test_pointing_at_a_silhouette_says_whose_it_is(wine):
    parser = Page(render(wine))
    for j in range(3):
        assert f"cluster {j}: mean" in parser.text
    drawn = charts.silhouette(study(wine).quality.silhouettes, [0, 1, 2])
    assert re.findall(r"<path[^>]*><title>cluster (\d)", drawn) == ["0", "1", "2"]
    assert drawn.count("<title>") == 3


def test_the_note_on_iterations_says_what_the_last_dot_is(wine):
    last = len(wine.model.trace_) + 1
    assert f"The last dot, at {last}, is one more assignment" in Page(render(wine)).text


def test_a_fit_that_began_in_a_sweep_says_so(wine):
    says = "started from clusters of the sweep"
    assert says not in Page(render(wine)).text  # the model is not that of the sweep
    own = replace(wine, model=wine.sweep.model(3))
    text = Page(render(own)).text
    assert f"{says} over numbers of clusters; the command does both" in text
    assert "iterations, from clusters of the sweep, until it stopped" in text
    assert "Sweep.model gives this fit again" in Page(render(replace(own, command=""))).text


def test_only_the_largest_clusters_have_their_rows_shown_in_full():
    X = np.random.default_rng(0).normal(size=(600, 3))
    made = Fitted(KMeans(80, random_state=0, max_iter=2).fit(X), X, diagnosis=NONE)
    page = Page(render(made))
    assert sum(a.get("class") == "values" for _, a in page.elements) == 60
    assert "Only those of the 60 largest clusters." in page.text
    assert "Only those of" not in Page(render(fitted())).text


def test_heat_maps_wider_than_paper_are_there_in_parts():
    X = np.random.default_rng(0).normal(size=(300, 3))
    made = Fitted(KMeans(30, random_state=0, max_iter=2).fit(X), X, diagnosis=NONE)
    page = Page(render(made))
    assert sum(a.get("class") == "sheet" for _, a in page.elements) == 3
    assert not any(a.get("class") == "sheet" for _, a in Page(render(fitted())).elements)


def test_rounding_makes_no_mountains():
    drawn = charts.objective(np.array([1.0, 1.5, 2.0]), np.array([10.0, 10.0, 10.0 + 1e-12]))
    places = re.search(r'd="M([^"]*)"', drawn).group(1)
    assert len({place.split()[1] for place in places.split("L")}) == 1


def test_a_pipeline_is_reported_on_in_the_units_of_its_rows():
    X = load_wine().data
    scaler = StandardScaler()
    pipe = make_pipeline(scaler, KMeans(3, random_state=0)).fit(X)
    found = summarise(Fitted(pipe, X, diagnosis=NONE))
    plain = Fitted(pipe[-1], scaler.transform(X), original=X, diagnosis=NONE)
    assert found.scale == "standard"
    assert replace(found, scale="none") == summarise(plain)
    turned = make_pipeline(PCA(5), KMeans(3, random_state=0)).fit(X)
    assert summarise(Fitted(turned, X, diagnosis=NONE)).scale == "PCA"


def test_a_loaded_model_is_reported_on_by_the_names_of_its_columns(tmp_path):
    X = load_wine().data[:, [0, 9, 12]]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    scaling = Scaling.fit(X, "standard")
    save(KMeans(3, random_state=0).fit(scaling.apply(X)), tmp_path / "m", scaling=scaling,
         names=["a", "b", "c"])  # fmt: skip
    model = load(tmp_path / "m")
    plain = summarise(Fitted(model, frame, diagnosis=NONE))
    turned = summarise(
        Fitted(model, frame.assign(more=1.0)[["c", "more", "a", "b"]], diagnosis=NONE)
    )
    assert turned == plain
    assert plain.scale == "standard"
    assert plain.clusters[0].traits[0].mean > 0.5  # in the units of the data


def test_remarks_come_first_and_are_escaped():
    made = replace(fitted(), remarks=["it was <b>interrupted</b>; use --scale none"])
    text = render(made)
    assert "It was &lt;b&gt;interrupted&lt;/b&gt;; use <code>--scale</code> none." in text
    assert text.index("&lt;b&gt;interrupted") < text.index('id="clusters"')

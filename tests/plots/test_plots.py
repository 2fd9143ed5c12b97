"""Pictures: they show what was computed, say what they leave out, and no text covers another."""

from __future__ import annotations

import itertools
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans as Peer
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs, make_circles

from partita import (
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
    choose_k,
    merge_tree,
)
from partita.chart_layout.projection import Plane
from partita.plots import (
    ClusterDisplay,
    CriteriaDisplay,
    IterationsDisplay,
    MergeTreeDisplay,
    ObjectiveDisplay,
    ProfileDisplay,
    SilhouetteDisplay,
    style,
)
from partita.plots.cluster_display import polygons
from partita.plots.replay import shown
from partita.voronoi.voronoi_cells import Cells

IRIS = load_iris().data
matplotlib = pytest.importorskip("matplotlib")


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
    found = texts_of(figure)
    width, height = figure.canvas.get_width_height()
    for text, box in found:
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= width + 1, text
        assert box.y1 <= height + 1, text
    for (one, a), (other, b) in itertools.combinations(found, 2):
        # a pixel of air around glyphs is not ink
        apart = a.x1 - 1 < b.x0 or b.x1 - 1 < a.x0 or a.y1 - 1 < b.y0 or b.y1 - 1 < a.y0
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


# --- what all have in common ----------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 9, 50])
def test_no_text_covers_another_for_few_and_many_clusters(k):
    X = blobs(k, 600)
    model = KMeans(k, random_state=0).fit(X)
    for display in every_display(model, X):
        check(display)


def test_no_text_covers_another_where_centers_crowd():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1e-3, (400, 2)), rng.normal(100, 1, (10, 2))])
    check(ClusterDisplay.from_estimator(KMeans(30, random_state=0).fit(X), X))


def test_pyplot_is_neither_imported_nor_asked_for_figures(tmp_path):
    code = """
import sys
import numpy as np
from partita import KMeans, plots
assert "matplotlib" not in sys.modules
X = np.random.default_rng(0).normal(size=(50, 2))
model = KMeans(3, random_state=0).fit(X)
display = plots.ClusterDisplay.from_estimator(model, X)
assert "matplotlib" not in sys.modules, "computing needs no matplotlib"
display.plot()._repr_png_()
plots.IterationsDisplay.from_estimator(model, X).save_animation(sys.argv[1])
print("matplotlib.pyplot" in sys.modules)
from matplotlib import _pylab_helpers
print(len(_pylab_helpers.Gcf.figs))
"""
    out = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.gif")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout.split() == ["False", "0"]


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = ClusterDisplay.from_estimator(KMeans(2, random_state=0).fit(IRIS), IRIS)
    with pytest.raises(ImportError, match=r"pip install 'partita\[plot\]'"):
        display.plot()


def test_a_picture_goes_into_axes_that_are_given():
    figure = matplotlib.figure.Figure(figsize=(9, 4), layout="constrained")
    matplotlib.backends.backend_agg.FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    model = KMeans(3, random_state=0).fit(IRIS)
    display = ClusterDisplay.from_estimator(model, IRIS).plot(left)
    assert display.ax_ is left
    assert display.figure_ is figure
    assert ObjectiveDisplay.from_estimator(model).plot(ax=right).ax_ is right
    check_texts(figure)


def test_a_part_of_a_figure_will_do():
    figure = matplotlib.figure.Figure(layout="constrained")
    matplotlib.backends.backend_agg.FigureCanvasAgg(figure)
    part = figure.subfigures(1, 2)[0]
    model = KMeans(3, random_state=0).fit(IRIS)
    assert ClusterDisplay.from_estimator(model, IRIS).plot(part.subplots()).figure_ is figure


def test_too_few_axes_are_refused():
    display = CriteriaDisplay.from_sweep(sweep())
    figure = matplotlib.figure.Figure()
    with pytest.raises(ValueError, match="ax holds 1 axes; CriteriaDisplay needs 9"):
        display.plot(figure.subplots())


def test_the_settings_of_the_user_stay_as_they_are(tmp_path):
    before = dict(matplotlib.rcParams)
    model = KMeans(3, random_state=0).fit(IRIS)
    ClusterDisplay.from_estimator(model, IRIS).save(tmp_path / "a.svg")
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_picture_is_saved_in_the_format_of_its_name(tmp_path, ending):
    model = KMeans(3, random_state=0).fit(IRIS)
    path = ClusterDisplay.from_estimator(model, IRIS).save(tmp_path / f"a.{ending}")
    assert path.stat().st_size > 1000


def test_a_display_shows_itself_in_a_notebook():
    display = ObjectiveDisplay.from_estimator(KMeans(3, random_state=0).fit(IRIS))
    assert display._repr_png_()[:8] == b"\x89PNG\r\n\x1a\n"
    assert repr(display).startswith("<ObjectiveDisplay: KMeans: 3 clusters, J = 78.8")


@pytest.mark.parametrize("given", [KMeans(2), KMeans, 3])
def test_what_is_not_fitted_is_refused(given):
    with pytest.raises((TypeError, ValueError), match="fitted"):
        ClusterDisplay.from_estimator(given, IRIS)


# --- style ----------------------------------------------------------------------------------------


def test_fifty_clusters_differ_in_color_or_mark():
    assert len({(style.color(j), style.mark(j)) for j in range(50)}) == 50


def test_colors_of_the_first_eight_differ_in_lightness_or_hue_also_in_grey():
    def grey(color):
        red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
        return 0.299 * red + 0.587 * green + 0.114 * blue

    assert len({round(grey(color)) for color in style.PALETTE}) == len(style.PALETTE)
    assert max(map(grey, style.PALETTE)) < 180, "too light for a white page"


@pytest.mark.parametrize(
    "name", ["a$b$c", "$", "x_{i}", "tab\there", "new\nline", "\\frac", "", "a" * 300]
)
def test_names_from_outside_are_text(name):
    X = pd.DataFrame(IRIS[:, :2], columns=[name, "other"])
    model = KMeans(2, random_state=0).fit(X)
    check(ClusterDisplay.from_estimator(model, X))
    display = check(ProfileDisplay.from_estimator(model, X))
    shown_names = [t.get_text().replace(r"\$", "$") for t in display.ax_.get_yticklabels()]
    assert any(part[:1] == name[:1] for part in shown_names)


# --- objective ------------------------------------------------------------------------------------


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


# --- criteria -------------------------------------------------------------------------------------


def test_every_criterion_has_a_panel_with_its_vote_and_the_best_number():
    display = check(CriteriaDisplay.from_sweep(sweep()))
    assert len(display.axes_) == 9
    titles = [ax.get_title(loc="left") for ax in display.axes_]
    assert titles[0] == "elbow of J: 3"
    assert titles[4] == "Davies-Bouldin ↓: 3"
    assert titles[7] == "prediction strength ↑: no choice"
    for ax in display.axes_:
        assert any(list(line.get_xdata()) == [3, 3] for line in ax.lines)
    assert display.title in display.figure_.get_suptitle()


def test_a_real_sweep_is_drawn():
    found = choose_k(blobs(4, 200, seed=3), range(2, 8), n_references=2, n_splits=2, random_state=0)
    display = check(CriteriaDisplay.from_sweep(found))
    assert [panel.name for panel in display.panels] == list(found.criteria)
    assert display.best_k == found.best_k
    assert display.title == found.verdict
    voting = {panel.name for panel in display.panels if panel.votes}
    assert voting == set(found.voters)
    colors = [ax._left_title.get_color() for ax in display.axes_]
    assert [color == style.INK for color in colors] == [p.votes for p in display.panels]


def test_the_ring_lies_on_the_curve_and_errors_are_drawn():
    display = CriteriaDisplay.from_sweep(sweep()).plot()
    ax, panel = display.axes_[6], display.panels[6]
    ring = next(line for line in ax.lines if line.get_markersize() == 8)
    assert ring.get_xydata().tolist() == [[3, panel.values[2]]]
    assert len(ax.containers) == 1


def test_a_criterion_that_is_nowhere_defined_says_so():
    display = CriteriaDisplay.from_sweep(sweep()).plot()
    assert "not defined" in [text.get_text() for text in display.axes_[8].texts]


def test_the_elbow_alone():
    display = check(CriteriaDisplay.from_sweep(sweep(), criteria=("inertia",)))
    assert len(display.axes_) == 1
    assert CriteriaDisplay.from_sweep(sweep(), criteria="bic").panels[0].name == "bic"


@pytest.mark.parametrize("m", [1, 2, 30])
def test_few_and_many_numbers_of_clusters(m):
    check(CriteriaDisplay.from_sweep(sweep(m)))


def test_no_panel_stays_empty():
    names = ("inertia", "bic", "gap", "stability")  # two rows of three
    display = CriteriaDisplay.from_sweep(sweep(), criteria=names).plot()
    assert len(display.figure_.axes) == 4


def test_an_unknown_criterion_and_a_sweep_that_was_ended():
    with pytest.raises(ValueError, match="the sweep has 'inertia'"):
        CriteriaDisplay.from_sweep(sweep(), criteria=("nothing",))
    assert "ended" in CriteriaDisplay.from_sweep(sweep(complete=False)).caption
    check(CriteriaDisplay.from_sweep(sweep(verdict="no structure: " + "because " * 30, best_k=1)))


# --- silhouettes ----------------------------------------------------------------------------------


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


def test_clusters_too_thin_for_a_name_have_none():
    X = np.r_[np.random.default_rng(0).normal(size=2000), 100.0 * np.arange(1, 41).repeat(2)]
    labels = np.r_[np.zeros(2000, int), np.arange(1, 41).repeat(2)]
    display = check(SilhouetteDisplay.from_labels(X[:, None], labels))
    assert 1 < len(display.ax_.get_yticks()) < 41
    assert len(display.ax_.collections) == 41


def test_labels_may_be_names_and_distances_may_be_given():
    from scipy.spatial.distance import cdist

    X = blobs(3, 90)
    labels = np.array(["one", "two", "$three$"])[KMeans(3, random_state=0).fit_predict(X)]
    display = check(SilhouetteDisplay.from_labels(X, labels))
    given = SilhouetteDisplay.from_labels(cdist(X, X), labels, metric="precomputed")
    np.testing.assert_allclose(display.values, given.values)


def test_many_rows_are_sampled_and_the_caption_says_so(monkeypatch):
    monkeypatch.setattr("partita.plots.silhouette_display._MOST", 200)
    X = blobs(3, 1000)
    display = check(SilhouetteDisplay.from_estimator(KMeans(3, random_state=0).fit(X), X))
    assert len(display.values) == 200
    assert "200 of 1 000 rows, sampled" in display.caption


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
    with pytest.raises(ValueError, match="labels has the shape"):
        SilhouetteDisplay.from_labels(IRIS, [0, 1])


# --- clusters -------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 8, 50])
def test_two_features_show_every_row_and_every_cell(k):
    X = blobs(max(k, 2), 300)
    model = KMeans(k, random_state=0).fit(X)
    display = check(ClusterDisplay.from_estimator(model, X))
    assert len(display.scene.polygons) == k
    patches = [patch for patch in display.ax_.patches if patch.get_fill()]
    assert len(patches) == k
    drawn = np.vstack([part.get_offsets() for part in display.ax_.collections[:-1]])
    assert sorted(map(tuple, drawn)) == sorted(map(tuple, X))
    np.testing.assert_array_equal(display.ax_.collections[-1].get_offsets(), model.cluster_centers_)
    numbers = [text.get_text() for text in display.ax_.texts]
    assert sorted(numbers, key=int) == [str(j) for j in range(k)]
    assert "outside" not in display.caption


def area(corners):
    x, y = corners.T
    return abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2


@pytest.mark.parametrize("d", [2, 5])
def test_cells_tile_the_page_and_hold_the_points_of_the_plane(d):
    rng = np.random.default_rng(d)
    centers = rng.normal(size=(12, d))
    axes = np.linalg.qr(rng.normal(size=(d, 2)))[0].T
    plane, box = Plane(rng.normal(size=d), axes, ("", "")), (-3.0, -2.0, 3.0, 2.0)
    cells = polygons(Cells(centers), plane, box)
    whole = sum(area(part) for part in cells if len(part))
    assert np.isclose(whole, 24)
    inside = rng.uniform((-3, -2), (3, 2), (300, 2))
    rows = plane.origin + inside @ axes
    nearest = np.square(rows[:, None] - centers).sum(axis=2).argmin(axis=1)
    for point, label in zip(inside, nearest, strict=True):
        assert matplotlib.path.Path(cells[label]).contains_point(point, radius=1e-9)


def test_more_features_are_projected_and_the_caption_says_what_cells_mean():
    model = KMeans(3, random_state=0).fit(IRIS)
    display = check(ClusterDisplay.from_estimator(model, IRIS))
    gap = IRIS - IRIS.mean(axis=0)
    _, size, axes = np.linalg.svd(gap, full_matrices=False)
    wanted = gap @ axes[:2].T
    np.testing.assert_allclose(np.abs(display.scene.points), np.abs(wanted), atol=1e-9)
    assert "cut by the plane through the mean" in display.caption
    assert "outside their cell" in display.caption
    assert f"({size[0] ** 2 / (size**2).sum():.0%} of the variance)" in display.names[0]


@pytest.mark.parametrize("pair", [(2, 0), ("petal length (cm)", "sepal length (cm)")])
def test_two_features_can_be_chosen(pair):
    X = load_iris(as_frame=True).data
    model = KMeans(3, random_state=0).fit(X)
    display = check(ClusterDisplay.from_estimator(model, X, features=pair))
    np.testing.assert_allclose(display.scene.points, IRIS[:, [2, 0]])
    assert display.names == ("petal length (cm)", "sepal length (cm)")
    assert "mean of the others" in display.caption


@pytest.mark.parametrize("pair", [(0,), (0, 0), (0, 9), ("a", "b"), 3, (0, 1.5), (True, 1)])
def test_other_features_are_refused(pair):
    with pytest.raises(ValueError, match="two different features are expected"):
        ClusterDisplay.from_estimator(KMeans(2, random_state=0).fit(IRIS), IRIS, features=pair)


def test_one_feature_is_a_strip_with_borders_halfway():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    display = check(ClusterDisplay.from_estimator(KMeans(2, init=[[0], [10]]).fit(X), X))
    np.testing.assert_array_equal(display.scene.points[:, 0], X[:, 0])
    assert np.isclose(display.scene.polygons[0][:, 0].max(), 5.5)
    assert len(display.ax_.get_yticks()) == 0


def test_clusters_that_are_not_convex_have_their_regions():
    X = make_circles(300, factor=0.3, noise=0.05, random_state=0)[0]
    model = KernelKMeans(2, random_state=0).fit(X)
    display = check(ClusterDisplay.from_estimator(model, X))
    regions = display.scene.regions
    x0, y0, x1, y1 = display.box
    middle = regions[
        round(-y0 / (y1 - y0) * (len(regions) - 1)), round(-x0 / (x1 - x0) * (len(regions[0]) - 1))
    ]
    assert middle == model.predict([[0.0, 0.0]])[0]
    assert regions[0, 0] == model.predict([[x0, y0]])[0] != middle
    assert "predict" in display.caption


def test_numbers_of_regions_stand_at_rows_of_their_cluster():
    X = make_circles(300, factor=0.3, noise=0.05, random_state=0)[0]
    model = KernelKMeans(2, random_state=0).fit(X)
    at = ClusterDisplay.from_estimator(model, X).scene.centers
    assert model.predict(at).tolist() == [0, 1]


@pytest.mark.parametrize("metric", ["manhattan", "cosine"])
def test_medoids_of_other_metrics_have_no_straight_cells(metric):
    X = blobs(3, 100)
    display = check(
        ClusterDisplay.from_estimator(KMedoids(3, metric=metric, random_state=0).fit(X), X)
    )
    assert display.scene.polygons == ()
    assert display.scene.regions is not None
    many = ClusterDisplay.from_estimator(KMedoids(3, metric=metric, random_state=0).fit(IRIS), IRIS)
    assert "No cells" in many.caption


def test_medoids_of_distance_have_cells():
    display = ClusterDisplay.from_estimator(KMedoids(3, random_state=0).fit(IRIS), IRIS)
    assert len(display.scene.polygons) == 3


def test_the_cells_of_directions_are_cones():
    X = blobs(3, 200)
    model = SphericalKMeans(3, random_state=0).fit(X)
    display = check(ClusterDisplay.from_estimator(model, X))
    inner = [corners for corners in display.scene.polygons if len(corners)]
    x0, y0, x1, y1 = display.box
    edge = np.array([x0, x1]), np.array([y0, y1])
    for corners in inner:
        on_box = np.isclose(corners[:, :1], edge[0]).any(1) | np.isclose(
            corners[:, 1:], edge[1]
        ).any(1)
        np.testing.assert_allclose(corners[~on_box], 0, atol=1e-6)
    assert "directions" in display.caption
    found = ClusterDisplay.from_estimator(model, X).scene
    length = np.linalg.norm(X, axis=1)
    wanted = [length[found.labels == j].mean() for j in range(3)]
    np.testing.assert_allclose(np.linalg.norm(found.centers, axis=1), wanted)


def test_a_million_rows_are_sampled_and_rasterised(tmp_path):
    X = np.random.default_rng(0).normal(size=(1_000_000, 2)).astype(np.float32)
    model = KMeans(5, random_state=0, max_iter=3).fit(X)
    display = ClusterDisplay.from_estimator(model, X)
    assert len(display.scene.points) == 20_000
    assert "20 000 of 1 000 000 rows, sampled" in display.caption
    assert display.save(tmp_path / "a.svg").stat().st_size < 2e6


def test_sparse_rows_are_seen_as_dense_ones():
    X = np.where(load_digits().data > 8, load_digits().data, 0)
    model = KMeans(5, random_state=0).fit(X)
    dense = ClusterDisplay.from_estimator(model, X)
    sparse = check(ClusterDisplay.from_estimator(model, sp.csr_array(X)))
    np.testing.assert_allclose(sparse.scene.points, dense.scene.points, atol=1e-6)
    assert sparse.names == dense.names


def test_a_weight_is_a_repeated_row_for_the_plane():
    weight = np.random.default_rng(0).integers(1, 4, len(IRIS))
    model = KMeans(3, random_state=0).fit(IRIS, sample_weight=weight)
    once = ClusterDisplay.from_estimator(model, IRIS, weight).scene.points
    often = ClusterDisplay.from_estimator(model, np.repeat(IRIS, weight, axis=0)).scene.points
    np.testing.assert_allclose(np.repeat(once, weight, axis=0), often, atol=1e-9)
    cells = [
        ClusterDisplay.from_estimator(model, *rows, features=(0, 1)).scene.polygons
        for rows in ((IRIS, weight), (np.repeat(IRIS, weight, axis=0), None))
    ]
    for one, other in zip(*cells, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_the_model_of_scikit_learn_is_drawn_too():
    X = load_iris(as_frame=True).data
    model = Peer(3, n_init=1, random_state=0).fit(X)
    check(ClusterDisplay.from_estimator(model, X))
    check(ProfileDisplay.from_estimator(model, X))
    check(SilhouetteDisplay.from_estimator(model, X))
    check(MergeTreeDisplay.from_estimator(model, X))


# --- profiles -------------------------------------------------------------------------------------


def test_a_profile_is_in_units_of_deviations_and_sorted_by_what_it_explains():
    X = load_wine(as_frame=True).data
    model = KMeans(3, random_state=0).fit(X)
    display = check(ProfileDisplay.from_estimator(model, X))
    wanted = (model.cluster_centers_ - X.mean().to_numpy()) / X.std(ddof=0).to_numpy()
    at = [list(X.columns).index(name) for name in display.names]
    np.testing.assert_allclose(display.scores, wanted.T[at], atol=1e-9)
    explained = (display.weight * display.scores**2).sum(axis=1)
    assert (np.diff(explained) <= 1e-9).all()
    assert len(display.ax_.texts) == 3 * 13
    np.testing.assert_array_equal(display.weight, np.bincount(model.labels_))
    kept = ProfileDisplay.from_estimator(model, X, sort=False)
    assert kept.names == list(X.columns)


def test_many_features_are_cut_to_those_that_differ():
    X = np.random.default_rng(0).normal(size=(500, 100))
    display = check(ProfileDisplay.from_estimator(KMeans(50, random_state=0).fit(X), X))
    assert display.scores.shape == (30, 50)
    assert "70 of 100 are left out" in display.caption


def test_a_constant_feature_says_nothing_and_breaks_nothing():
    X = np.column_stack([IRIS, np.full(len(IRIS), 0.1)])
    display = check(ProfileDisplay.from_estimator(KMeans(3, random_state=0).fit(X), X))
    assert display.names[-1] == "feature 4"
    assert (display.scores[-1] == 0).all()


@pytest.mark.parametrize(
    "model", [KernelKMeans(3, random_state=0), SphericalKMeans(3, random_state=0)]
)
def test_clusters_without_centers_among_the_rows_show_their_means(model):
    model.fit(IRIS)
    display = check(ProfileDisplay.from_estimator(model, IRIS, sort=False))
    means = np.array([IRIS[model.labels_ == j].mean(axis=0) for j in range(3)])
    np.testing.assert_allclose(display.scores, ((means - IRIS.mean(0)) / IRIS.std(0)).T, atol=1e-9)
    assert "mean of its rows" in display.caption


def test_sparse_and_weighted_profiles():
    X = np.where(load_digits().data > 8, load_digits().data, 0)[:300]
    weight = np.random.default_rng(0).integers(1, 4, len(X))
    model = KMeans(5, random_state=0).fit(X)
    once = ProfileDisplay.from_estimator(model, sp.csr_array(X), weight, sort=False)
    often = ProfileDisplay.from_estimator(model, np.repeat(X, weight, axis=0), sort=False)
    assert once.names == often.names
    np.testing.assert_allclose(once.scores, often.scores, atol=1e-8)


def test_names_must_be_as_many_as_features():
    with pytest.raises(ValueError, match="feature_names has 2 names; 4 are expected"):
        ProfileDisplay.from_estimator(
            KMeans(2, random_state=0).fit(IRIS), IRIS, feature_names=["a", "b"]
        )


# --- merge trees ----------------------------------------------------------------------------------


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


def test_a_cut_crosses_as_many_lines_as_it_leaves_clusters():
    model = KMeans(8, random_state=0).fit(IRIS)
    display = check(MergeTreeDisplay.from_estimator(model, cuts=(1, 2, 3, 7)))
    prices = display.linkage[:, 2]
    heights = [line.get_ydata()[0] for line in display.ax_.lines]
    assert [8 - int((prices < height).sum()) for height in heights] == [7, 3, 2, 1]
    assert not np.isclose(np.subtract.outer(heights, prices), 0).any()


def test_cuts_at_nearly_the_same_height_share_a_name():
    X = blobs(20, 400)
    model = KMeans(20, random_state=0).fit(X)
    display = check(MergeTreeDisplay.from_estimator(model, cuts=range(1, 20)))
    assert len(display.ax_.lines) == 19


def test_the_scale_is_logarithmic_where_prices_differ_by_orders():
    near = np.array([[0.0], [0.001], [1.0], [100.0], [10_000.0]])
    display = check(MergeTreeDisplay.from_estimator(KMeans(5, random_state=0).fit(near)))
    assert display.ax_.get_yscale() == "log"
    even = MergeTreeDisplay.from_estimator(KMeans(3, random_state=0).fit(IRIS)).plot()
    assert even.ax_.get_yscale() == "linear"


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


# --- iterations -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [
    KMeans(5, init="random", n_init=3, random_state=0),
    KMeans(5, init="random", n_init=1),  # a seed that nobody knows
    SphericalKMeans(4, init="random", n_init=2, random_state=1),
    SphericalKMeans(3, init=IRIS[[0, 60, 120]]),
    KMedoids(4, method="alternate", random_state=0),
    KMedoids(4, random_state=0),
    KMedoids(4, method="pam", init="random", random_state=3),
])  # fmt: skip
def test_the_steps_are_those_of_the_fit(model):
    model.fit(IRIS)
    display = check(IterationsDisplay.from_estimator(model, IRIS, most=50))
    costs = [frame.cost for frame in display.frames]
    assert [frame.iteration for frame in display.frames] == list(range(model.n_iter_ + 1))
    assert "cannot be repeated" not in display.caption
    assert costs[-1] == model.inertia_
    np.testing.assert_allclose(costs[: model.n_iter_], [step.cost for step in model.trace_])
    np.testing.assert_array_equal(display.frames[-1].scene.labels, model.labels_)


def test_a_start_runs_the_same_fit_again():
    X = blobs(6, 500)
    first = KMeans(6, init="random", n_init=4).fit(X)
    again = KMeans(6, init=first.start_).fit(X)
    np.testing.assert_array_equal(first.cluster_centers_, again.cluster_centers_)
    assert first.trace_[-1].cost == again.trace_[-1].cost


def test_a_start_of_medoids_is_made_of_rows_that_count():
    weight = np.r_[np.zeros(100), np.ones(50)]
    model = KMedoids(3, method="alternate", random_state=0).fit(IRIS, sample_weight=weight)
    assert (weight[model.start_] == 1).all()
    check(IterationsDisplay.from_estimator(model, IRIS, weight))
    assert KMedoids(3, method="clara", random_state=0).fit(IRIS).start_ is None


def test_clusters_keep_their_color_from_step_to_step():
    X = blobs(3, 300, seed=4)
    model = KMedoids(3, method="alternate", random_state=0).fit(X)
    frames = IterationsDisplay.from_estimator(model, X, most=50).frames
    last = frames[-1].scene
    np.testing.assert_array_equal(last.centers, model.cluster_centers_)
    before = frames[-2].scene
    assert (before.labels == last.labels).mean() > 0.9


@pytest.mark.parametrize("last", [1, 2, 5, 6, 17, 300])
@pytest.mark.parametrize("most", [2, 3, 6, 12])
def test_the_steps_shown_begin_at_the_start_and_end_at_the_end(last, most):
    turns = shown(last, most)
    assert turns[0] == 0
    assert turns[-1] == last
    assert len(turns) == len(set(turns)) == min(most, last + 1)
    assert turns == sorted(turns)


def test_an_animation_has_a_picture_for_every_moment(tmp_path):
    from PIL import Image

    model = KMeans(5, init="random", n_init=1, random_state=0).fit(IRIS)
    display = IterationsDisplay.from_estimator(model, IRIS, most=4)
    path = display.save_animation(tmp_path / "a.gif", dpi=50)
    with Image.open(path) as image:
        assert image.n_frames == 4


@pytest.mark.parametrize("model", [
    Peer(2, n_init=1), MiniBatchKMeans(2), KernelKMeans(2), KMedoids(2, method="clara"),
    KMedoids(k_range=(2, 3)),
])  # fmt: skip
def test_other_members_cannot_be_run_again(model):
    with pytest.raises(ValueError, match=r"partita is expected|can be drawn"):
        IterationsDisplay.from_estimator(model.fit(IRIS), IRIS)


# --- hostile input --------------------------------------------------------------------------------


@pytest.mark.parametrize("X", [
    [[0.0, 0.0], [1.0, 1.0]],
    [[1.0, 2.0, 3.0], [1.0, 2.0, 3.5]],
    [[5.0], [7.0]],
    np.zeros((2, 4)),
    np.array([[0, 255], [10, 3], [200, 100]], np.uint8),
    np.random.default_rng(0).normal(size=(60, 3)) + 1e6,
    np.random.default_rng(0).normal(size=(60, 3)) * 1e100,
    np.random.default_rng(0).normal(size=(60, 3)) * 1e-100,
    np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)[::2, ::-2],
    np.asfortranarray(np.random.default_rng(0).normal(size=(40, 2))),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:Number of distinct")
def test_odd_rows_are_drawn_all_the_same(X):
    model = KMeans(2, random_state=0).fit(X)
    for display in (
        ClusterDisplay.from_estimator(model, X),
        ObjectiveDisplay.from_estimator(model),
        ProfileDisplay.from_estimator(model, X),
        MergeTreeDisplay.from_estimator(model),
        IterationsDisplay.from_estimator(model, X),
    ):
        assert display._repr_png_()


def test_one_cluster_is_drawn():
    for display in every_display(KMeans(1).fit(IRIS), IRIS):
        check(display)


@pytest.mark.filterwarnings("ignore:Number of distinct")
def test_empty_clusters_are_drawn():
    X = np.repeat([[0.0, 0.0], [3.0, 1.0]], 20, axis=0)
    model = KMeans(4, init=[[0, 0], [3, 1], [9, 9], [9, 9]], empty="keep").fit(X)
    for display in every_display(model, X):
        check(display)


def test_rows_of_zeros_belong_nowhere():
    X = np.vstack([IRIS, np.zeros((3, 4))])
    for rest in ("drop", "separate"):
        model = SphericalKMeans(3, zero_rows=rest, random_state=0).fit(X)
        check(ClusterDisplay.from_estimator(model, X))
        check(ProfileDisplay.from_estimator(model, X))
        assert len(SilhouetteDisplay.from_estimator(model, X).values) == len(IRIS)


def test_missing_values_other_features_and_matrices_are_refused():
    model = KMeans(2, random_state=0).fit(IRIS)
    broken = IRIS.copy()
    broken[3, 1] = np.nan
    for display in (ClusterDisplay, ProfileDisplay, SilhouetteDisplay):
        with pytest.raises(ValueError, match="NaN"):
            display.from_estimator(model, broken)
        with pytest.raises(ValueError, match="features"):
            display.from_estimator(model, IRIS[:, :2])
    far = KMedoids(2, metric="precomputed").fit(np.abs(IRIS[:, :1] - IRIS[:, 0]))
    with pytest.raises(ValueError, match="fitted to a matrix"):
        ClusterDisplay.from_estimator(far, np.abs(IRIS[:, :1] - IRIS[:, 0]))


@pytest.mark.data
@pytest.mark.parametrize(("name", "k"), [
    ("gagolews_sipu/s1", 15), ("gagolews_sipu/a3", 50), ("gagolews_sipu/unbalance", 8),
    ("sossdp/wine", 3), ("bkmeans/Cloud", 12),
])  # fmt: skip
def test_real_data_is_drawn_without_a_text_over_another(data_folder, name, k):
    with np.load(data_folder / f"{name}.npz") as file:
        X = file["X"].astype(np.float64)
    model = KMeans(k, random_state=0).fit(X)
    for display in every_display(model, X):
        check(display)

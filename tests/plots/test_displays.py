"""All displays: texts do not overlap, settings stay, odd input is drawn or refused."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from helpers.pictures import IRIS, blobs, check, check_texts, every_display, matplotlib, sweep
from helpers.slow_cases import slow
from sklearn.cluster import KMeans as Peer
from sklearn.datasets import load_iris

from partita import (
    KMeans,
    KMedoids,
    SphericalKMeans,
)
from partita.chart_layout.palette import PALETTE, cluster_color, cluster_marker
from partita.plots import (
    ClusterDisplay,
    CriteriaDisplay,
    IterationsDisplay,
    MergeTreeDisplay,
    ObjectiveDisplay,
    ProfileDisplay,
    SilhouetteDisplay,
)


@pytest.mark.heavy
@pytest.mark.parametrize("k", [2, 9, 50])
def test_no_text_covers_another_for_few_and_many_clusters(k):
    X = blobs(k, 600)
    model = KMeans(k, random_state=0).fit(X)
    for display in every_display(model, X):
        check(display)


@pytest.mark.heavy
def test_no_text_covers_another_where_centers_crowd():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1e-3, (400, 2)), rng.normal(100, 1, (10, 2))])
    check(ClusterDisplay.from_estimator(KMeans(30, random_state=0).fit(X), X))


@pytest.mark.heavy
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


@pytest.mark.heavy
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
    with pytest.raises(
        ValueError,
        match="must hold 9 matplotlib Axes",
    ):
        display.plot(figure.subplots())


@pytest.mark.heavy
def test_the_settings_of_the_user_stay_as_they_are(tmp_path):
    before = dict(matplotlib.rcParams)
    model = KMeans(3, random_state=0).fit(IRIS)
    ClusterDisplay.from_estimator(model, IRIS).save(tmp_path / "a.svg")
    assert dict(matplotlib.rcParams) == before


@pytest.mark.heavy
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


def test_fifty_clusters_differ_in_color_or_mark():
    assert len({(cluster_color(j), cluster_marker(j)) for j in range(50)}) == 50


def test_colors_of_the_first_eight_differ_in_lightness_or_hue_also_in_grey():
    def grey(color):
        red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
        return 0.299 * red + 0.587 * green + 0.114 * blue

    assert len({round(grey(color)) for color in PALETTE}) == len(PALETTE)
    assert max(map(grey, PALETTE)) < 180, "too light for a white page"


@pytest.mark.heavy
@pytest.mark.parametrize(
    "name",
    ["a$b$c", "new\nline", "\\frac", "", "a" * 300, *slow("$", "x_{i}", "tab\there")],
)
def test_names_from_outside_are_text(name):
    X = pd.DataFrame(IRIS[:, :2], columns=[name, "other"])
    model = KMeans(2, random_state=0).fit(X)
    check(ClusterDisplay.from_estimator(model, X))
    display = check(ProfileDisplay.from_estimator(model, X))
    shown_names = [t.get_text().replace(r"\$", "$") for t in display.ax_.get_yticklabels()]
    assert any(part[:1] == name[:1] for part in shown_names)


@pytest.mark.heavy
@pytest.mark.parametrize("X", [
    [[5.0], [7.0]],
    np.zeros((2, 4)),
    np.array([[0, 255], [10, 3], [200, 100]], np.uint8),
    np.random.default_rng(0).normal(size=(60, 3)) * 1e100,
    np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)[::2, ::-2],
    *slow(
        [[0.0, 0.0], [1.0, 1.0]],
        [[1.0, 2.0, 3.0], [1.0, 2.0, 3.5]],
        np.random.default_rng(0).normal(size=(60, 3)) + 1e6,
        np.random.default_rng(0).normal(size=(60, 3)) * 1e-100,
        np.asfortranarray(np.random.default_rng(0).normal(size=(40, 2))),
    ),
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


@pytest.mark.heavy
def test_one_cluster_is_drawn():
    for display in every_display(KMeans(1).fit(IRIS), IRIS):
        check(display)


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore:Number of distinct")
def test_empty_clusters_are_drawn():
    X = np.repeat([[0.0, 0.0], [3.0, 1.0]], 20, axis=0)
    model = KMeans(4, init=[[0, 0], [3, 1], [9, 9], [9, 9]], empty="keep").fit(X)
    for display in every_display(model, X):
        check(display)


@pytest.mark.heavy
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


@pytest.mark.heavy
def test_the_model_of_scikit_learn_is_drawn_too():
    X = load_iris(as_frame=True).data
    model = Peer(3, n_init=1, random_state=0).fit(X)
    check(ClusterDisplay.from_estimator(model, X))
    check(ProfileDisplay.from_estimator(model, X))
    check(SilhouetteDisplay.from_estimator(model, X))
    check(MergeTreeDisplay.from_estimator(model, X))

"""The map: every row in its place with its own values, or a fair sample."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.reports import NONE, Page, blobs, budget, fitted, unpacked

from partita import KMeans
from partita.report import Fitted, render, silhouette_sample, summarise
from partita.report.map import map_data, map_packing
from partita.report.map.axis_frame import axis_frame
from partita.report.map.axis_words import AxisWords, principal_words
from partita.report.map.map_data import map_of
from partita.report.map.map_sample import group_plane, project_rows
from partita.report.report_input import check_input


def rows_of(data):
    """The numbers of the rows of a map, from 0, in the order in which it draws them."""
    return unpacked(data["rows"], "<u4") - 1


def positions_of(axis):
    """The positions of rows along an axis of the plane."""
    kind = axis["packed"]["type"]
    return unpacked(axis["packed"]["data"], f"<{kind}") / (65535 if kind == "u2" else 1)


def values_of(axis):
    """The values of rows along an axis that has numbers."""
    low, high = axis["box"]
    return low + positions_of(axis) * (high - low)


def ids_of(data):
    return [data["id_prefix"] + rest for rest in data["ids"]]


def columns_of(data):
    """The values that are shown on pointing at rows, (m, features)."""
    columns = zip(data["values"], data["types"], strict=True)
    return np.column_stack([unpacked(text, f"<{kind}") for text, kind in columns])


def map_and_note(made):
    return map_of(check_input(made), SimpleNamespace(order=np.arange(made.X.shape[1])))


# --- rows --------------------------------------------------------------------------------------


def test_the_map_holds_every_row_with_its_own_values():
    made = fitted(ids=[f"r{i}" for i in range(60)], names=list("abcd"))
    data = Page(render(made)).data
    rows, labels = rows_of(data), unpacked(data["labels"], "<u2")
    assert sorted(rows.tolist()) == list(range(60))
    assert ids_of(data) == [f"r{i}" for i in rows]
    np.testing.assert_array_equal(labels, made.model.labels_[rows])
    np.testing.assert_array_equal(columns_of(data), made.X[rows])
    assert data["names"] == list("abcd")


@pytest.mark.heavy
def test_many_rows_are_sampled_said_and_small_groups_kept():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(120_000, 6)), rng.normal(50, 1, size=(5, 6))])
    model = KMeans(2, init=np.vstack([np.zeros(6), np.full(6, 50.0)])).fit(X)
    ids = [f"customer {i:07d}" for i in range(len(X))]
    text = render(Fitted(model, X, ids=ids, diagnosis=NONE))
    page = Page(text)
    labels = unpacked(page.data["labels"], "<u2")
    assert map_data.MAX_ROWS <= len(labels) < map_data.MAX_ROWS + 20
    assert np.count_nonzero(labels == 1) == 5
    assert "of 120\u202f005 rows are drawn: a random sample" in page.text
    assert len(text.encode()) < 5_000_000


def test_long_ids_cost_rows_not_megabytes(monkeypatch):
    monkeypatch.setattr(map_packing, "MAX_CHARACTERS", 20_000)
    monkeypatch.setattr(map_packing, "_MIN_ROWS", 50)
    X = blobs(2000)
    ids = [f"{i * 7919 % 2000} and {i} of a rather long name" for i in range(2000)]
    made = Fitted(KMeans(3, random_state=0).fit(X), X, ids=ids, diagnosis=NONE)
    page = Page(render(made))
    rows = rows_of(page.data)
    assert 50 <= len(rows) < 2000
    assert f"{len(rows)} of 2\u202f000 rows are drawn" in page.text
    assert [ids[i][:20] for i in rows] == [name[:20] for name in ids_of(page.data)]
    packed = sum(map(len, page.data["values"])) + sum(map(len, page.data["ids"]))
    assert packed + sum(len(page.data[key]) for key in ("rows", "labels")) < 20_000


def test_small_groups_are_in_every_sample(monkeypatch):
    monkeypatch.setattr(map_data, "MAX_ROWS", 200)
    monkeypatch.setattr(silhouette_sample, "MAX_PRODUCTS", budget(100, 5010, 2))
    X = np.vstack([np.random.default_rng(0).normal(size=(5000, 2)), np.full((10, 2), 50.0)])
    X[-10:] += np.arange(20).reshape(10, 2) / 100
    made = Fitted(KMeans(2, init=[[0, 0], [50, 50]]).fit(X), X, diagnosis=NONE)
    labels = unpacked(Page(render(made)).data["labels"], "<u2")
    assert (labels == 1).sum() == 10
    assert 200 <= len(labels) <= 210
    assert summarise(made).clusters[1].silhouette == pytest.approx(1.0, abs=0.05)


def test_narrow_numbers_change_no_integer(monkeypatch):
    monkeypatch.setattr(map_packing, "MAX_CHARACTERS", 2_000)  # too few for doubles
    X = blobs(60, d=3)
    original = np.column_stack([np.arange(60.0), 2.0**40 + np.arange(60), X[:, 2]])
    made = Fitted(KMeans(3, random_state=0).fit(X), X, original=original, diagnosis=NONE)
    data = map_and_note(made)[0].data
    assert data["types"] == ["f4", "f8", "f4"]
    shown, rows = columns_of(data), rows_of(data)
    np.testing.assert_array_equal(shown[:, :2], original[rows, :2])
    np.testing.assert_allclose(shown[:, 2], original[rows, 2], rtol=1e-7)


# --- axes --------------------------------------------------------------------------------------


def test_axes_of_different_scales_say_so():
    says = "The axes have different scales."
    X = blobs(60, d=2) * [1, 1000]
    text = Page(render(Fitted(KMeans(3, random_state=0).fit(X), X, diagnosis=NONE))).text
    assert says in text
    assert says not in Page(render(fitted(d=1))).text
    round_ones = np.random.default_rng(0).normal(size=(60, 2))
    model = KMeans(3, random_state=0).fit(round_ones)
    assert says not in Page(render(Fitted(model, round_ones, diagnosis=NONE))).text


def test_two_features_are_drawn_in_the_units_of_the_data():
    X = blobs(80, d=2)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    model = KMeans(3, random_state=0).fit(scaled)
    made = Fitted(
        model, scaled, original=X, scaling=SimpleNamespace(kind="standard"), names=["a", "b"]
    )
    data = map_and_note(made)[0].data
    assert [axis["name"] for axis in data["axes"]] == ["a", "b"]
    drawn = np.column_stack([values_of(axis) for axis in data["axes"]])
    np.testing.assert_allclose(drawn, X[rows_of(data)], atol=1e-3)


def test_units_that_no_line_undoes_are_called_scaled():
    X = blobs(80, d=2)
    made = Fitted(KMeans(3, random_state=0).fit(X), X, original=np.exp(X), names=["a", "b"])
    assert [axis["name"] for axis in map_and_note(made)[0].data["axes"]] == [
        "a (scaled)",
        "b (scaled)",
    ]


def test_rows_at_the_right_have_more_of_what_the_axis_says(wine):
    data = check_input(wine)
    place = group_plane(data)
    points = project_rows(data, place.plane, np.arange(data.n))
    for axis, words in enumerate(principal_words(place.plane, data.names)):
        assert 1 <= len(words.parts) <= 3
        assert words.share.endswith("of the variance")
        for part in words.parts[:2]:  # later names may be shortened
            direction, name = part.split(" ", 1)
            along = np.corrcoef(points[:, axis], data.original[:, data.names.index(name)])[0, 1]
            assert (along > 0.3) if direction == "more" else (along < -0.3)


def test_a_caption_has_as_many_words_as_fit():
    words = AxisWords("first principal axis", ("more a", "less b"), "36 % of the variance")
    captions = [words.caption(length) for length in range(8, 60)]
    assert all(len(text) <= length for length, text in enumerate(captions, 8))
    assert [len(text) for text in captions] == sorted(len(text) for text in captions)
    assert captions[-1] == "→ more a, less b (36 % of the variance)"


def test_every_axis_can_be_chosen_and_has_its_own_range():
    data = map_and_note(fitted(d=5, names=list("abcde")))[0].data
    assert [axis["name"] for axis in data["axes"][2:]] == list("abcde")
    for axis in data["axes"][2:]:
        column = columns_of(data)[:, axis["feature"]]
        assert axis["box"][0] < column.min() < column.max() < axis["box"][1]


# --- outliers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_without_outliers_the_frame_holds_all_rows(n):
    frame = axis_frame(np.random.default_rng(n).uniform(size=n))
    assert frame.whole == (0.0, 1.0)
    assert not frame.is_squeezed


@pytest.mark.parametrize("far", [1e3, 1e6, 1e300])
def test_outliers_do_not_squeeze_the_other_rows(far):
    values = np.append(np.random.default_rng(0).normal(size=600), [far, -far])
    frame = axis_frame(values)
    assert frame.is_squeezed
    near = frame.position(values[:-2])
    assert np.ptp(near) > 0.6
    assert np.mean((near >= 0) & (near <= 1)) >= 0.98
    low, high = frame.whole
    assert low < frame.position(values[-1:])[0] < frame.position(values[-2:-1])[0] < high


def test_rows_near_an_outlier_keep_their_digits():
    X = blobs(300, d=2)
    X[5] = 1e6
    data = map_and_note(Fitted(KMeans(4, random_state=0).fit(X), X))[0].data
    drawn = np.column_stack([values_of(axis) for axis in data["axes"]])
    np.testing.assert_allclose(drawn, X[rows_of(data)], rtol=1e-5, atol=1e-3)
    assert all(axis["squeezed"] for axis in data["axes"])


# --- cells -------------------------------------------------------------------------------------


def test_points_and_cells_of_two_features_agree_with_predict():
    made = fitted(d=2)
    data = Page(render(made)).data
    low, high = np.transpose([axis["box"] for axis in data["axes"]])
    drawn = np.column_stack([values_of(axis) for axis in data["axes"]])
    np.testing.assert_allclose(drawn, made.X[rows_of(data)], atol=1e-3)
    assert len(data["cells"]) == 3
    for corners in data["cells"]:
        inside = low + np.mean(corners, axis=0) * (high - low)
        j = made.model.predict([inside])[0]
        assert corners == data["cells"][j]


def test_cells_are_drawn_only_where_rows_lie_in_their_own():
    flat = blobs(300, k=3, d=2) @ np.random.default_rng(0).normal(size=(2, 5))  # a plane in 5-d
    made = Fitted(KMeans(3, random_state=0).fit(flat), flat)
    shown, _ = map_and_note(made)
    assert len(shown.data["cells"]) == 3
    assert "No borders" not in shown.plane_note
    wild = np.random.default_rng(0).normal(size=(300, 8))
    shown, _ = map_and_note(Fitted(KMeans(8, random_state=0).fit(wild), wild))
    assert shown.data["cells"] == []
    assert "No borders are drawn, because in this plane only" in shown.plane_note


# --- the legend, and pages without rows --------------------------------------------------------


def test_the_legend_has_all_groups_the_largest_first():
    shown, _ = map_and_note(fitted(n=100, k=7))
    assert sorted(group.number for group in shown.legend) == list(range(7))
    shares = [group.share for group in shown.legend]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)


@pytest.mark.parametrize("d", [1, 2, 6])
def test_a_page_without_rows_has_no_rows_on_its_map(d):
    X = np.vstack([blobs(100, d=d), np.full((3, d), 60.0)])
    init = np.vstack([X[:3], np.full((1, d), 60.0)])
    ids = [f"secret {i}" for i in range(len(X))]
    made = Fitted(KMeans(4, init=init).fit(X), X, ids=ids, no_rows=True)
    lonely = int(made.model.predict(np.full((1, d), 60.0))[0])
    shown, note = map_and_note(made)
    assert shown.data is None
    assert "secret" not in shown.drawing
    assert f'data-group="{lonely}"><circle' not in shown.drawing
    assert f'class="strong">{lonely}</text>' not in shown.drawing
    assert "fewer than 5 rows" in note or d == 1

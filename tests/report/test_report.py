"""The page of a report: one file that is enough, and safe whatever the data hold."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.reports import EVIL, NONE, Page, blobs, budget, fitted, unpacked, wine_report
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans as Peer

from partita import (
    KMeans,
    MiniBatchKMeans,
    silhouette_score,
)
from partita._common.text import JOINERS
from partita.plots import style
from partita.report import Fitted, map_data, render, silhouette_sample, summarise, svg, write_report
from partita.report.safe_text import in_script, shown


@pytest.fixture(scope="module")
def wine():
    return wine_report()


# --- the page -----------------------------------------------------------------------------------


def test_the_page_is_well_formed_and_its_links_lead_somewhere(wine):
    page = Page(render(wine))
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        for name in ("aria-labelledby", "aria-describedby"):
            assert attributes.get(name, ids[0]) in ids
        if attributes.get("href", "").startswith("#"):
            assert attributes["href"][1:] in ids
    tags = [tag for tag, _ in page.elements]
    assert tags.count("h1") == 1
    for needed in ("main", "nav", "header", "footer", "canvas"):
        assert needed in tags


def test_nothing_is_fetched_and_only_this_script_and_style_may_run(wine):
    page = Page(render(wine))
    for tag, attributes in page.elements:
        for name, text in attributes.items():
            assert not name.startswith("on"), f"{tag} has a handler"
            assert name != "style", f"{tag} has a style that the policy forbids"
            if name in ("src", "href", "action", "data"):
                assert text.startswith(("#", "data:")), text
    assert "@import" not in page.raw["style"]
    assert "url(" not in page.raw["style"]
    policy = next(a["content"] for _, a in page.elements if "http-equiv" in a)
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for kind in ("script", "style"):
        digest = hashlib.sha256(page.raw[kind].encode()).digest()
        assert f"{kind}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy


def test_the_same_record_gives_the_same_bytes(wine):
    assert render(wine) == render(wine)


def test_dark_colours_are_the_same_by_choice_and_by_preference(wine):
    blocks = re.findall(r"\{([^{}]*--paper: #14[^{}]*)\}", Page(render(wine)).raw["style"])
    assert len(blocks) == 2
    assert blocks[0].split() == blocks[1].split()


def test_clusters_have_the_same_colours_everywhere(wine):
    page = Page(render(wine))
    light = page.raw["style"].split("@media")[0]
    found = dict(re.findall(r"--c(\d+): (#[0-9a-f]{6});", light))
    assert [found[str(j)] for j in range(len(found))] == [c.lower() for c in style.PALETTE]
    assert f"const PALETTE = {len(style.PALETTE)};" in page.raw["script"]
    assert len(set(re.findall(r"\.c\d+ \{ color", light + page.raw["style"]))) == len(found)
    best = re.search(r"\.best \{ stroke: var\(--(\w+)\)", page.raw["style"]).group(1)
    assert not re.fullmatch(r"c\d", best)


def luminance(color):
    """As WCAG counts it, of red, green and blue from 0 to 255."""
    part = np.asarray(color) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_numbers_of_a_heat_map_can_be_read(wine, dark):
    css = Page(render(wine)).raw["style"]
    block = css[css.index("@media") :] if dark else css
    rgb = lambda name: np.array(  # noqa: E731
        [int(part, 16) for part in re.search(rf"--{name}: #(..)(..)(..);", block).groups()]
    )
    levels = re.findall(
        r"\.z[hl](\d) \{ background: color-mix\(in srgb, var\(--(\w+)\) (\d+)%", css
    )
    assert len(levels) == 16
    for _, name, share in levels:
        mixed = rgb(name) * int(share) / 100 + rgb("paper") * (1 - int(share) / 100)
        low, high = sorted([luminance(mixed), luminance(rgb("ink"))])
        assert (high + 0.05) / (low + 0.05) >= 4.5


def test_axes_of_different_scales_say_so():
    says = "The axes have different scales."
    X = blobs(60, d=2) * [1, 1000]
    text = Page(render(Fitted(KMeans(3, random_state=0).fit(X), X, diagnosis=NONE))).text
    assert says in text
    assert says not in Page(render(fitted(d=1))).text
    round_ones = np.random.default_rng(0).normal(size=(60, 2))
    model = KMeans(3, random_state=0).fit(round_ones)
    assert says not in Page(render(Fitted(model, round_ones, diagnosis=NONE))).text


def test_a_small_report_is_small(wine):
    assert len(render(wine).encode()) < 300_000


def test_many_rows_are_sampled_said_and_small_clusters_kept():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(60_000, 20)), rng.normal(50, 1, size=(5, 20))])
    model = KMeans(2, init=np.vstack([np.zeros(20), np.full(20, 50.0)])).fit(X)
    ids = [f"a rather long identifier {i}" for i in range(len(X))]
    text = render(Fitted(model, X, ids=ids, diagnosis=NONE))
    page = Page(text)
    labels = unpacked(page.data["labels"], "<u2")
    assert map_data.MOST <= len(labels) < map_data.MOST + 20
    assert np.count_nonzero(labels == 1) == 5
    assert "of 60\u202f005 rows are drawn, sampled at random" in page.text
    assert len(text.encode()) < 8_000_000


@pytest.mark.slow
def test_a_million_rows_make_a_report_of_less_than_eight_megabytes():
    X = np.random.default_rng(0).normal(size=(1_000_000, 8)).astype(np.float32)
    model = MiniBatchKMeans(6, random_state=0).fit(X)
    assert len(render(Fitted(model, X, diagnosis=NONE)).encode()) < 8_000_000


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


# --- hostile text -------------------------------------------------------------------------------


def with_texts(texts):
    texts = [text or " " for text in texts]  # a fact that is not there has no place
    pick = lambda n: [texts[i % len(texts)] for i in range(n)]  # noqa: E731
    return fitted(
        n=24,
        names=pick(4),
        ids=pick(24),
        source=texts[0],
        command=texts[-1],
        fingerprint=texts[0],
        created=texts[-1],
        versions={"a": texts[0]},
        left_out={"column": texts[0], "other": texts[-1]},
        diagnosis=None,
    )


@pytest.fixture(scope="module")
def plain():
    return Page(render(with_texts(["plain"]))).shape


@pytest.mark.parametrize("evil", EVIL, ids=lambda text: repr(text[:12]))
def test_hostile_text_does_not_change_the_page(evil, plain):
    text = render(with_texts([evil]))
    page = Page(text)
    assert page.shape == plain
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069\u2028\u2029]", text)
    text.encode("utf-8")
    assert page.data["names"] == [shown(evil or " ")] * 4
    assert len(text) < 300_000


@settings(max_examples=15)
@given(texts=st.lists(st.text(), min_size=1, max_size=6))
def test_no_text_changes_the_page(plain, texts):
    assert Page(render(with_texts(texts))).shape == plain


@given(data=st.recursive(st.text() | st.integers(), st.lists))
def test_json_in_a_script_comes_back_and_cannot_leave_it(data):
    text = in_script(data)
    assert json.loads(text) == data
    assert text.isascii()
    assert not set("<>&") & set(text)


@given(text=st.text(), most=st.integers(6, 60))
def test_shown_text_is_short_and_printable(text, most):
    found = shown(text, most)
    assert found.translate(dict.fromkeys(map(ord, JOINERS))).isprintable()
    assert 0 < len(found) <= max(most, len("(no name)"))
    assert not {found[0], found[-1]} & set(JOINERS)


def test_joiners_stay_inside_words_that_need_them():
    for text in ("می\u200cخواهم", "👩\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "क\u200dष"):
        assert shown(text) == text
    for text in ("pay\u200dpal", "\u200cم", "م\u200d م", "a\u200b\u202eb"):
        assert not set(shown(text)) & set(JOINERS + "\u200b\u202e")
    assert shown("ا\u200c" * 60, 9) == "ا\u200cا\u200cا…ا\u200cا"


def test_ten_thousand_columns_give_a_small_page():
    X = np.random.default_rng(0).normal(size=(30, 10_000))
    made = Fitted(KMeans(2, random_state=0).fit(X), X, diagnosis=NONE)
    text = render(made)
    assert len(text) < 300_000
    assert "9\u202f970 of 10\u202f000 features are left out" in Page(text).text


# --- files and errors ---------------------------------------------------------------------------


def test_a_report_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path, made = tmp_path / "report.html", fitted()
    assert write_report(path, made).n_clusters == 3
    before = path.read_bytes()
    assert before == render(made).encode()
    with pytest.raises(FileExistsError, match="already exists"):
        write_report(path, made)
    write_report(str(path), fitted(k=2), force=True)
    assert path.read_bytes() != before

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    kept = path.read_bytes()
    with pytest.raises(OSError, match="no space"):
        write_report(path, made, force=True)
    assert path.read_bytes() == kept
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"labels": [0, 1]}, "labels has 2 entries; 60 are expected"),
        ({"ids": ["a"]}, "ids has 1 entries; 60 are expected"),
        ({"names": ["a"]}, "feature_names has 1 names; 4 are expected"),
        (
            {"original": np.ones((60, 3))},
            r"original has the shape \(60, 3\); \(60, 4\) is expected",
        ),
        ({"weight": [1.0]}, "sample_weight"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_does_not_fit_is_named(more, says):
    with pytest.raises(ValueError, match=says):
        render(fitted(**more))


def test_a_model_that_was_not_fitted_is_refused():
    with pytest.raises(Exception, match="not fitted"):
        render(Fitted(KMeans(2), [[0.0], [1.0]]))


def test_a_thousand_clusters_are_told_by_the_largest():
    X = np.random.default_rng(0).normal(size=(3000, 3))
    made = Fitted(KMeans(1000, random_state=0, max_iter=2).fit(X), X, diagnosis=NONE)
    text = render(made)
    page = Page(text)
    assert "only the 200 largest of 1\u202f000 clusters are listed" in page.text.lower()
    assert sum("data-cluster" in attributes for _, attributes in page.elements) == 200
    assert len(text) < 2_000_000


def test_ids_come_from_any_kind_of_column():
    ids = [f"r{i}" for i in range(60)]
    odd = pd.Series(ids, index=range(100, 160))
    expected = render(fitted(ids=ids))
    for column in (np.array(ids), odd, pl.Series(ids), pa.array(ids), pa.chunked_array([ids])):
        assert render(fitted(ids=column)) == expected
    assert "(no name)" in Page(render(fitted(ids=pa.array([None] * 60, pa.string())))).text


def test_tables_bring_their_names():
    frame = pd.DataFrame(blobs(30), columns=["a", "b", "c", "wide"])
    model = KMeans(3, random_state=0).fit(frame)
    for X in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert Page(render(Fitted(model, X))).data["names"] == ["a", "b", "c", "wide"]


def test_models_of_scikit_learn_have_a_report():
    X = blobs(40)
    made = Fitted(Peer(3, n_init=1, random_state=0).fit(X), X)
    found, text = summarise(made), Page(render(made)).text
    assert found.silhouette == silhouette_score(X, made.model.labels_)
    assert "keeps no trace" in text


def test_small_clusters_are_in_every_sample(monkeypatch):
    monkeypatch.setattr(map_data, "MOST", 200)
    monkeypatch.setattr(silhouette_sample, "_WORK", budget(100, 5010, 2))
    X = np.vstack([np.random.default_rng(0).normal(size=(5000, 2)), np.full((10, 2), 50.0)])
    X[-10:] += np.arange(20).reshape(10, 2) / 100
    made = Fitted(KMeans(2, init=[[0, 0], [50, 50]]).fit(X), X, diagnosis=NONE)
    labels = unpacked(Page(render(made)).data["labels"], "<u2")
    assert (labels == 1).sum() == 10
    assert 200 <= len(labels) <= 210
    assert summarise(made).clusters[1].silhouette == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("words", EVIL[:5])
def test_drawings_escape_their_texts(words):
    plain = Page(svg.text("a", 0, 0) + svg.drawing(1, 1, "a")).shape
    page = Page(svg.text(words, 0, 0) + svg.drawing(1, 1, words))
    assert page.shape == plain
    assert page.elements[1][1]["aria-label"] == words

"""The report: safe whatever the data hold, the same numbers as the API, one file that is enough."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans as Peer
from sklearn.datasets import load_wine, make_blobs, make_moons
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
    choose_k,
    factorize,
    load,
    merge_tree,
    save,
    silhouette_samples,
    silhouette_score,
)
from partita.diagnosis import Diagnosis
from partita.plots import style
from partita.report import (
    Fitted,
    charts,
    plane,
    profile,
    render,
    silhouettes,
    summarise,
    svg,
    write_report,
)
from partita.report.summary import study
from partita.report.text import JOINERS, in_script, number, percent, shown, ticks, value
from partita.tables import Scaling

VOID = {"meta", "link", "br", "img", "input", "hr"}
NONE = Diagnosis("a fit", (), ())
EVIL = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "{{ 7*7 }}{% raw %}",
    "<!-- <![CDATA[ ]]> -->",
    "a\x00b\x1b[31m",
    "\u202egnp.exe\u202c",
    "\u2028\u2029",
    "\ud800",
    "&lt;b&gt;&amp;",
    "x" * 1_000_000,
    "",
)


class Page(HTMLParser):
    """The elements of a page, their attributes and texts; unbalanced elements are an error."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.texts = [], [], []
        self.raw = {}
        self.feed(text)
        self.close()
        assert not self.open, f"{self.open} are not closed"

    def handle_starttag(self, tag, attributes):
        assert len(dict(attributes)) == len(attributes), f"an attribute of {tag} is there twice"
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            kind = self.elements[-1][1].get("type", self.open[-1])
            self.raw[kind] = self.raw.get(kind, "") + data
        else:
            self.texts.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    @property
    def shape(self):
        """What an attack would change: elements and the names of their attributes."""
        return [(tag, tuple(sorted(attributes))) for tag, attributes in self.elements]

    @property
    def text(self):
        return re.sub(r"[ \n\t]+", " ", " ".join(self.texts))

    @property
    def data(self):
        return json.loads(self.raw["application/json"])


def blobs(n=60, k=3, d=4, seed=0):
    return make_blobs(n, centers=k, n_features=d, cluster_std=0.7, random_state=seed)[0]


def fitted(n=60, k=3, d=4, **more):
    X = blobs(n, k, d)
    return Fitted(KMeans(k, random_state=0).fit(X), X, **{"diagnosis": NONE, **more})


@pytest.fixture(scope="module")
def wine():
    data = load_wine()
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    sweep = choose_k(X, range(2, 6), criteria=("inertia", "silhouette", "bic"), random_state=0)
    model = KMeans(3, n_init=5, random_state=0).fit(X)
    return Fitted(
        model,
        X,
        original=data.data,
        names=data.feature_names,
        ids=[f"wine {i}" for i in range(len(X))],
        scaling=SimpleNamespace(kind="standard"),
        sweep=sweep,
        source="wine.csv",
        command="partita fit wine.csv --k 3",
        seed=0,
        seconds=0.25,
        versions={"partita": "0.1.0"},
        rows_total=180,
        left_out={"grower": "text"},
        fingerprint="sha256:abc",
    )


# --- numbers ------------------------------------------------------------------------------------


def test_the_numbers_are_those_of_the_api(wine):
    found, model, X = summarise(wine), wine.model, wine.X
    assert found.objective == model.inertia_
    assert found.explained_variance == factorize(model, X).explained_variance
    assert found.silhouette == silhouette_score(X, model.labels_)
    assert found.stopped_by == model.stopped_by_
    assert found.iterations == len(model.trace_)
    assert [c.size for c in found.clusters] == np.bincount(model.labels_).tolist()
    spread = np.sqrt(model.stats_.cost_at(model.cluster_centers_) / model.stats_.weight)
    assert [c.spread for c in found.clusters] == pytest.approx(spread.tolist(), rel=1e-12)
    each = silhouette_samples(X, model.labels_)
    means = [each[model.labels_ == j].mean() for j in range(3)]
    assert [c.silhouette for c in found.clusters] == pytest.approx(means, rel=1e-12)


def test_the_page_shows_the_numbers_of_the_summary(wine):
    found, text = summarise(wine), Page(render(wine)).text
    assert "3 clusters in wine.csv" in text
    assert number(found.objective) in text
    assert percent(found.explained_variance) in text
    assert f"{found.silhouette:.2f}" in text
    assert found.stopped_by in text
    assert "178 of 180 rows" in text
    for fact in (
        "partita fit wine.csv --k 3",
        "sha256:abc",
        "0.25 seconds",
        "grower",
        "partita 0.1.0",
    ):
        assert fact in text
    for cluster in found.clusters:
        assert cluster.traits
        for part in (*(t.words for t in cluster.traits), cluster.typical[0].name):
            assert part in text
    assert wine.sweep.verdict in text


def test_typical_rows_are_the_nearest_and_the_atypical_one_is_the_farthest(wine):
    far = wine.model.transform(wine.X).min(axis=1)
    for cluster in summarise(wine).clusters:
        members = np.flatnonzero(wine.model.labels_ == cluster.number)
        order = members[np.argsort(far[members], kind="stable")]
        assert [m.index for m in cluster.typical] == order[:3].tolist()
        assert cluster.atypical.index == order[-1]
        assert cluster.atypical.name == f"wine {order[-1]}"


def test_traits_are_deviations_in_the_units_of_the_user(wine):
    original, labels = wine.original, wine.model.labels_
    for cluster in summarise(wine).clusters:
        mean = original[labels == cluster.number].mean(axis=0)
        score = (mean - original.mean(axis=0)) / original.std(axis=0)
        for trait in cluster.traits:
            t = list(wine.names).index(trait.feature)
            assert trait.score == pytest.approx(score[t])
            assert trait.mean == pytest.approx(mean[t])
            assert ("high" if score[t] > 0 else "low") in trait.words
        least = min(abs(t.score) for t in cluster.traits)
        assert (np.abs(score) > least + 1e-9).sum() < len(cluster.traits)


def test_a_weight_of_two_is_a_repeated_row():
    X, times = blobs(40), np.arange(40) % 3
    model = KMeans(3, random_state=0).fit(X, sample_weight=times)
    one = summarise(Fitted(model, X, weight=times, diagnosis=NONE))
    two = summarise(Fitted(model, np.repeat(X, times, axis=0), diagnosis=NONE))
    assert one.silhouette == pytest.approx(two.silhouette)
    assert one.explained_variance == pytest.approx(two.explained_variance)
    for a, b in zip(one.clusters, two.clusters, strict=True):
        assert (a.weight, a.share) == (b.weight, b.share)
        assert a.spread == pytest.approx(b.spread)
        assert [t.score for t in a.traits] == pytest.approx([t.score for t in b.traits])


def test_a_summary_is_json(wine):
    found = summarise(wine).to_dict()
    again = json.loads(json.dumps(found, allow_nan=False))
    assert again["n_clusters"] == 3
    assert again["clusters"][0]["traits"][0]["feature"] in wine.names
    assert again == found


def budget(rows, n, d):
    """Products of differences that so many of n rows take."""
    return rows * n * (d + silhouettes._ROOT)


@pytest.mark.parametrize("weighted", [False, True])
def test_sampled_silhouettes_are_near_the_exact_ones_and_say_so(monkeypatch, weighted):
    X = blobs(3000, k=4)
    weight = np.random.default_rng(0).lognormal(0, 1, 3000) if weighted else None
    model = KMeans(4, random_state=0).fit(X, sample_weight=weight)
    made = Fitted(model, X, weight=weight, diagnosis=NONE)
    exact = summarise(made)
    assert exact.silhouette_error == 0
    assert exact.silhouette == silhouette_score(X, model.labels_, sample_weight=weight)
    monkeypatch.setattr(silhouettes, "_WORK", budget(300, 3000, 4))
    found = summarise(made)
    assert 250 <= found.silhouette_rows <= 350
    assert 0 < found.silhouette_error < 0.05
    assert abs(found.silhouette - exact.silhouette) < 4 * found.silhouette_error
    text = Page(render(made)).text
    assert "were measured, a sample" in text
    assert f"mean silhouette, ± {number(float(f'{found.silhouette_error:.2g}'))}" in text


def strata(rng, weight, labels, values, sizes, mass):
    """A sample of a fortieth of every cluster, and what is made of it."""
    drawn = [
        rng.choice(np.flatnonzero(labels == j), size // 40, replace=False)
        for j, size in enumerate(sizes)
    ]
    some = np.concatenate(drawn)
    return silhouettes._of_strata(values[some], labels[some], weight[some], mass, sizes)


@pytest.mark.parametrize("sigma", [0.0, 0.7, 1.0])
def test_the_error_of_a_sample_is_how_much_samples_differ(sigma):
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1], [15_000, 5000])
    values = np.clip(rng.normal(0.3, 0.3, len(labels)), -1, 1)
    weight = rng.lognormal(0, sigma, len(labels))
    sizes, mass = np.bincount(labels), np.bincount(labels, weight)
    found = [strata(rng, weight, labels, values, sizes, mass) for _ in range(300)]
    means = np.array([one.mean for one in found])
    assert means.std() / np.mean([one.error for one in found]) == pytest.approx(1, abs=0.2)
    assert means.mean() == pytest.approx(weight @ values / weight.sum(), abs=0.01)


def test_the_share_below_zero_is_of_all_rows_however_they_were_sampled(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 0.3, (6000, 2)), rng.normal(8, 2.0, (600, 2))])
    model = KMeans(31, init=np.vstack([[[0, 0]], X[-30:]]), max_iter=3).fit(X)
    true = (silhouette_samples(X, model.labels_) < 0).mean()
    made = Fitted(model, X, diagnosis=NONE)
    assert f"{percent(true)} of the rows lie left of 0" in Page(render(made)).text
    monkeypatch.setattr(silhouettes, "_WORK", budget(1000, len(X), 2))
    found = study(made).quality.silhouettes
    assert (found.values < 0).mean() > 2 * true  # small clusters are measured more closely
    assert found.negative == pytest.approx(true, rel=0.25)


@pytest.mark.parametrize("k", [3, 40, 400])
def test_a_sample_of_silhouettes_keeps_to_its_budget(k):
    labels = np.random.default_rng(0).integers(0, k, 20_000)
    sizes = np.bincount(labels, minlength=k)
    for most in (100, 1000, 5000):
        found = silhouettes._points(labels, sizes, most)
        assert len(found) <= max(1.5 * most + k / 2, 2 * k)
        assert np.bincount(labels[found], minlength=k).min() >= 2
    assert len(silhouettes._points(labels, sizes, len(labels))) == len(labels)


def test_the_budget_of_silhouettes_counts_what_is_done(monkeypatch):
    rows, n = np.ones((1000, 4)), 1000
    monkeypatch.setattr(silhouettes, "_WORK", budget(n, n, 4) / 2)
    afford = silhouettes._affordable
    assert afford(rows, n, "euclidean") == afford(rows, n, "cosine") == n  # each pair once
    assert afford(rows, n, "chebyshev") < n / 10  # not by our own kernel
    assert afford(rows, n, lambda a, b: 0.0) < 1
    assert afford(rows, n, "precomputed") == afford(np.ones((n, n)), n, "precomputed")
    dense, sparse = np.ones((n, 5000)), sp.csr_array(sp.eye(n, 5000, format="csr"))
    assert afford(sparse, n, "euclidean") > afford(dense, n, "euclidean")


def test_a_report_on_other_rows_says_which_numbers_are_of_the_fit():
    X = blobs(200)
    model, others = KMeans(3, random_state=0).fit(X), blobs(150, seed=1)
    of_the_fit = "of the rows of the fit"
    same = Fitted(model, X, diagnosis=NONE)
    assert summarise(same).of_fit
    assert of_the_fit not in Page(render(same)).text
    for rows, weight in ((others, None), (X[:-1], None), (X, np.arange(200) % 3)):
        made = Fitted(model, rows, weight=weight, diagnosis=NONE)
        found, text = summarise(made), Page(render(made)).text
        assert not found.of_fit
        assert found.objective == pytest.approx(-model.score(rows, sample_weight=weight))
        assert f"J = {number(found.objective)} of these rows" in text.replace("\u00a0", " ")
        assert f"J = {number(model.inertia_)} of the rows of the fit" in text
        assert text.count("All this is of the rows of the fit") == 2  # merges and iterations
        assert "until it stopped, with the rows of the fit" in text
        fused = study(made).quality.merges
        np.testing.assert_array_equal(fused.mass, model.stats_.weight)


def test_rows_that_cost_nothing_are_of_the_fit_only_if_they_are_as_many():
    model = KMeans(2, init=[[0.0], [1.0]]).fit([[0.0], [1.0]])
    for rows, same in (([[0.0], [1.0]], True), ([[0.0], [1.0], [1.0]], False)):
        found = summarise(Fitted(model, rows, diagnosis=NONE))
        assert (found.objective, found.of_fit) == (0.0, same)


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


def test_rows_are_counted_once_however_many_clusters_there_are(monkeypatch):
    calls = []
    bincount = np.bincount
    monkeypatch.setattr(np, "bincount", lambda *a, **more: calls.append(1) or bincount(*a, **more))
    made = []
    for k in (4, 40):
        model = KMeans(k, random_state=0).fit(blobs(400))
        calls.clear()
        found = summarise(Fitted(model, blobs(400), diagnosis=NONE))
        made.append(len(calls))
        assert [c.size for c in found.clusters] == bincount(model.labels_).tolist()
    assert made[0] == made[1]


def test_rows_are_named_by_their_place_in_the_source():
    numbers = range(5, 605, 10)
    odd = pd.Series(numbers, index=range(100, 160))
    for kept in (np.array(numbers), list(numbers), odd):
        member = summarise(fitted(kept=kept)).clusters[0].typical[0]
        assert member.row == member.index * 10 + 6
        assert member.name == f"row {member.row}"


def test_rows_are_counted_from_one_where_they_have_no_names():
    assert "Rows are counted from 1" in Page(render(fitted())).text
    assert "counted from 1" not in Page(render(fitted(ids=[f"r{i}" for i in range(60)]))).text


def test_numbers_are_written_as_they_are_read():
    thin = "\u202f"
    assert value(1234567.0) == f"1{thin}234{thin}567"
    assert value(-123456789012345.0) == f"−123{thin}456{thin}789{thin}012{thin}345"
    assert [value(x) for x in (1e15, 1234567.8, 0.1 + 0.2)] == [
        "1e+15",
        f"1{thin}234{thin}568",
        "0.3",
    ]
    assert [number(x) for x in (999999999, 2e9, 7.5e12)] == [
        f"999{thin}999{thin}999",
        "2e+09",
        "7.5e+12",
    ]
    assert [percent(x) for x in (0.99996, 0.00004, 1, 0, -1e-9)] == [
        f"{words}{thin}%" for words in (">99.9", "<0.1", "100", "0", "0")
    ]


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
    assert plane.MOST <= len(labels) < plane.MOST + 20
    assert np.count_nonzero(labels == 1) == 5
    assert "of 60\u202f005 rows are drawn, sampled at random" in page.text
    assert len(text.encode()) < 8_000_000


@pytest.mark.slow
def test_a_million_rows_make_a_report_of_less_than_eight_megabytes():
    X = np.random.default_rng(0).normal(size=(1_000_000, 8)).astype(np.float32)
    model = MiniBatchKMeans(6, random_state=0).fit(X)
    assert len(render(Fitted(model, X, diagnosis=NONE)).encode()) < 8_000_000


def unpacked(text, kind):
    return np.frombuffer(base64.b64decode(text), kind)


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
    assert profile._filled(X, np.ones(40)) is X


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


# --- files and errors ---------------------------------------------------------------------------


def test_a_report_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path, made = tmp_path / "report.html", fitted()
    assert write_report(path, made).n_clusters == 3
    before = path.read_bytes()
    assert before == render(made).encode()
    with pytest.raises(FileExistsError, match="exists and was not overwritten"):
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
    monkeypatch.setattr(plane, "MOST", 200)
    monkeypatch.setattr(silhouettes, "_WORK", budget(100, 5010, 2))
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

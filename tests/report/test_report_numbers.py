"""The numbers of a report are those of the API, of samples as of all rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers.reports import NONE, Page, blobs, budget, fitted, wine_report
from sklearn.cluster import KMeans as Peer

from partita import (
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
    factorize,
    silhouette_samples,
    silhouette_score,
)
from partita.report import Fitted, render, silhouette_sample, summarise
from partita.report.safe_text import number, percent, value
from partita.report.summary import study


@pytest.fixture(scope="module")
def wine():
    return wine_report()


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


@pytest.mark.parametrize("weighted", [False, True])
def test_sampled_silhouettes_are_near_the_exact_ones_and_say_so(monkeypatch, weighted):
    X = blobs(3000, k=4)
    weight = np.random.default_rng(0).lognormal(0, 1, 3000) if weighted else None
    model = KMeans(4, random_state=0).fit(X, sample_weight=weight)
    made = Fitted(model, X, weight=weight, diagnosis=NONE)
    exact = summarise(made)
    assert exact.silhouette_error == 0
    assert exact.silhouette == silhouette_score(X, model.labels_, sample_weight=weight)
    monkeypatch.setattr(silhouette_sample, "_WORK", budget(300, 3000, 4))
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
    return silhouette_sample._of_strata(values[some], labels[some], weight[some], mass, sizes)


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
    monkeypatch.setattr(silhouette_sample, "_WORK", budget(1000, len(X), 2))
    found = study(made).quality.silhouettes
    assert (found.values < 0).mean() > 2 * true  # small clusters are measured more closely
    assert found.negative == pytest.approx(true, rel=0.25)


@pytest.mark.parametrize("k", [3, 40, 400])
def test_a_sample_of_silhouettes_keeps_to_its_budget(k):
    labels = np.random.default_rng(0).integers(0, k, 20_000)
    sizes = np.bincount(labels, minlength=k)
    for most in (100, 1000, 5000):
        found = silhouette_sample._points(labels, sizes, most)
        assert len(found) <= max(1.5 * most + k / 2, 2 * k)
        assert np.bincount(labels[found], minlength=k).min() >= 2
    assert len(silhouette_sample._points(labels, sizes, len(labels))) == len(labels)


def test_the_budget_of_silhouettes_counts_what_is_done(monkeypatch):
    rows, n = np.ones((1000, 4)), 1000
    monkeypatch.setattr(silhouette_sample, "_WORK", budget(n, n, 4) / 2)
    afford = silhouette_sample._affordable
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

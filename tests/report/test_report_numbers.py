"""The numbers of a report are those of the API."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.reports import NONE, Page, blobs

from partita import (
    KMeans,
    factorize,
    silhouette_samples,
    silhouette_score,
)
from partita._common.number_text import number_text, percent_text
from partita.report import (
    Fitted,
    render,
    summarise,
)
from partita.report.first_screen import group_cards
from partita.report.summary import analyse


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


@pytest.mark.heavy
def test_the_page_shows_the_numbers_of_the_summary(wine):
    found, text = summarise(wine), Page(render(wine)).text
    assert found.sentence in text
    assert found.grade_reason in text
    assert number_text(found.objective) in text
    assert percent_text(found.explained_variance) in text
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
        for part in (*(t.words for t in cluster.traits[:4]), cluster.typical[0].name):
            assert part.replace(" ", "") in text.replace(" ", "")  # names may be broken
    assert wine.sweep.verdict in text


def test_typical_rows_are_the_nearest_and_the_atypical_one_is_the_farthest(wine):
    far = wine.model.transform(wine.X).min(axis=1)
    for cluster in summarise(wine).clusters:
        members = np.flatnonzero(wine.model.labels_ == cluster.number)
        order = members[np.argsort(far[members], kind="stable")]
        assert [m.index for m in cluster.typical] == order[:3].tolist()
        assert cluster.atypical.index == order[-1]
        assert cluster.atypical.name == f"wine {order[-1]}"


def test_traits_are_typical_values_in_the_units_of_the_user(wine):
    original, labels = wine.original, wine.model.labels_
    for cluster in summarise(wine).clusters:
        mean = original[labels == cluster.number].mean(axis=0)
        for trait in cluster.traits:
            t = list(wine.names).index(trait.feature)
            assert trait.statistic == "mean"
            assert trait.value == pytest.approx(mean[t])
            assert trait.overall == pytest.approx(original[:, t].mean())
            assert (trait.score > 0) == (mean[t] > original[:, t].mean())
            assert ("high" if trait.score > 0 else "low") in trait.words
        sizes = [(not trait.is_extreme, -abs(trait.score)) for trait in cluster.traits[:2]]
        assert sizes == sorted(sizes)


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


def test_rows_without_weight_are_no_typical_rows():
    X, weight = blobs(40), np.ones(40)
    weight[:20] = 0
    model = KMeans(3, random_state=0).fit(X, sample_weight=weight)
    found = summarise(Fitted(model, X, weight=weight, diagnosis=NONE))
    assert all(m.index >= 20 for c in found.clusters for m in c.typical)
    assert sum(c.share for c in found.clusters) == pytest.approx(1.0)


def test_the_values_of_an_example_are_those_of_the_row_it_names(wine):
    for card in group_cards(analyse(wine)):
        row = wine.original[list(wine.ids).index(card.typical)]
        assert card.typical_values
        for feature, text in card.typical_values:
            shown = float(text.replace("\u202f", "").replace("−", "-"))
            assert shown == pytest.approx(row[list(wine.names).index(feature)], rel=0.02, abs=0.06)


def test_features_of_one_name_keep_their_own_values():
    X = blobs(60)[:, :2] * [1.0, 100.0]
    made = Fitted(KMeans(3, random_state=0).fit(X), X, names=["size", "size"], diagnosis=NONE)
    for card in group_cards(analyse(made)):
        row = X[card.group.example.index]
        shown = [float(t.replace("\u202f", "").replace("−", "-")) for _, t in card.typical_values]
        assert shown == pytest.approx([row[t.index] for t in card.group.traits], rel=0.02, abs=0.06)

"""The texts of a report: missing values, weights, traits, other rows, the sweep."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.reports import NONE, Page, blobs, fitted, unpacked

from partita import (
    KMeans,
    MiniBatchKMeans,
)
from partita._common.number_text import number_text
from partita._common.text import isolated, one_line, one_sentence
from partita.report import Fitted, render, summarise
from partita.report.summary import analyse


def test_missing_values_are_called_missing():
    original = blobs(30)
    original[3, 1] = np.nan
    X = np.nan_to_num(original)
    X[3] = X.mean(axis=0)  # the most typical row of all
    model = KMeans(1).fit(X)
    page = Page(render(Fitted(model, X, original=original, diagnosis=NONE)))
    at = unpacked(page.data["rows"], "<u4").tolist().index(4)
    column = page.data["names"].index("feature 1")
    kind = f"<{page.data['types'][column]}"
    assert np.isnan(unpacked(page.data["values"][column], kind)[at])
    assert "row 4" in page.text
    assert '"missing"' in page.raw["script"]  # what pointing at the row shows


@pytest.mark.heavy
def test_values_that_were_filled_in_are_counted():
    text = Page(render(fitted(filled=12))).text
    assert "12 missing values were filled in" in text
    assert "12, filled in" in text
    assert summarise(fitted(filled=12)).filled == 12
    assert "1 missing value was filled in" in Page(render(fitted(filled=1))).text
    assert "filled in" not in Page(render(fitted())).text


@pytest.mark.heavy
def test_weights_are_explained():
    X, weight = blobs(40), np.arange(40) % 4.0
    model = KMeans(3, random_state=0).fit(X, sample_weight=weight)
    text = Page(render(Fitted(model, X, weight=weight, diagnosis=NONE))).text
    assert "Share: of the weight." in text
    assert "10 rows of weight 0 count only in the number of rows." in text
    assert "60 in total; 10 rows of weight 0" in text
    assert "of the weight lies left of 0" in text
    text = Page(render(fitted())).text
    assert "of the weight" not in text


@pytest.mark.heavy
def test_the_note_on_iterations_says_what_the_last_dot_is(wine):
    text = Page(render(wine)).text
    assert (
        "Iteration 0 is the start, the last dot is J of the centers that the fit returned" in text
    )
    batches = MiniBatchKMeans(3, batch_size=20, random_state=0).fit(wine.X)
    text = Page(render(replace(wine, model=batches, labels=None))).text
    assert "the last dot, apart from the line, is J of all rows" in text


@pytest.mark.heavy
def test_a_fit_that_began_in_a_sweep_says_so(wine):
    says = "from clusters of the sweep"
    assert says not in Page(render(wine)).text  # the model is not that of the sweep
    own = replace(wine, model=wine.sweep.model(3))
    text = Page(render(own)).text
    assert f"{says} over numbers of clusters; the command does both" in text
    assert "iterations from clusters of the sweep" in text
    assert "Sweep.model repeats this fit" in Page(render(replace(own, command=""))).text


@pytest.mark.heavy
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
        assert f"J = {number_text(found.objective)} of these rows" in text.replace("\u00a0", " ")
        assert f"J = {number_text(model.inertia_)} of the rows of the fit" in text
        assert text.count("All this refers to the rows of the fit") == 2  # merges and iterations
        assert "on the rows of the fit" in text
        fused = analyse(made).quality.merges
        np.testing.assert_array_equal(fused.weight, model.stats_.weight)


def test_names_of_columns_are_never_capitalised():
    found = render(fitted(remarks=["age is used as a feature", "is it so?"]))
    assert "<li>age is used as a feature.</li>" in found
    assert "<li>is it so?</li>" in found
    X = blobs(60, d=2) * [1000, 1]
    model = KMeans(3, random_state=0).fit(X)
    summary = summarise(Fitted(model, X, names=["income", "age"]))
    texts = [finding[part] for finding in summary.findings for part in ("what", "evidence")]
    assert any("income" in text for text in texts)
    assert not any("Income" in text or text.startswith("income") for text in texts)


HEBREW = "\u05d2\u05d9\u05dc"


def test_a_name_from_right_to_left_keeps_the_numbers_after_it_in_order():
    X = blobs(60, d=2) * [1000, 1]
    model = KMeans(3, random_state=0).fit(X)
    data = Fitted(model, X, names=[HEBREW, "b"], ids=[f"{HEBREW} {i}" for i in range(60)])
    summary, page = summarise(data), render(data)
    traits = [t for cluster in summary.clusters for t in cluster.traits if t.feature == HEBREW]
    for trait in traits:
        assert trait.words.startswith(f"{trait.level} \u2068{HEBREW}\u2069 (")
        assert f"{trait.level} <bdi>{HEBREW}</bdi> (" in page
    assert traits
    scale = next(finding for finding in summary.findings if finding["name"] == "scale")
    assert f"\u2068{HEBREW}\u2069" in scale["what"]
    assert "\u2068" not in page


def test_isolates_are_kept_in_pairs_or_not_at_all():
    name = isolated(HEBREW)
    assert one_sentence(f"{name} 3, {name} 4") == f"{name} 3, {name} 4"
    assert one_sentence(f"{name} 3 \u2069") == f"{HEBREW} 3"
    assert "\u2068" not in one_sentence(f"{'x' * 20} {name} {'y' * 20}", 12)
    assert isolated(f"\u2068{HEBREW}") == name
    assert isolated("age\u2068") == "age"
    assert one_line(name) == HEBREW


def test_a_cluster_in_the_middle_is_compared_with_the_nearest():
    centers = np.array([[0.0, 0.0], [10.0, 11.0], [5.0, 5.5]])
    X = np.concatenate([center + 0.1 * blobs(40, k=1, d=2) for center in centers])
    labels = np.repeat(np.arange(3), 40)
    model = KMeans(3, init=[X[labels == j].mean(axis=0) for j in range(3)], n_init=1).fit(X)
    middle = summarise(Fitted(model, X, names=["age", "income"])).clusters[2]
    assert middle.traits == ()
    assert re.match(r"most like group [01], but (higher|lower) income \(", middle.likeness)
    text = Page(render(Fitted(model, X, diagnosis=NONE))).text
    assert "Close to the average of all rows in every feature. It is most like" in text


def test_an_outlier_hides_no_traits():
    X = blobs(60, d=2)
    labels = KMeans(3, random_state=0, n_init=5).fit_predict(X)
    model = KMeans(3, init=[X[labels == j].mean(axis=0) for j in range(3)], max_iter=1).fit(X)
    without = summarise(Fitted(model, X, labels=labels, diagnosis=NONE))
    X[0] = 1e9
    found = summarise(Fitted(model, X, labels=labels, diagnosis=NONE))
    for one, other in zip(found.clusters, without.clusters, strict=True):
        assert one.traits[0].feature == other.traits[0].feature
        for trait in one.traits:
            assert trait.statistic == "median"
            assert abs(trait.value) < 100

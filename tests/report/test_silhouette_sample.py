"""Silhouettes of a sample: near the exact ones, within a budget."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.reports import NONE, Page, blobs, budget

from partita import (
    KMeans,
    silhouette_samples,
    silhouette_score,
)
from partita._common.number_text import number_text, percent_text
from partita.report import (
    Fitted,
    render,
    silhouette_sample,
    summarise,
)
from partita.report.summary import analyse


@pytest.mark.heavy
@pytest.mark.parametrize("weighted", [False, True])
def test_sampled_silhouettes_are_near_the_exact_ones_and_say_so(monkeypatch, weighted):
    X = blobs(3000, k=4)
    weight = np.random.default_rng(0).lognormal(0, 1, 3000) if weighted else None
    model = KMeans(4, random_state=0).fit(X, sample_weight=weight)
    made = Fitted(model, X, weight=weight, diagnosis=NONE)
    exact = summarise(made)
    assert exact.silhouette_error == 0
    assert exact.silhouette == silhouette_score(X, model.labels_, sample_weight=weight)
    monkeypatch.setattr(silhouette_sample, "MAX_PRODUCTS", budget(300, 3000, 4))
    found = summarise(made)
    assert 250 <= found.silhouette_rows <= 350
    assert 0 < found.silhouette_error < 0.05
    assert abs(found.silhouette - exact.silhouette) < 4 * found.silhouette_error
    text = Page(render(made)).text
    assert "were measured, a sample" in text
    assert f"mean silhouette, ± {number_text(float(f'{found.silhouette_error:.2g}'))}" in text


def strata(rng, weight, labels, values, sizes, mass):
    """A sample of a fortieth of every cluster, and what is made of it."""
    drawn = [
        rng.choice(np.flatnonzero(labels == j), size // 40, replace=False)
        for j, size in enumerate(sizes)
    ]
    some = np.concatenate(drawn)
    return silhouette_sample._stratified(values[some], labels[some], weight[some], mass, sizes)


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


@pytest.mark.heavy
def test_the_share_below_zero_is_of_all_rows_however_they_were_sampled(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 0.3, (6000, 2)), rng.normal(8, 2.0, (600, 2))])
    model = KMeans(31, init=np.vstack([[[0, 0]], X[-30:]]), max_iter=3).fit(X)
    true = (silhouette_samples(X, model.labels_) < 0).mean()
    made = Fitted(model, X, diagnosis=NONE)
    share = f"{percent_text(true)} of the rows lie left of 0, that is, closer to another group than"
    assert f"{share} to their own." in Page(render(made)).text
    monkeypatch.setattr(silhouette_sample, "MAX_PRODUCTS", budget(1000, len(X), 2))
    found = analyse(made).quality.silhouettes
    assert (found.values < 0).mean() > 2 * true  # small clusters are measured more closely
    assert found.negative == pytest.approx(true, rel=0.25)


@pytest.mark.parametrize("k", [3, 40, 400])
def test_a_sample_of_silhouettes_keeps_to_its_budget(k):
    labels = np.random.default_rng(0).integers(0, k, 20_000)
    sizes = np.bincount(labels, minlength=k)
    for most in (100, 1000, 5000):
        found = silhouette_sample._sample(labels, sizes, most)
        assert len(found) <= max(1.5 * most + k / 2, 2 * k)
        assert np.bincount(labels[found], minlength=k).min() >= 2
    assert len(silhouette_sample._sample(labels, sizes, len(labels))) == len(labels)


def test_the_budget_of_silhouettes_counts_what_is_done(monkeypatch):
    rows, n = np.ones((1000, 4)), 1000
    monkeypatch.setattr(silhouette_sample, "MAX_PRODUCTS", budget(n, n, 4) / 2)
    afford = silhouette_sample._affordable_rows
    assert afford(rows, n, "euclidean") == afford(rows, n, "cosine") == n  # each pair once
    assert afford(rows, n, "chebyshev") < n / 10  # not by our own kernel
    assert afford(rows, n, lambda a, b: 0.0) < 1
    assert afford(rows, n, "precomputed") == afford(np.ones((n, n)), n, "precomputed")
    dense, sparse = np.ones((n, 5000)), sp.csr_array(sp.eye(n, 5000, format="csr"))
    assert afford(sparse, n, "euclidean") > afford(dense, n, "euclidean")

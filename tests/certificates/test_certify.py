"""Certificates of anybody's clustering: what they claim holds, and does not depend on accidents."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import cluster as peers
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import partita
from partita import certify
from partita.certificates.certified_directions import cosine_bound
from partita.theory import partitions, sse_of_partition

RNG = np.random.default_rng(3)
GROUP = np.repeat([0, 1, 2], 12)
ROWS = RNG.normal(size=(36, 3)) + 6.0 * np.eye(3)[GROUP]
WEIGHT = RNG.integers(1, 4, len(ROWS)).astype(float)
ONE_BOUND = {"callback": lambda progress: True}  # stop after the first bound


def few_rows(min_rows=2, max_rows=6):
    shapes = st.tuples(st.integers(min_rows, max_rows), st.integers(1, 3))
    values = st.integers(-20, 20).map(float)
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=values))


@settings(max_examples=25, deadline=None)
@given(X=few_rows(), seed=st.integers(0, 1000), offset=st.sampled_from([0.0, 1e6]))
def test_no_partition_is_below_the_bound(X, seed, offset):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, len(X))
    weight = rng.integers(1, 5, len(X)).astype(float)
    k = len(set(labels.tolist()))
    certificate = certify(X + offset, labels, sample_weight=weight, random_state=0)
    best = min(sse_of_partition(X, z, weight) for z in partitions(len(X), k))
    assert 0.0 <= certificate.gap <= 1.0
    assert certificate.n_clusters == k
    assert certificate.lower_bound <= best * (1 + 1e-9)
    own = sse_of_partition(X, np.unique(labels, return_inverse=True)[1], weight)
    assert own * (1 - 1e-9) <= certificate.objective <= own * (1 + 1e-9)
    if certificate.kind == "exact":
        assert certificate.lower_bound == pytest.approx(best, rel=1e-8, abs=1e-12)


def test_the_order_of_the_rows_does_not_matter():
    first = certify(ROWS, GROUP, sample_weight=WEIGHT, **ONE_BOUND)
    order = np.random.default_rng(0).permutation(len(ROWS))
    second = certify(ROWS[order], GROUP[order], sample_weight=WEIGHT[order], **ONE_BOUND)
    assert second.lower_bound == first.lower_bound
    assert second.objective == pytest.approx(first.objective, rel=1e-13)


@pytest.mark.parametrize(
    "names",
    [
        np.array(["red", "green", "blue"]),
        np.array([-1, 5, 1000]),
        np.array([0.5, -2.0, 1e9]),
        np.array(["a", True, 3], dtype=object),
    ],
    ids=["texts", "negative and gaps", "floats", "objects"],
)
def test_labels_may_be_anything(names):
    expected = certify(ROWS, GROUP, **ONE_BOUND)
    for labels in (names[GROUP], names[GROUP].tolist(), pd.Series(names[GROUP])):
        certificate = certify(ROWS, labels, **ONE_BOUND)
        assert certificate.lower_bound == expected.lower_bound
        assert certificate.objective == pytest.approx(expected.objective, rel=1e-14)


def test_centers_are_no_worse_than_the_labels_of_which_they_are_means():
    labels = np.arange(len(ROWS)) % 3
    means = np.stack([ROWS[labels == j].mean(axis=0) for j in range(3)])
    by_labels, by_centers = certify(ROWS, labels, **ONE_BOUND), certify(ROWS, means, **ONE_BOUND)
    assert by_centers.objective < by_labels.objective
    nearest = ((ROWS[:, None] - means) ** 2).sum(axis=2).min(axis=1).sum()
    assert by_centers.objective == pytest.approx(nearest, rel=1e-13)
    assert by_centers.objective >= nearest * (1 - 1e-15)


def test_a_model_is_certified_at_its_own_objective():
    model = partita.KMeans(3, random_state=0).fit(ROWS, sample_weight=WEIGHT)
    certificate = certify(ROWS, model, sample_weight=WEIGHT, **ONE_BOUND)
    assert certificate.objective == pytest.approx(model.inertia_, rel=1e-13)
    assert certificate.objective >= model.inertia_
    own = model.certify(ROWS, sample_weight=WEIGHT, **ONE_BOUND)
    assert own.lower_bound == certificate.lower_bound
    assert model.certificate_ is own


@pytest.mark.parametrize("change", ["zero weights", "repeats", "sparse", "float32"])
def test_the_form_of_the_rows_does_not_matter(change):
    X = np.round(ROWS, 1).astype(np.float32).astype(np.float64)
    expected = certify(X, GROUP, sample_weight=WEIGHT, **ONE_BOUND)
    forms = {
        "zero weights": (
            np.vstack([X, 1e6 + X]),
            np.concatenate([GROUP, GROUP + 7]),
            np.concatenate([WEIGHT, 0 * WEIGHT]),
        ),
        "repeats": (X.repeat(WEIGHT.astype(int), axis=0), GROUP.repeat(WEIGHT.astype(int)), None),
        "sparse": (sp.csr_array(X), GROUP, WEIGHT),
        "float32": (X.astype(np.float32), GROUP, WEIGHT),
    }
    rows, labels, weight = forms[change]
    certificate = certify(rows, labels, sample_weight=weight, **ONE_BOUND)
    assert certificate.lower_bound == expected.lower_bound
    assert certificate.objective == pytest.approx(expected.objective, rel=1e-13)


@pytest.mark.parametrize("labels", [[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]])
def test_with_as_many_clusters_as_distinct_rows_the_best_possible_is_0(labels):
    X = [[1.0, 2.0], [1.0, 2.0], [5.0, 2.0], [5.0, 2.0]]
    certificate = certify(X, labels)
    assert certificate.kind == "exact"
    if len(set(labels)) == 2:
        assert certificate.lower_bound == 0.0
        assert certificate.gap == float(labels[1] == 1)
    else:  # the best with one cluster is the only one
        assert certificate.is_optimal
        assert certificate.objective == pytest.approx(16.0)


def test_one_dimension_is_certified_exactly():
    X = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 30.0])[:, None] + 1e6
    good, bad = certify(X, [0, 0, 0, 1, 1, 2]), certify(X, [0, 0, 1, 1, 2, 2])
    assert good.is_optimal
    assert bad.kind == "exact"
    assert bad.lower_bound == pytest.approx(good.objective, rel=1e-9)
    assert bad.gap == pytest.approx(1 - good.objective / bad.objective, rel=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        peers.KMeans(3, n_init=1, random_state=0),
        peers.MiniBatchKMeans(3, n_init=1, random_state=0),
        peers.BisectingKMeans(3, random_state=0),
        peers.AgglomerativeClustering(3),
        make_pipeline(StandardScaler(), peers.KMeans(3, n_init=1, random_state=0)),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore:MiniBatchKMeans is known")
def test_models_of_scikit_learn_are_certified(model):
    model.fit(ROWS)
    certificate = certify(ROWS, model, **ONE_BOUND)
    assert 0.0 < certificate.gap < 1.0
    last = model[-1] if hasattr(model, "steps") else model
    if hasattr(last, "inertia_"):
        assert certificate.objective == pytest.approx(last.inertia_, rel=1e-6)


def test_ctrl_c_returns_the_best_bound_so_far():
    seen = []

    def interrupt(progress):
        seen.append(progress)
        if len(seen) == 2:
            raise KeyboardInterrupt

    certificate = certify(ROWS, GROUP, callback=interrupt)
    assert len(certificate.history) == 2
    assert certificate.history == tuple(seen)
    assert certificate.lower_bound == seen[-1].lower_bound > seen[0].lower_bound
    assert [record.seconds for record in seen] == sorted(record.seconds for record in seen)


def test_no_time_leaves_the_bound_that_every_sum_of_squares_has():
    certificate = certify(ROWS, GROUP, time_limit=0)
    assert certificate.lower_bound == 0.0
    assert certificate.gap == 1.0
    assert certificate.history == ()
    assert "no lower bound above 0" in certificate.sentence


def test_without_a_time_limit_the_result_is_the_same_again():
    rows = ROWS[::3]
    first, second = (certify(rows, GROUP[::3], time_limit=None) for _ in range(2))
    assert second.lower_bound == first.lower_bound
    assert second.method == first.method


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (GROUP[:-1], {}, r"labels of shape \(36,\), or centers of shape \(k, 3\), got an array"),
        (np.zeros((2, 5)), {}, r"`labels_or_centers` must be labels"),
        (np.where(GROUP == 0, np.nan, 1.0), {}, "must be complete, got missing labels"),
        ([None, *GROUP[1:].tolist()], {}, "must be complete, got missing labels"),
        (np.full((2, 3), np.nan), {}, "`labels_or_centers` must be finite"),
        (GROUP, {"time_limit": -1}, "`time_limit` must be a finite number >= 0 or None, got -1"),
        (GROUP, {"level": 1.0}, "`level` must be a number between 0 and 1, got 1.0"),
        (GROUP, {"callback": 3}, "`callback` must be a callable or None"),
        (GROUP, {"sample_weight": [1.0]}, r"`sample_weight` must be of shape \(36,\)"),
        (GROUP, {"n_threads": 0}, "`n_threads` must be an integer >= 1"),
    ],
)
def test_what_cannot_be_certified_is_an_error(given, options, message):
    with pytest.raises(ValueError, match=message):
        certify(ROWS, given, **options)


def test_rows_must_be_finite_and_models_fitted():
    with pytest.raises(ValueError, match="contains NaN"):
        certify(np.where(ROWS > 7, np.nan, ROWS), GROUP)
    with pytest.raises(ValueError, match="not fitted"):
        certify(ROWS, partita.KMeans(3))


@settings(max_examples=50)
@given(share=st.floats(0, 1), total=st.floats(1e-3, 1e3))
def test_the_bound_of_cosines_is_at_least_half_that_of_squares(share, total):
    bound = cosine_bound(share * total, total)
    assert share * total / 2 * (1 - 1e-12) <= bound <= share * total * (1 + 1e-12)

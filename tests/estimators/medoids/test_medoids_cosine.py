"""`KMedoids(metric="cosine")`: own products, rows of any length, the same bits everywhere."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.medoid_cases import BLOBS
from sklearn.metrics import pairwise_distances

from partita import KMedoids
from partita._common.threads import Workers
from partita.source.cosine import cosine_table

FORMS = [np.asarray, sp.csr_array]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_are_those_of_scikit_learn(form, dtype):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(90, 6)).astype(dtype)
    rows[[3, 50, 51]] = 0
    expected = pairwise_distances(rows.astype(np.float64), metric="cosine")
    tolerance = 1e-12 if dtype == np.float64 else 1e-6
    with Workers(1) as workers:
        table = cosine_table(form(rows), workers, task=16)
        found = table.columns(np.arange(90))
    np.testing.assert_allclose(found * table.unit, expected, rtol=0, atol=tolerance)
    assert found.dtype == dtype
    model = KMedoids(4, metric="cosine", init=[0, 1, 50, 7], n_init=1).fit(form(rows))
    expected = pairwise_distances(rows, rows[model.medoid_indices_], metric="cosine")
    np.testing.assert_allclose(model.transform(form(rows)), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("form", FORMS)
def test_the_length_of_a_row_does_not_count(form):
    rng = np.random.default_rng(1)
    plain = KMedoids(5, metric="cosine", random_state=0).fit(form(BLOBS))
    powers = np.ldexp(BLOBS, rng.integers(-900, 900, (len(BLOBS), 1)))  # rounds nothing
    model = KMedoids(5, metric="cosine", random_state=0).fit(form(powers))
    np.testing.assert_array_equal(model.medoid_indices_, plain.medoid_indices_)
    assert model.inertia_ == plain.inertia_
    np.testing.assert_array_equal(model.predict(form(powers)), plain.labels_)
    for length in (1e-300, 1e-20, 1e15):
        model = KMedoids(5, metric="cosine", random_state=0).fit(form(BLOBS * length))
        np.testing.assert_array_equal(model.medoid_indices_, plain.medoid_indices_)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        assert model.inertia_ == pytest.approx(plain.inertia_, rel=1e-12)


def test_nearly_parallel_rows_keep_their_digits():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=4) + 1e-6 * rng.normal(size=(30, 4))
    with Workers(1) as workers:
        found = cosine_table(rows, workers, task=16).columns(np.arange(30))
    exact = [[_one_minus_cosine(a, b) for b in rows.tolist()] for a in rows.tolist()]
    np.testing.assert_allclose(found, exact, rtol=1e-8)  # of distances around 1e-12


def _one_minus_cosine(a, b):
    with localcontext(prec=60):
        a, b = [Decimal(x) for x in a], [Decimal(x) for x in b]

        def inner(c, d):
            return sum(x * y for x, y in zip(c, d, strict=True))

        return float(1 - inner(a, b) / (inner(a, a) * inner(b, b)).sqrt())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parts_of_the_table_have_the_bits_of_the_whole(form, dtype):
    rng = np.random.default_rng(3)
    rows = rng.integers(-1, 3, (150, 5)).astype(dtype)
    rows[[0, 64, 65, 149]] = 0
    with Workers(2) as workers:
        table = cosine_table(form(rows), workers, task=16)
        whole = table.columns(np.arange(150))
        np.testing.assert_array_equal(whole, whole.T)
        assert not whole.diagonal().any()
        for _ in range(5):
            some, points = rng.permutation(150)[:20], np.sort(rng.permutation(150)[:90])
            part = table.restrict(some, points).columns(np.arange(20))
            assert part.tobytes() == whole[np.ix_(some, points)].tobytes()

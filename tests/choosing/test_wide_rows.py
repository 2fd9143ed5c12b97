"""Wide rows: references on principal axes keep the answer, at the cost of narrow rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from partita import KMeans, SphericalKMeans, choose_k
from partita.choosing import gap_reference, principal_axes
from partita.choosing.principal_axes import on_principal_axes, principal_coordinates
from partita.choosing.sweep_problem import SweepProblem

QUICK = {"criteria": ["gap", "calinski_harabasz", "bic"], "n_references": 4, "random_state": 0}


def texts(n=300, d=900, topics=4, seed=0):
    """Counts of 40 words a row, half of them by one of the topics."""
    rng = np.random.default_rng(seed)
    common = 1 / np.arange(1, d + 1)
    common /= common.sum()
    words = np.array([0.5 * common + 0.5 * rng.dirichlet(np.full(d, 0.02)) for _ in range(topics)])
    rows = np.array([rng.multinomial(40, words[j]) for j in rng.integers(0, topics, n)])
    return sp.csr_matrix(rows.astype(float))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("is_centered", [True, False])
def test_few_directions_keep_their_distances(form, is_centered):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(150, 12)) @ rng.normal(size=(12, 400)) + 5.0
    weight = rng.uniform(0.5, 2.0, 150)
    placed = principal_coordinates(form(rows), weight, is_centered)
    assert placed.shape == (150, 12 if is_centered else 13)
    np.testing.assert_allclose(pdist(placed), pdist(rows), rtol=1e-7)
    if is_centered:
        np.testing.assert_allclose(weight @ placed, 0.0, atol=1e-6)
        variance = weight @ placed**2
        assert (np.diff(variance) <= 1e-9 * variance[0]).all()
    else:
        lengths = np.linalg.norm(rows, axis=1)
        np.testing.assert_allclose(np.linalg.norm(placed, axis=1), lengths, rtol=1e-7)


def test_a_weight_of_two_is_a_repeated_row():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(120, 130)) + 9.0
    counts = rng.integers(1, 3, 120)
    weighted = principal_coordinates(rows, counts.astype(float), True)
    repeated = principal_coordinates(np.repeat(rows, counts, axis=0), np.ones(counts.sum()), True)
    first = np.r_[0, counts.cumsum()[:-1]]
    np.testing.assert_allclose(np.abs(weighted), np.abs(repeated[first]), atol=1e-6)


@pytest.mark.parametrize("shape", [(300, 100), (90, 400)])
def test_narrow_rows_and_few_rows_stay_as_they_are(shape):
    problem = SweepProblem.of(KMeans(), np.ones(shape), None)
    assert on_principal_axes(problem) is problem


@pytest.mark.parametrize("member", [KMeans, SphericalKMeans])
def test_references_of_wide_rows_are_narrow(monkeypatch, member):
    seen = []
    curve = gap_reference.sweep_curve

    def spy(problem, ks, workers):
        seen.append(problem.X.shape[1])
        return curve(problem, ks, workers)

    monkeypatch.setattr(gap_reference, "sweep_curve", spy)
    sweep = choose_k(texts(), range(2, 7), estimator=member(), **QUICK)
    assert sweep.best_k == 4
    assert seen
    assert set(seen) == {principal_axes.MAX_FEATURES}


@pytest.mark.parametrize("member", [KMeans, SphericalKMeans])
def test_texts_of_one_topic_have_no_structure(member):
    """References with all counts of a word equally likely have none of the zeros of texts."""
    assert choose_k(texts(topics=1), range(2, 7), estimator=member(), **QUICK).best_k == 1

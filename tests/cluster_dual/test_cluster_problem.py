"""Merged points: a chain of merges never claims more than J."""

from fractions import Fraction

import numpy as np
import pytest

from partita.cluster_dual.cluster_problem import ClusterProblem
from partita.cluster_dual.column_pool import ColumnPool


def exact_sse(points, weight, labels):
    """J of a partition as a fraction, without rounding."""
    total = Fraction(0)
    for label in set(labels.tolist()):
        rows = np.flatnonzero(labels == label)
        w = [Fraction(float(v)) for v in weight[rows]]
        for column in points[rows].T:
            x = [Fraction(float(v)) for v in column]
            mean = sum(a * b for a, b in zip(w, x, strict=True)) / sum(w)
            total += sum(a * (b - mean) ** 2 for a, b in zip(w, x, strict=True))
    return total


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("seed", range(5))
def test_no_chain_of_merges_claims_more_than_the_cost(seed, offset):
    rng = np.random.default_rng(seed)
    n, k = 24, 3
    labels = np.repeat(np.arange(k), n // k)
    points = offset * np.eye(k, 2)[labels] + rng.normal(size=(n, 2))
    weight = rng.integers(1, 9, n) * rng.choice([1.0, 0.1])
    problem = ClusterProblem.of(points, weight, k)
    while len(problem.points) > k:
        own = np.zeros(len(problem.points), int)
        own[problem.group] = labels
        i, j = rng.choice(np.flatnonzero(own == rng.integers(k)), 2)
        if i != j:
            problem = problem.merged(int(i), int(j))
    exact = exact_sse(points, weight, labels)
    assert problem.constant <= exact  # every cluster is one point now: nothing else is left
    assert problem.constant >= float(exact) * (1 - 1e-12) - 1e-12 * offset**2


def test_a_solver_that_fails_leaves_no_cover(monkeypatch):
    problem = ClusterProblem.of(np.arange(6.0).reshape(-1, 1), np.ones(6), 2)
    pool = ColumnPool(problem, np.repeat([0, 1], 3), 1.0)
    assert pool.cover() is not None
    failed = type("Result", (), {"x": None, "fun": None})()
    monkeypatch.setattr("partita.cluster_dual.column_pool.linprog", lambda *_, **__: failed)
    assert pool.cover() is None

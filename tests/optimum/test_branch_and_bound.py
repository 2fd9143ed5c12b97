"""Branch and bound finds what enumeration finds, and its bounds hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.cluster_dual.cluster_problem import ClusterProblem
from partita.cluster_dual.column_pool import ColumnPool, FractionalCover
from partita.cluster_dual.dual_bound import PROOF_TOLERANCE, Watch, raise_bound
from partita.cluster_dual.pricing import BoxSearch
from partita.optimum.branch_and_bound import BranchAndBound
from partita.optimum.enumeration import best_of_all
from partita.theory import partitions, sse_of_partition


@st.composite
def few_points(draw, max_n=8):
    """(distinct points, weight, k): normal, on a grid (many ties), or collinear."""
    n, d = draw(st.integers(4, max_n)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["normal", "grid", "collinear"]))
    points = {
        "normal": rng.normal(size=(n, d)),
        "grid": rng.integers(0, 3, (n, d)).astype(float),
        "collinear": rng.integers(0, 9, (n, 1)) * np.ones((1, d)),
    }[kind]
    points = np.unique(points, axis=0)
    points -= points.mean(axis=0)
    weight = draw(st.sampled_from([np.ones(n), rng.integers(1, 5, n), rng.random(n) + 0.1]))
    return points, weight[: len(points)].astype(float), draw(st.integers(1, 4))


def search_of(points, weight, k, labels=None):
    """The finished search, from a bad partition: clusters in the order of the rows."""
    start = np.arange(len(points)) % k if labels is None else labels
    search = BranchAndBound(ClusterProblem.of(points, weight, k), start, 0.0, lambda _: False)
    search.run(math.inf)
    return search


@settings(max_examples=25)
@given(data=few_points())
def test_the_optimum_is_that_of_enumeration(data):
    points, weight, k = data
    k = min(k, len(points) - 1)
    if k < 1:
        return
    best = sse_of_partition(points, best_of_all(points, weight, k), weight)
    search = search_of(points, weight, k)
    assert search.cost == pytest.approx(best, rel=1e-9)
    assert best * (1 - PROOF_TOLERANCE) <= search.lower_bound <= best * (1 + 1e-12)


def test_a_linear_programme_below_the_optimum_is_branched_on():
    points = np.random.default_rng(41).normal(size=(16, 2))
    points -= points.mean(axis=0)
    start = np.arange(16) % 5
    problem = ClusterProblem.of(points, np.ones(16), 5)
    search = search_of(points, np.ones(16), 5, start)
    assert search.nodes > 1
    assert search.cost * (1 - PROOF_TOLERANCE) <= search.lower_bound <= search.cost
    pool = ColumnPool(problem, search.labels, search.cost)
    low, cover = raise_bound(pool, 0.0, search.target, Watch(math.inf, lambda *_: None))
    assert low < search.target  # the root alone proves nothing
    assert cover.divided_pair() is not None


@settings(max_examples=20)
@given(data=few_points(7), seed=st.integers(0, 2**32 - 1), apart=st.booleans())
def test_the_best_cluster_is_that_of_all_subsets(data, seed, apart):
    points, weight, k = data
    problem = ClusterProblem.of(points, weight, k)
    n = len(points)
    if apart and n > 3:
        problem = problem.separated(0, 1).separated(1, 2)
    price = np.random.default_rng(seed).random(n) * weight * 3
    subsets = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    allowed = subsets[problem.respects_pairs(subsets)].astype(float)
    best = float((allowed @ price - problem.cost(allowed)).max())
    pricing = BoxSearch(problem, price, 0.0, 1e-9).run(math.inf)
    assert pricing.is_complete
    assert max(best, 0.0) <= pricing.bound <= max(best, 0.0) + 1e-8


@given(data=few_points(), deadline=st.just(-math.inf))
def test_a_stopped_pricing_still_has_a_bound(data, deadline):
    points, weight, k = data
    price = weight * 1.5
    bound = BoxSearch(ClusterProblem.of(points, weight, k), price, 0.0, 1e-9).run(deadline).bound
    whole = BoxSearch(ClusterProblem.of(points, weight, k), price, 0.0, 1e-9).run(math.inf).bound
    assert bound >= whole


@given(data=few_points(), pick=st.integers(0, 2**32 - 1))
def test_a_group_costs_what_its_points_cost(data, pick):
    points, weight, k = data
    if len(points) < 3:
        return
    i, j = np.random.default_rng(pick).choice(len(points), 2, replace=False)
    problem = ClusterProblem.of(points, weight, k).merged(int(i), int(j))
    labels = np.arange(len(problem.points)) % 2
    cost = problem.constant + problem.cost(np.eye(2)[:, labels]).sum()
    whole = sse_of_partition(points, labels[problem.group], weight)
    assert problem.group[i] == problem.group[j]
    assert cost == pytest.approx(whole, rel=1e-9, abs=1e-12)


def test_a_pair_apart_may_not_be_merged():
    problem = ClusterProblem.of(np.eye(3), np.ones(3), 2).separated(0, 2)
    assert problem.merged(0, 2).is_contradictory()
    assert not problem.merged(0, 1).is_contradictory()
    assert problem.merged(0, 1).respects_pairs(np.array([[1.0, 1.0]])).tolist() == [False]


def test_children_of_a_node_cover_all_partitions():
    rng = np.random.default_rng(3)
    points, weight = rng.normal(size=(6, 2)), np.ones(6)
    problem = ClusterProblem.of(points, weight, 3)
    whole = sse_of_partition(points, best_of_all(points, weight, 3), weight)
    for i, j in ((0, 1), (2, 5)):
        costs = []
        for child in (problem.merged(i, j), problem.separated(i, j)):
            best = best_with_pairs(child)
            pool = ColumnPool(child, np.arange(len(child.points)) % 3, best)
            low, _ = raise_bound(pool, 0.0, best, Watch(math.inf, lambda problem, bound: None))
            assert 0 < low <= best * (1 + 1e-12)
            costs.append(best)
        assert min(costs) == pytest.approx(whole, rel=1e-12)


def best_with_pairs(problem):
    """The least J of a problem with groups and pairs apart, by trying all partitions."""
    best = np.inf
    for k in range(1, problem.k + 1):
        for labels in partitions(len(problem.points), k):
            members = np.eye(k)[:, labels]
            if problem.respects_pairs(members).all():
                best = min(best, problem.constant + problem.cost(members).sum())
    return best


def test_a_cover_tells_its_partition_and_its_divided_pair():
    whole = FractionalCover(1.0, np.array([[1.0, 1, 0], [0, 0, 1]]), np.ones(2))
    assert whole.partition().tolist() == [0, 0, 1]
    assert whole.divided_pair() is None
    halves = np.array([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]])
    divided = FractionalCover(1.0, halves, np.full(3, 0.5))
    assert divided.partition() is None
    assert divided.divided_pair() in {(0, 1), (1, 2), (0, 2)}

"""The parts of the bounds: eigenvalue sums, axes, blocks, betting, inequalities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.optimum_by_enumeration import optimum
from hypothesis import given, settings
from hypothesis import strategies as st

from partita._common.threads import one_blas_thread
from partita.lower_bounds.anticlusters import anticlusters
from partita.lower_bounds.betting import BettingBound
from partita.lower_bounds.block_sums import block_bounds
from partita.lower_bounds.eigenvalue_sums import sum_of_largest
from partita.lower_bounds.partition import blocks_of, chunks
from partita.lower_bounds.problem import BoundProblem
from partita.lower_bounds.sampled_blocks import sampled_bounds
from partita.lower_bounds.semidefinite_value import Multiplier, semidefinite_value
from partita.lower_bounds.standard_form import standard_form
from partita.lower_bounds.valid_inequalities import InequalityPool, violated
from partita.one_dimension import lower_costs


@pytest.fixture(autouse=True)
def one_thread_of_blas():
    """Small products are slower in several threads, and tests run beside each other."""
    with one_blas_thread():
        yield


SEEDS = st.integers(0, 2**32 - 1)


def mixture(n, k=3, d=2, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    return 8.0 * rng.normal(size=(k, d))[labels] + rng.normal(size=(n, d)), labels


def standard_of(rows, labels, k):
    return standard_form(BoundProblem(k, np.ones(len(rows)), labels, rows=rows))[0]


@given(SEEDS, st.integers(1, 12), st.integers(1, 12))
def test_the_sum_of_eigenvalues_is_bounded_and_close(seed, n, k):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n)) * 2.0 ** rng.integers(-40, 40)
    matrix = root + root.T
    exact = np.sort(np.linalg.eigvalsh(matrix))[::-1][: min(k, n)].sum()
    size = np.linalg.norm(matrix)
    assert exact - 1e-14 * n * size <= sum_of_largest(matrix, k) <= exact + 1e-10 * size


def test_the_sum_of_equal_eigenvalues_is_bounded():
    assert 2.0 <= sum_of_largest(np.eye(5), 2) <= 2.0 + 1e-12


def test_what_is_not_a_number_proves_nothing():
    assert sum_of_largest(np.full((3, 3), math.nan), 1) == math.inf


@given(SEEDS)
@settings(max_examples=15)
def test_any_multiplier_gives_a_bound(seed):
    rng = np.random.default_rng(seed)
    rows, k = rng.normal(size=(6, 2)), int(rng.integers(1, 4))
    standard, conversion = standard_form(
        BoundProblem(k, np.ones(6), np.zeros(6, int), rows=rows)
    )  # fmt: skip
    noise = rng.exponential(size=(6, 6)) * rng.choice([0.0, 0.1, 1.0, 10.0])
    value = semidefinite_value(standard, Multiplier(noise + noise.T))
    assert conversion.lower_bound(value) <= optimum(rows, np.ones(6), k)[0]


@given(SEEDS)
def test_partitions_satisfy_the_inequalities(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    root, labels = rng.uniform(0.1, 3.0, n), rng.integers(3, size=n)
    same = labels[:, None] == labels
    mass = (same * root**2).sum(axis=1)
    projection = same * root[:, None] * root / mass
    z = projection / (root[:, None] * root)
    assert not len(violated(z, 1e-12, 50, np.arange(n)))
    pool = InequalityPool(root)
    pool.exchange(rng.normal(size=(n, n)) ** 2, 50)
    assert (pool.values(projection) <= 1e-12).all()


def test_the_combination_is_the_adjoint_of_the_values():
    rng = np.random.default_rng(3)
    pool = InequalityPool(rng.uniform(0.5, 2.0, 6))
    square = rng.normal(size=(6, 6)) ** 2
    pool.exchange(square + square.T, 50)
    multipliers = rng.uniform(size=len(pool))
    matrix = square + square.T
    left = float((pool.combination(multipliers) * matrix).sum())
    assert left == pytest.approx(float(multipliers @ pool.values(matrix)))


@given(SEEDS)
def test_costs_on_a_line_are_below_the_optimum_and_close(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    x = np.round(rng.normal(size=n), 1)
    weight = rng.uniform(0.1, 3.0, n)
    found = lower_costs(x, weight, 4)
    for k in range(1, 5):
        best = optimum(x[:, None], weight, k)[0]
        assert found[k - 1] <= best
        assert float(best) - found[k - 1] <= 1e-10


def test_blocks_partition_the_rows_and_keep_the_means():
    rows, labels = mixture(600)
    standard = standard_of(rows, labels, 3)
    blocks = anticlusters(standard, 4)
    assert np.array_equal(np.sort(np.concatenate(blocks)), np.arange(600))
    within = sum(standard.take(block).costs().sum() for block in blocks)
    assert 0.998 * standard.costs().sum() <= within <= standard.costs().sum()


def test_chunks_and_their_blocks_partition_the_rows():
    rows, labels = mixture(13_001)
    standard = standard_of(rows, labels, 3)
    parts = chunks(standard)
    assert len(parts) > 1
    blocks = [block for part in parts for block in blocks_of(standard, part)]
    assert np.array_equal(np.sort(np.concatenate(blocks)), np.arange(13_001))


def test_blocks_bound_the_cost_closely():
    rows, labels = mixture(300)
    standard = standard_of(rows, labels, 3)
    cost, values = float(standard.costs().sum()), [0.0]
    for value in block_bounds(standard):
        values += [] if value is None else [value]
        if values[-1] >= 0.95 * cost:
            break
    assert 0.95 * cost <= values[-1] <= cost
    assert values == sorted(values)


def test_costs_by_products_are_those_by_rows():
    rows, labels = mixture(30)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, 30)
    by_rows, scale = standard_form(BoundProblem(3, weight, labels, rows=rows))
    by_gram, other = standard_form(BoundProblem(3, weight, labels, gram=rows @ rows.T))
    assert np.allclose(
        by_rows.costs() * 2.0**-scale.exponent, by_gram.costs() * 2.0**-other.exponent
    )


def coverage_errors(runs, draws, level):
    """Runs in which the bound ever exceeded the mean."""
    errors = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        bound, share = BettingBound(level), 0.9
        exceeded = False
        for hit in rng.random(draws) < share:  # the widest spread for a mean
            bound.add(float(hit))
            exceeded |= bound.value > share
        errors += exceeded
    return errors


def test_the_level_of_confidence_holds():
    assert coverage_errors(runs=40, draws=60, level=0.8) <= 15  # P(more) < 0.3 % at 20 % each


@pytest.mark.slow
def test_the_level_of_confidence_holds_in_many_runs():
    errors = coverage_errors(runs=1000, draws=200, level=0.9)
    assert 0 < errors <= 130  # P(more) < 0.1 % at 10 % each


def test_the_bound_by_betting_nears_the_mean():
    bound = BettingBound(0.95)
    values = []
    for observation in np.random.default_rng(0).uniform(0.96, 0.98, 300):
        bound.add(float(observation))
        values.append(bound.value)
    assert values == sorted(values)
    assert 0.95 <= values[-1] <= 0.97


@pytest.mark.slow
def test_a_sample_of_blocks_bounds_the_cost():
    rows, labels = mixture(30_000)
    standard = standard_of(rows, labels, 3)
    cost, best = float(standard.costs().sum()), 0.0
    for value in sampled_bounds(standard, 0.95, np.random.default_rng(0)):
        best = max(best, value or 0.0)
        if best >= 0.95 * cost:
            break
    assert 0.95 * cost <= best <= cost

"""Lower bounds are never above the optimum, whatever the rows."""

from __future__ import annotations

import csv
import math
import sys
import time
from fractions import Fraction

import numpy as np
import pytest
from helpers.optimum_by_enumeration import optimum
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.lower_bounds.improvement import improve_bounds
from partita.lower_bounds.problem import BoundProblem

SCALES = [1.0, 1e-3, 1e6, 1e150, 1e-150]
OFFSETS = [0.0, 1.0, -1e9, 1e300]


def bounds_of(problem, enough=math.inf, seed=0):
    """All bounds that are reported, until one is `enough`."""
    found = []

    def report(bound):
        found.append(bound)
        return bound.value >= enough

    improve_bounds(problem, report, deadline=None, rng=np.random.default_rng(seed))
    return found


def random_case(seed):
    """Rows with duplicates, an offset, a scale and weights; k; labels that are only a guess."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    k = int(rng.integers(1, 4))
    rows = np.round(rng.normal(size=(n, d)), int(rng.integers(0, 4)))
    rows[rng.integers(n)] = rows[rng.integers(n)]
    rows = rows * rng.choice(SCALES) + rng.choice(OFFSETS, size=d)
    powers = rng.choice([0.0, 1.0, 5.0]) * rng.normal(size=n)
    weight = np.exp(powers) * rng.choice([1.0, 1e-150, 1e150])
    return rows, weight, k, rng.integers(k, size=n)


def as_float(fraction):
    return float(fraction) if fraction < Fraction(sys.float_info.max) else math.inf


def check_case(seed):
    rows, weight, k, guess = random_case(seed)
    best, labels = optimum(rows, weight, k)
    for known in (guess, np.array(labels)):
        found = bounds_of(BoundProblem(k, weight, known, rows=rows), enough=as_float(best))
        values = [bound.value for bound in found]
        assert all(math.isfinite(value) and value >= 0 for value in values)
        assert values == sorted(set(values))
        assert Fraction(values[-1]) <= best, (seed, found[-1])


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_no_bound_is_above_the_optimum(seed):
    check_case(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(10))
def test_no_bound_is_above_the_optimum_of_a_thousand_instances(batch):
    for seed in range(100 * batch, 100 * batch + 100):
        check_case(seed)


def test_a_gram_matrix_has_the_bounds_of_its_rows():
    rows = blobs(40)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 40)
    labels = np.arange(40) % 3
    best = bounds_of(BoundProblem(3, weight, labels, rows=rows))[-1].value
    squares = ((rows[:, None] - rows) ** 2).sum(axis=2)
    for gram in (rows @ rows.T, -0.5 * squares, (rows + 100) @ (rows + 100).T):
        of_gram = bounds_of(BoundProblem(3, weight, labels, gram=gram))[-1].value
        assert of_gram == pytest.approx(best, rel=1e-4)


def test_separated_clusters_are_proven_to_be_optimal():
    rows = blobs(60)
    labels = np.arange(60) % 3
    cost = sum(len(x) * x.var(axis=0).sum() for x in (rows[labels == c] for c in range(3)))
    found = bounds_of(BoundProblem(3, np.ones(60), labels, rows=rows), enough=cost * (1 - 1e-9))
    assert cost * (1 - 1e-9) <= found[-1].value <= cost * (1 + 1e-12)


def test_the_order_of_the_rows_changes_nothing_but_rounding():
    rows, labels = blobs(30), np.arange(30) % 3
    order = np.random.default_rng(0).permutation(30)
    given_order, shuffled = (
        bounds_of(BoundProblem(3, np.ones(30), own, rows=part))[-1].value
        for part, own in ((rows, labels), (rows[order], labels[order]))
    )
    assert given_order == pytest.approx(shuffled, rel=1e-6)


def test_nothing_is_reported_after_enough_or_after_the_deadline():
    problem = BoundProblem(3, np.ones(60), np.arange(60) % 3, rows=blobs(60))
    assert len(bounds_of(problem, enough=-1.0)) == 1
    found = []
    improve_bounds(
        problem, lambda b: bool(found.append(b)), deadline=time.monotonic(),
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert len(found) <= 1


def test_one_cluster_and_lines_reach_the_optimum():
    rows = blobs(20)
    total = float(20 * rows.var(axis=0).sum())
    last = bounds_of(BoundProblem(1, np.ones(20), np.zeros(20, int), rows=rows))[-1]
    assert last.value == pytest.approx(total, rel=1e-12)
    line = np.array([[0.0], [1.0], [5.0], [6.0], [20.0]])
    last = bounds_of(BoundProblem(3, np.ones(5), np.zeros(5, int), rows=line))[-1]
    assert last.is_exact
    assert last.value == pytest.approx(1.0, rel=1e-9)


def blobs(n):
    rng = np.random.default_rng(7)
    return np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])[np.arange(n) % 3] + rng.normal(
        size=(n, 2)
    )


@pytest.mark.data
@pytest.mark.slow
def test_no_bound_is_above_a_proven_optimum(data_folder):
    with open(data_folder / "optima_kmeans.csv", encoding="utf-8") as file:
        proven = [row for row in csv.DictReader(file) if row["kind"].startswith("proven")]
    assert proven
    for row in proven:
        rows = np.load(data_folder / f"{row['file']}.npz")["X"].astype(np.float64)
        k, best = int(row["k"]), float(row["sse"])
        if len(rows) > 400:
            continue
        labels = np.random.default_rng(0).integers(k, size=len(rows))
        found = []
        improve_bounds(
            BoundProblem(k, np.ones(len(rows)), labels, rows=rows),
            lambda bound, found=found: bool(found.append(bound)),
            deadline=time.monotonic() + 3.0, rng=np.random.default_rng(0),
        )  # fmt: skip
        assert found[-1].value <= best * (1 + 1e-9), row

"""Lower bounds of the p-median problem: never above the optimum, and mostly the optimum."""

from __future__ import annotations

import csv
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from partita.lower_bounds import p_median
from partita.lower_bounds.p_median import improve_p_median_bounds


def optimum(table, weight, k):
    """The lowest cost of k candidates, by trying all, without rounding."""
    costs = [
        [Fraction(w) * Fraction(d) for w, d in zip(weight.tolist(), row, strict=True)]
        for row in table.tolist()
    ]
    sets = itertools.combinations(costs, k)
    return min(sum((min(at) for at in zip(*rows, strict=True)), Fraction(0)) for rows in sets)


@st.composite
def problems(draw):
    """(table, weight, k): any dissimilarities >= 0, with ties, zeros, and sizes far apart."""
    m, n = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["whole", "zeros", "fractions", "far apart"]))
    table = {
        "whole": lambda: rng.integers(0, 9, (m, n)).astype(float),
        "zeros": lambda: rng.integers(0, 2, (m, n)) * 0.1,
        "fractions": lambda: rng.random((m, n)),
        "far apart": lambda: 10.0 ** rng.uniform(-12, 12, (m, n)),
    }[kind]()
    weight = draw(st.sampled_from([np.ones(n), rng.integers(0, 4, n).astype(float), rng.random(n)]))
    return table, weight, draw(st.integers(1, m))


def reported(table, weight, k, cost, deadline=None):
    found = []
    improve_p_median_bounds(table, weight, k, cost, found.append, deadline=deadline)
    return found


@given(problem=problems(), excess=st.sampled_from([1.0, 1.001, 2.0, 100.0]))
@settings(max_examples=150)
def test_no_bound_is_above_the_optimum(problem, excess):
    table, weight, k = problem
    best = optimum(table, weight, k)
    bounds = reported(table, weight, k, excess * float(best))
    assert all(Fraction(bound.value) <= best for bound in bounds)
    values = [bound.value for bound in bounds]
    assert values == sorted(values)
    assert bounds[-1].is_exact
    assert bounds[-1].value == pytest.approx(float(best), rel=1e-12)
    assert all(bound.level is None for bound in bounds)


@given(problem=problems(), share=st.floats(0.0, 0.99))
@settings(max_examples=60)
def test_a_cost_that_no_medoids_have_leaves_bounds_valid(problem, share):
    table, weight, k = problem
    best = optimum(table, weight, k)
    bounds = reported(table, weight, k, share * float(best))
    assert all(Fraction(bound.value) <= best for bound in bounds)


def test_weights_are_repeats():
    rng = np.random.default_rng(0)
    table, weight = rng.integers(1, 90, (12, 30)).astype(float), rng.integers(1, 4, 30)
    repeated = np.repeat(table, weight, axis=1)
    cost = float(np.minimum(table[0], table[1]) @ weight)
    one = reported(table, weight.astype(float), 2, cost)[-1]
    assert one.value == reported(repeated, None, 2, cost)[-1].value
    assert one.is_exact


def test_the_report_ends_the_search_and_so_does_the_time():
    rows = np.random.default_rng(0).random((60, 2))
    table = cdist(rows, rows)
    found = []
    improve_p_median_bounds(
        table, None, 5, 100.0, lambda b: found.append(b) or len(found) == 2, deadline=None
    )
    assert len(found) == 2
    late = reported(table, None, 5, 100.0, deadline=-math.inf)
    assert not late[-1].is_exact
    assert late[-1].value > 0


def test_a_branch_that_is_cut_off_leaves_a_valid_bound(monkeypatch):
    table = np.random.default_rng(1).integers(1, 100, (60, 60)).astype(float)
    cost = float(table[:6].min(axis=0).sum())
    whole = reported(table, None, 6, cost)
    monkeypatch.setattr(p_median, "MAX_NODES", 3)
    part = reported(table, None, 6, cost)
    assert whole[-1].is_exact
    assert whole[-1].method == "branch and bound"
    assert not part[-1].is_exact
    assert 0 < part[-1].value <= whole[-1].value


def test_sizes_that_could_overflow_are_left_at_zero():
    table = np.full((3, 3), 1e308)
    assert [bound.value for bound in reported(table, None, 2, math.inf)] == [0.0]


def load(folder, row):
    name, _, part = row["data"].partition(":")
    with np.load(next(folder.rglob(f"{name.rpartition('/')[2]}.npz"))) as content:
        values = content[part or "X"].astype(float)
    metrics = {"euclidean": "euclidean", "manhattan": "cityblock"}
    if row["metric"] in metrics:
        return cdist(values, values, metrics[row["metric"]])
    return values


@pytest.mark.data
@pytest.mark.slow
def test_proven_optima_are_proven_again(data_folder):
    with open(data_folder / "optima_kmedoids.csv") as file:
        optima = list(csv.DictReader(file))
    for row in optima:
        best = float(row["sum_of_dissimilarities"])
        bounds = reported(load(data_folder, row), None, int(row["k"]), best)
        assert all(bound.value <= best * (1 + 1e-14) for bound in bounds), row
        assert bounds[-1].value >= best * (1 - 1e-9), row
        assert bounds[-1].is_exact, row

"""The local search equals its NumPy twin, and ends where no move of a row pays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita._kernels import kernels, reference

pytestmark = [pytest.mark.compiled, pytest.mark.sanitize]


@st.composite
def problems(draw, spherical=None):
    """Rows, weights and starts: spread, on a lattice with duplicates, or far from the origin."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 5))
    k, b = draw(st.integers(1, min(n, 35))), draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["spread", "lattice", "offset", "tiny"]))
    rows = rng.normal(size=(n, d)) if kind != "lattice" else rng.integers(0, 3, (n, d)) / 2.0
    rows = {"offset": rows + 1e6, "tiny": rows * 1e-12}.get(kind, rows)
    spherical = draw(st.booleans()) if spherical is None else spherical
    if spherical:
        rows = rows + (1 + 2 * np.abs(rows).max())  # no row is zero
        rows = rows / np.sqrt((rows**2).sum(axis=1))[:, None]
    weight = np.ones(n) if draw(st.booleans()) else rng.random(n) + 0.01
    starts = rows[rng.integers(0, n, (b, k))]
    return np.ascontiguousarray(rows), weight, np.ascontiguousarray(starts), spherical


def searched(module, problem, crew=None):
    """The results of a local search: centers, labels, costs, sweeps."""
    rows, weight, starts, spherical = problem
    b, n, centers = len(starts), len(rows), starts.copy()
    labels, cost, sweeps = np.empty((b, n), np.int32), np.empty(b), np.empty(b, np.int32)
    module.local_search(rows, weight, centers, labels, cost, sweeps, spherical, 1000, crew)
    return centers, labels, cost, sweeps


def cost_of(labels, rows, weight, k, spherical):
    """The cost of a partition, from its definition."""
    total = 0.0
    for j in range(k):
        own, w = rows[labels == j], weight[labels == j]
        if len(own) == 0:
            continue
        center = (w[:, None] * own).sum(axis=0) / w.sum()
        if spherical and np.linalg.norm(center) > 0:
            center = center / np.linalg.norm(center)
        total += (w * ((own - center) ** 2).sum(axis=1)).sum()
    return total


@given(problem=problems(), threads=st.integers(1, 3))
def test_results_are_those_of_the_twin_for_any_threads(core, problem, threads):
    crew = core.Crew(threads)
    for ours, theirs in zip(
        searched(core, problem, crew), searched(reference, problem), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@given(problem=problems())
def test_no_move_of_a_row_lowers_the_cost(problem):
    rows, weight, starts, spherical = problem
    k = starts.shape[1]
    _, labels, cost, _ = searched(kernels, problem)
    scale = cost_of(np.zeros(len(rows), int), rows, weight, 1, spherical)
    slack = 1e-9 * scale + 1e-9 * (np.abs(rows).max() ** 2) * len(rows) * 1e-3
    for b in range(len(starts)):
        assert cost[b] == pytest.approx(
            cost_of(labels[b], rows, weight, k, spherical), rel=1e-6, abs=slack
        )
        for i in range(len(rows)):
            if (labels[b] == labels[b, i]).sum() == 1:
                continue
            for j in range(k):
                moved = labels[b].copy()
                moved[i] = j
                assert cost_of(moved, rows, weight, k, spherical) >= cost[b] - slack


@given(problem=problems(spherical=False))
def test_clusters_are_empty_only_if_rows_are_equal(problem):
    rows, _, starts, _ = problem
    k, distinct = starts.shape[1], len(np.unique(rows, axis=0))
    for labels in searched(kernels, problem)[1]:
        assert len(np.unique(labels)) >= min(k, distinct)


@given(problem=problems(spherical=False), seed=st.integers(0, 99))
def test_a_weighted_cost_is_that_of_repeated_rows(problem, seed):
    rows, _, starts, _ = problem
    weight = np.random.default_rng(seed).integers(1, 4, len(rows))
    repeats, k = np.repeat(np.arange(len(rows)), weight), starts.shape[1]
    _, labels, cost, _ = searched(kernels, (rows, weight.astype(float), starts, False))
    slack = 1e-9 * (1 + np.abs(rows).max() ** 2) * len(repeats)
    for b in range(len(starts)):
        whole = cost_of(labels[b][repeats], rows[repeats], np.ones(len(repeats)), k, False)
        assert cost[b] == pytest.approx(whole, rel=1e-6, abs=slack)


def test_what_does_not_fit_is_an_error(core):
    rows, centers = np.ones((3, 2)), np.ones((1, 2, 2))
    good = {
        "rows": rows, "weight": np.ones(3), "centers": centers,
        "labels": np.zeros((1, 3), np.int32), "cost": np.zeros(1),
        "sweeps": np.zeros(1, np.int32), "spherical": False, "max_sweeps": 9,
    }  # fmt: skip
    core.local_search(**good)
    if core is reference:
        return
    for name, wrong in {
        "weight": np.ones(2), "centers": np.ones((1, 2, 3)), "labels": np.zeros((1, 2), np.int32),
        "cost": np.zeros(2), "sweeps": np.zeros(2, np.int32),
    }.items():  # fmt: skip
        with pytest.raises(ValueError, match="local_search"):
            core.local_search(**{**good, name: wrong})

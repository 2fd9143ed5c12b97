"""The kernels of the silhouette and of the two nearest centers equal their NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import adversaries, problems
from hypothesis import given
from hypothesis import strategies as st

from partita._kernels import reference
from partita.source.dissimilarities import pack_panels

pytestmark = [pytest.mark.compiled, pytest.mark.sanitize]
METRICS = ["sqeuclidean", "euclidean", "manhattan"]


@st.composite
def partitions(draw):
    """(rows in the order of their clusters, weight, start, mass, own)."""
    n, d, k = draw(st.integers(1, 300)), draw(st.integers(1, 9)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = rng.normal(size=(n, d)) + draw(st.sampled_from([0.0, 1e6]))
    if draw(st.booleans()):
        rows = np.round(rows)
    own = np.sort(rng.integers(0, k, n)).astype(np.int32)  # some may be empty
    weight = rng.integers(0, 3, n) * rng.random() if draw(st.booleans()) else np.ones(n)
    start = np.searchsorted(own, np.arange(k + 1)).astype(np.int64)
    mass = np.bincount(own, weights=weight, minlength=k)
    return rows, weight, start, mass, own


def by_panels(module, problem, metric, crew):
    rows, weight, start, mass, own = problem
    inside, outside = np.empty((2, len(rows)))
    module.silhouette(
        pack_panels(rows), own, rows, weight, start, mass, metric, inside, outside, crew
    )
    return inside, outside


def by_strips(module, problem, metric, crew, most):
    rows, weight, start, mass, _ = problem
    lower, inside, outside = np.zeros(len(rows)), np.empty(len(rows)), np.full(len(rows), np.inf)
    begin = 0
    while begin < len(rows):
        begin = module.silhouette_strips(
            rows, weight, start, mass, metric, begin, most, lower, inside, outside, crew
        )
    return inside, outside


@given(problem=partitions(), metric=st.sampled_from(METRICS), threads=st.integers(1, 3))
def test_sums_by_panels_are_those_of_the_twin(core, problem, metric, threads):
    ours = by_panels(core, problem, metric, core.Crew(threads))
    twin = by_panels(reference, problem, metric, None)
    np.testing.assert_array_equal(ours, twin)


@given(
    problem=partitions(),
    metric=st.sampled_from(METRICS),
    threads=st.integers(1, 3),
    most=st.integers(1, 9),
)
def test_sums_by_strips_are_those_of_the_twin(core, problem, metric, threads, most):
    ours = by_strips(core, problem, metric, core.Crew(threads), most)
    twin = by_strips(reference, problem, metric, None, 1)
    np.testing.assert_array_equal(ours, twin)


@pytest.mark.parametrize("name", list(adversaries(np.float64)))
def test_both_ways_of_adding_agree(core, name):
    rows, _ = adversaries(np.float64)[name]
    rng = np.random.default_rng(3)
    own = np.sort(rng.integers(0, 3, len(rows))).astype(np.int32)
    start = np.searchsorted(own, np.arange(4)).astype(np.int64)
    problem = rows, rng.random(len(rows)), start, np.ones(3), own
    for metric in METRICS:
        once = by_strips(core, problem, metric, core.Crew(2), 3)
        twice = by_panels(core, problem, metric, core.Crew(2))
        np.testing.assert_allclose(once, twice, rtol=1e-12)


@given(problem=problems(), threads=st.integers(1, 3))
def test_the_two_nearest_are_those_of_the_twin(core, problem, threads):
    rows, start = problem
    centers = start.astype(np.float64)
    found = []
    for module, crew in ((core, core.Crew(threads)), (reference, None)):
        labels, first, second = np.empty(len(rows), np.int32), *np.empty((2, len(rows)))
        module.two_nearest(rows, centers, labels, first, second, crew)
        found.append((labels, first, second))
    for ours, twin in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, twin)


def test_what_does_not_fit_is_refused(core):
    rows, weight, start = np.ones((5, 2)), np.ones(5), np.array([0, 3, 5])
    lower, inside, outside = np.zeros((3, 5))
    mass = np.array([3.0, 2.0])

    def strips(start=start, begin=0, most=1, lower=lower):
        core.silhouette_strips(
            rows, weight, start, mass, "euclidean", begin, most, lower, inside, outside
        )

    strips()
    for wrong in ([0, 3, 6], [0, 4, 3], [1, 3, 5], [0, 3, 4], [-1, 3, 5], [0, 5]):
        with pytest.raises(ValueError, match="start"):
            strips(start=np.array(wrong))
    for keywords in ({"begin": 5}, {"most": 0}):
        with pytest.raises(ValueError, match="no such strips"):
            strips(**keywords)
    with pytest.raises(ValueError, match="shapes"):
        strips(lower=np.zeros(4))
    own = np.zeros(5, np.int32)
    with pytest.raises(ValueError, match="panels"):
        core.silhouette(
            np.ones((2, 2, 64)), own, rows, weight, start, mass, "euclidean", inside, outside
        )
    with pytest.raises(ValueError, match="two_nearest"):
        core.two_nearest(rows, np.ones((2, 3)), own, inside, outside)
    with pytest.raises(ValueError, match="two_nearest"):
        core.two_nearest(rows, np.ones((0, 2)), own, inside, outside)

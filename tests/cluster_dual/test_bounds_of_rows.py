"""Bounds by the dual rise, stay below the optimum, and often reach it."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.cluster_dual.bounds_of_rows import report_dual_bounds
from partita.cluster_dual.principal_frame import PrincipalFrame
from partita.theory import partitions, sse_of_partition


def bounds_of(rows, weight, labels, k, deadline=np.inf):
    heard = []
    report_dual_bounds(rows, weight, labels, k, heard.append, deadline)
    return heard


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(1, 3),
    offset=st.sampled_from([0.0, 1e6]),
    scale=st.sampled_from([1e-100, 1.0, 1e100]),
)
def test_bounds_rise_and_stay_below_the_optimum(seed, k, offset, scale):
    rng = np.random.default_rng(seed)
    rows = (rng.integers(0, 4, (8, 2)) + offset) * scale  # with duplicates
    weight, labels = rng.random(8) + 0.1, rng.integers(0, k, 8)
    best = min(
        sse_of_partition(rows, other, weight) for m in range(1, k + 1) for other in partitions(8, m)
    )
    heard = bounds_of(rows, weight, labels, k)
    assert all(a < b for a, b in pairwise(heard))
    assert all(bound <= best * (1 + 1e-12) for bound in heard)


def test_the_bound_of_clear_groups_is_the_optimum():
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1, 2], 15)
    rows = rng.normal(size=(45, 2)) + 9.0 * np.eye(3, 2)[labels]
    cost = sse_of_partition(rows, labels)
    assert bounds_of(rows, np.ones(45), labels, 3)[-1] == pytest.approx(cost, rel=1e-9)


def test_a_listener_and_the_deadline_end_the_search():
    rows = np.random.default_rng(2).normal(size=(60, 3))
    heard = []
    report_dual_bounds(
        rows, np.ones(60), np.arange(60) % 6, 6, lambda bound: bool(heard.append(bound)) or True
    )
    assert len(heard) == 1
    assert bounds_of(rows, np.ones(60), np.arange(60) % 6, 6, time.monotonic() - 1) == []


@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 5), offset=st.sampled_from([0.0, 1e8]))
def test_principal_axes_keep_the_sse(seed, d, offset):
    rng = np.random.default_rng(seed)
    rows, weight = rng.normal(size=(20, d)) * 10.0 ** np.arange(d) + offset, rng.random(20) + 0.1
    frame = PrincipalFrame.of(rows, weight)
    here = sse_of_partition(frame.points, np.zeros(20, int), frame.weight)
    there = sse_of_partition(rows, np.zeros(20, int), weight)
    assert frame.bound_of_rows(here) <= there
    assert frame.bound_of_rows(here) == pytest.approx(there, rel=1e-9)

"""The memory of a fit: at most `memory_limit`, and what every fit needs."""

from __future__ import annotations

import os

import pytest
from helpers import memory_peaks

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(
        not os.access("/proc/self/clear_refs", os.W_OK), reason="this system resets no peaks"
    ),
]


def within_limits(name, limits):
    case, inertias = memory_peaks.CASES[name], set()
    for limit in limits:
        measured = memory_peaks.measure(case, limit)
        inertias.add(measured["inertia"])
        if limit is not None:
            assert measured["peak"] <= memory_peaks.floor_bytes(case) + limit
    assert len(inertias) == 1


def test_bytes_that_do_not_fit_are_converted_in_small_blocks():
    within_limits("uint8", [0])


def test_many_bytes_do_not_become_floats_where_memory_has_no_limit():
    case = memory_peaks.CASES["uint8"] | {"k": 70, "n": 24_000, "d": 784}
    n, d = case["n"], case["d"]
    copy_in_bytes = n * (d + 8)
    most = memory_peaks.floor_bytes(case) + copy_in_bytes
    assert memory_peaks.measure(case, None)["peak"] <= most < n * d * 4


@pytest.mark.slow
@pytest.mark.parametrize("name", memory_peaks.CASES)
def test_the_peak_stays_within_the_limit_and_what_every_fit_needs(name):
    within_limits(name, memory_peaks.LIMITS)

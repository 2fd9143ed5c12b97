"""Random fits to sparse rows against independent references, and in processes of another kind.

A seed that fails is a case to look at: `sparse_case(seed)` in helpers/sparse_cases.py.
"""

from __future__ import annotations

import pytest
from helpers.fuzzing import case_digests, case_digests_elsewhere, differences, old_cpu
from helpers.sparse_cases import sparse_case
from helpers.sparse_laws import LAWS

from partita._kernels import kernels

CASES = "helpers.sparse_cases"
PLACES = {
    "twin": {"PARTITA_KERNEL": "numpy"},
    "twin on an older CPU": {"PARTITA_KERNEL": "numpy", **old_cpu()},
    "core on an older CPU": {"PARTITA_KERNEL": "portable", **old_cpu()},
    "avx2": {"PARTITA_KERNEL": "avx2"},
}


def broken_laws(seeds):
    for seed in seeds:
        case = sparse_case(seed)
        for law in LAWS:
            try:
                law(case)
            except AssertionError as error:
                yield f"{seed}: {law.__name__}: {error}"


def test_fits_to_sparse_rows_obey_all_laws():
    assert not list(broken_laws(range(60)))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(60, 2000, 194))
def test_many_fits_to_sparse_rows_obey_all_laws(first):
    assert not list(broken_laws(range(first, first + 194)))


@pytest.mark.heavy
@pytest.mark.compiled
@pytest.mark.parametrize("place", ["twin on an older CPU", "core on an older CPU"])
def test_fits_to_sparse_rows_have_the_same_bits_elsewhere(place):
    seeds = range(30)
    elsewhere = case_digests_elsewhere(CASES, seeds, PLACES[place])
    assert not differences(case_digests(CASES, seeds), elsewhere)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("place", PLACES)
def test_many_fits_to_sparse_rows_have_the_same_bits_elsewhere(place):
    available = [*kernels.instruction_sets(), "numpy"]
    if PLACES[place]["PARTITA_KERNEL"] not in available:
        pytest.skip(f"this machine has {available}")
    seeds = range(30, 2000)
    elsewhere = case_digests_elsewhere(CASES, seeds, PLACES[place])
    assert not differences(case_digests(CASES, seeds), elsewhere)

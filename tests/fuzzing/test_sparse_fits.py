"""Random fits to sparse rows against independent references, and on other machines.

A seed that fails is a case to look at: `sparse_case(seed)` in helpers/sparse_cases.py.
"""

from __future__ import annotations

import pytest
from helpers.fuzzing import case_digests, different_cases
from helpers.other_machines import MACHINES
from helpers.sparse_cases import sparse_case
from helpers.sparse_laws import LAWS

from partita._kernels import kernels

CASES = "helpers.sparse_cases"


def broken_laws(first, last):
    for seed in range(first, last):
        case = sparse_case(seed)
        for law in LAWS:
            try:
                law(case)
            except AssertionError as error:
                yield f"{seed}: {law.__name__}: {error}"


def different_instruction_sets(first, last):
    """The instruction sets whose fits differ from those of the widest."""
    bits = {}
    before = kernels.instruction_set()
    for name in kernels.instruction_sets():
        kernels.use_instruction_set(name)
        bits[name] = case_digests(CASES, first, last)
    kernels.use_instruction_set(before)
    return [name for name in bits if bits[name] != bits[before]]


def test_fits_to_sparse_rows_obey_all_laws():
    assert not list(broken_laws(0, 60))


@pytest.mark.compiled
def test_fits_to_sparse_rows_have_the_same_bits_for_every_instruction_set():
    assert not different_instruction_sets(0, 60)


@pytest.mark.heavy
@pytest.mark.parametrize("machine", list(MACHINES))
def test_fits_to_sparse_rows_have_the_same_bits_on_another_machine(machine):
    assert not different_cases(CASES, 0, 20, machine)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(60, 2000, 194))
def test_many_fits_to_sparse_rows_obey_all_laws(first):
    assert not list(broken_laws(first, first + 194))


@pytest.mark.slow
@pytest.mark.compiled
def test_many_fits_to_sparse_rows_have_the_same_bits_for_every_instruction_set():
    assert not different_instruction_sets(60, 2000)


@pytest.mark.slow
@pytest.mark.parametrize("machine", list(MACHINES))
def test_many_fits_to_sparse_rows_have_the_same_bits_on_another_machine(machine):
    assert not different_cases(CASES, 20, 2000, machine)

"""Random fits to dense rows, and of medoids, have the same bits on machines of another kind.

A seed that differs is a case to look at: `fits(seed)` in helpers/dense_cases.py.
"""

from __future__ import annotations

import pytest
from helpers.fuzzing import different_cases, usual_digests
from helpers.other_machines import MACHINES

CASES = "helpers.dense_cases"


@pytest.mark.heavy
@pytest.mark.compiled
@pytest.mark.parametrize("machine", MACHINES)
def test_fits_to_dense_rows_have_the_same_bits_on_other_machines(machine):
    assert not different_cases(CASES, 0, 12, machine)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("machine", MACHINES)
def test_many_fits_to_dense_rows_have_the_same_bits_on_other_machines(machine):
    assert not different_cases(CASES, 12, 200, machine)


def test_medoids_have_the_same_bits_held_or_made_again_by_any_threads():
    lines = usual_digests(CASES, 0, 12)
    digests = dict(line.rsplit(maxsplit=1) for line in lines if "medoids" in line)
    held = {name: bits for name, bits in digests.items() if "{}" in name}
    assert len(held) > 12
    for name, bits in held.items():
        assert bits == digests[name.replace("{}", "{'memory_limit': 0, 'n_threads': 2}")], name

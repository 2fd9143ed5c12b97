"""Exponents are exact, where logarithms round."""

from __future__ import annotations

import math

import pytest

from partita._common.power_of_two import ceil_log2


@pytest.mark.parametrize("exponent", [-1074, -1000, -1, 0, 1, 5, 36, 49, 1000, 1023])
def test_ceil_log2_is_exact_next_to_powers_of_two(exponent):
    power = math.ldexp(1.0, exponent)
    assert ceil_log2(power) == exponent
    assert ceil_log2(math.nextafter(power, math.inf)) == exponent + 1
    if exponent > -1074:
        assert ceil_log2(math.nextafter(power, 0)) == (exponent if exponent > -1073 else -1074)

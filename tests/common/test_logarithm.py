"""The logarithm is the double next to the true one."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np

from partita._common.logarithm import logarithm


def test_logarithms_are_the_nearest_doubles():
    rng = np.random.default_rng(0)
    values = [*(10.0 ** rng.uniform(-300, 300, 100)), *(1 + rng.normal(size=100) * 1e-9), 5e-324]
    with localcontext() as context:
        context.prec = 80
        for value in values:
            assert logarithm(value) == float(Decimal(float(value)).ln())
            assert math.isclose(logarithm(value), math.log(value), rel_tol=4e-16)


def test_logarithms_at_the_edges():
    assert [logarithm(value) for value in (1.0, 0.0, math.inf)] == [0.0, -math.inf, math.inf]
    assert math.isnan(logarithm(math.nan))
    assert math.isnan(logarithm(-1.0))

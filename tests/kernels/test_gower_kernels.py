"""Gower's dissimilarity equals its NumPy twin to the last bit, for every instruction set."""

from __future__ import annotations

import numpy as np
import pytest

from partita._kernels import reference
from partita.source.dissimilarities import pack_panels

pytestmark = [pytest.mark.compiled, pytest.mark.sanitize]
# rows, numbers, nominal, asymmetric, centers
SHAPES = [
    (1, 1, 0, 0, 1),
    (63, 3, 2, 2, 7),
    (64, 0, 3, 0, 64),
    (65, 5, 0, 1, 9),
    (200, 2, 2, 4, 70),
]


def mixed_rows(rng, n, numbers, nominal, asymmetric, gaps=0.3):
    rows = np.hstack([
        rng.random((n, numbers)) * rng.choice([1.0, 1e-3, 3.0], numbers),
        rng.integers(0, 3, (n, nominal)),
        rng.integers(0, 2, (n, asymmetric)),
    ])  # fmt: skip
    rows[rng.random(rows.shape) < gaps] = np.nan
    return rows, rng.choice([1.0, 0.5, 0.1], rows.shape[1])


def measured(module, rows, centers, weights, numbers, nominal, crew=None):
    out = np.full((len(centers), len(rows)), np.nan)
    module.gower_columns(pack_panels(rows), centers, weights, numbers, nominal, out, crew)
    return out


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("gaps", [0.0, 0.3, 0.9, 1.0])
def test_dissimilarities_are_those_of_the_twin_in_either_order(core, shape, gaps):
    n, numbers, nominal, asymmetric, k = shape
    rows, weights = mixed_rows(np.random.default_rng(n), n, numbers, nominal, asymmetric, gaps)
    k, given = min(k, n), (weights, numbers, nominal)
    some = np.ascontiguousarray(rows[:k])
    ours = measured(core, rows, some, *given, core.Crew(2))
    assert ours.tobytes() == measured(reference, rows, some, *given).tobytes()
    np.testing.assert_array_equal(ours[:, :k], ours[:, :k].T)
    few = np.ascontiguousarray(rows[n // 2 :])
    one = measured(core, few, some[k - 1 :], *given)
    assert one.tobytes() == ours[k - 1 :, n // 2 :].tobytes()


def test_no_rows_and_no_centers_are_fine(core):
    for n, k, d in [(0, 3, 2), (3, 0, 2), (0, 0, 1)]:
        out = measured(core, np.ones((n, d)), np.ones((k, d)), np.ones(d), d, 0)
        assert out.shape == (k, n)


def test_shapes_that_do_not_fit_are_refused(core):
    rows, weights = mixed_rows(np.random.default_rng(0), 5, 2, 1, 1)
    panels, out = pack_panels(rows), np.empty((5, 5))
    for given in [
        (panels, rows[:4], weights, 2, 1, out),
        (panels, rows, weights[:3], 2, 1, out),
        (panels, rows, weights, 5, 0, out),
        (panels, rows, weights, 2, 3, out),
        (panels, rows, weights, 2, 1, np.empty((5, 65))),
    ]:
        with pytest.raises(ValueError, match="gower"):
            core.gower_columns(*given)

"""The kernel of K-means on a line equals its NumPy twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita._kernels import reference
from partita.one_dimension import SortedLine

pytestmark = [pytest.mark.compiled, pytest.mark.sanitize]


@st.composite
def lines(draw, max_n=400):
    """Numbers (n,) with their weights: duplicates, offsets, outliers, tight groups."""
    n = draw(st.integers(1, max_n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["normal", "whole", "groups", "outlier", "heavy tail", "even"]))
    x = {
        "normal": rng.normal(size=n),
        "whole": rng.integers(0, 50, n).astype(float),
        "groups": rng.integers(0, 4, n) * 1e6 + rng.normal(size=n) * 1e-6,
        "outlier": np.append(rng.normal(size=n - 1), 1e12),
        "heavy tail": rng.lognormal(0, 4, n),
        "even": np.arange(n, dtype=float),  # splits of the same cost everywhere
    }[kind]
    x = (x + draw(st.sampled_from([0.0, 1e9]))) * draw(st.sampled_from([1.0, 1e-200, 1e200]))
    weighting = draw(st.sampled_from(["none", "whole", "uneven"]))
    weight = {
        "none": None,
        "whole": rng.integers(0, 4, n) + (np.arange(n) == 0),
        "uneven": 10.0 ** rng.uniform(-15, 15, n),
    }[weighting]
    return x, None if weight is None else weight.astype(np.float64)


def layers_of(module, line, k, crew):
    before, after = np.zeros((2, 2, len(line.value) + 1))
    split = np.zeros(len(line.value) + 1, np.int32)
    results = []
    for layer in range(1, k + 1):
        module.split_layer(line.prefix, layer, before, after, split, crew)
        results += [after[:, layer:].copy(), split[layer:].copy()]
        before, after = after, before
    return results


def assert_same_layers(core, line, k, threads):
    ours = layers_of(core, line, k, core.Crew(threads))
    twin = layers_of(reference, line, k, None)
    for one, other in zip(ours, twin, strict=True):
        np.testing.assert_array_equal(one, other)


@given(data=lines(), k=st.integers(1, 9), threads=st.integers(1, 3))
def test_layers_are_those_of_the_twin(core, data, k, threads):
    assert_same_layers(core, SortedLine.of(*data), k, threads)


@pytest.mark.parametrize("kind", ["normal", "even", "heavy tail"])
def test_layers_of_many_points_are_those_of_the_twin(core, kind):
    rng = np.random.default_rng(5)
    n = 9000  # blocks of splits are left out, and there are several trees
    x = {"normal": rng.normal(size=n), "even": np.arange(n), "heavy tail": rng.lognormal(0, 4, n)}
    assert_same_layers(core, SortedLine.of(x[kind].astype(float), None), 3, 2)


def test_what_does_not_fit_is_refused(core):
    line = SortedLine.of(np.arange(5.0), None)
    costs, split = np.zeros((2, 6)), np.zeros(6, np.int32)
    core.split_layer(line.prefix, 9, costs, costs.copy(), split)  # more clusters than points
    for wrong in (
        (line.prefix[:4], 1, costs, costs.copy(), split),
        (line.prefix, 0, costs, costs.copy(), split),
        (line.prefix, 1, costs[:1], costs.copy(), split),
        (line.prefix, 1, costs, np.zeros((2, 5)), split),
        (line.prefix, 1, costs, costs.copy(), split[:5]),
    ):
        with pytest.raises(ValueError, match="split_layer"):
            core.split_layer(*wrong)
    broken = np.full_like(line.prefix, np.nan)  # gives nonsense, but reads nothing outside
    core.split_layer(broken, 2, costs, costs.copy(), split)

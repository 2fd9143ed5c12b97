"""Scaling: it can be undone, weights repeat rows, outliers and constants do no harm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita._kernels.pairwise import exponentials  # noqa: E402
from partita.tables import (  # noqa: E402
    Scaling,
)

matrices = arrays(
    np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.floats(-1e6, 1e6)
)


@pytest.mark.heavy
@given(matrices, st.sampled_from(["none", "standard", "robust"]))
def test_undoing_leads_back(X, kind):
    scaling = Scaling.fit(X, kind)
    np.testing.assert_allclose(scaling.undo(scaling.apply(X)), X, rtol=1e-9, atol=1e-6)


def test_a_tiny_scale_does_not_carry_outliers_out_of_range():
    X = np.array([[0.0]] * 5 + [[5e-324]] * 4 + [[1e6]])
    scaling = Scaling.fit(X, "robust")
    assert np.isfinite(scaling.apply(X)).all()
    np.testing.assert_array_equal(scaling.undo(scaling.apply(X)), X)


@given(matrices, st.data(), st.sampled_from(["standard", "robust"]))
def test_a_weight_of_two_is_a_repeated_row(X, data, kind):
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X))))
    times[0] = max(times[0], 1)
    weighted, repeated = Scaling.fit(X, kind, times), Scaling.fit(X.repeat(times, axis=0), kind)
    np.testing.assert_allclose(weighted.center, repeated.center, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=1e-6, atol=1e-6)


def test_standard_is_that_of_scikit_learn_and_robust_has_the_median():
    from sklearn.preprocessing import StandardScaler

    X = np.random.default_rng(3).normal(size=(101, 3)) * [1, 1e8, 1e-8] + [0, 1e9, 5]
    np.testing.assert_allclose(
        Scaling.fit(X, "standard").apply(X), StandardScaler().fit_transform(X), atol=1e-6
    )
    for rows in (X, X[:100]):
        np.testing.assert_allclose(Scaling.fit(rows, "robust").center, np.median(rows, axis=0))


def test_constant_features_become_zero_and_outliers_do_not_move_a_robust_scale():
    X = np.array([[0.1, 1], [0.1, 2], [0.1, 3], [0.1, 1e300]])
    for kind in ("standard", "robust"):
        scaling = Scaling.fit(X, kind)
        assert scaling.scale[0] == 1
        assert (scaling.apply(X)[:, 0] == 0).all()
        assert np.isfinite(scaling.scale).all()
    for n in range(1, 60):  # shares of some n add up to a little less than 1
        tenths = np.full((n, 1), 0.1)
        assert (Scaling.fit(tenths, "standard").apply(tenths) == 0).all()
    assert Scaling.fit([[0], [4], [1e300]], "standard", [1, 1, 0]).scale[0] == 2
    assert Scaling.fit(X[:, 1:].repeat(2, 0)[:7], "robust").scale[0] < 5


def test_single_precision_stays_single():
    X = np.ones((3, 2), np.float32)
    assert Scaling.fit(X, "standard").apply(X).dtype == np.float32
    with pytest.raises(ValueError, match="`kind` must be one of 'none'"):
        Scaling.fit(X, "other")


def test_logarithms_are_undone_by_the_exponentials_of_the_kernels():
    x = np.random.default_rng(0).uniform(-30, 30, (5000, 3))
    logged, zeros = np.array([True, False, True]), np.zeros(3)
    scaling = Scaling("auto", zeros, np.ones(3), logged, zeros, zeros - np.inf, zeros + np.inf)
    expected = x.ravel().copy()
    exponentials(expected)
    assert np.array_equal(scaling.undo(x), np.where(logged, expected.reshape(x.shape), x))
    assert np.isnan(scaling.undo([[np.nan] * 3])).all()

"""The scaling "auto": one footing, whatever the units, the skewness and a few outliers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita._common.logarithm import logarithms  # noqa: E402
from partita.tables import fit_auto  # noqa: E402
from partita.tables.auto_scaling import with_fences  # noqa: E402
from partita.tables.quantiles import quantiles  # noqa: E402
from partita.tables.shared_units import shared_unit  # noqa: E402

RNG = np.random.default_rng(5)
values = arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e6, 1e6))


@given(st.lists(st.floats(5e-324, 1.7e308), min_size=1))
def test_logarithms_are_right_to_three_ulps(numbers):
    found, true = logarithms(numbers), np.array([math.log(x) for x in numbers])
    assert (np.abs(found - true) <= 3 * np.spacing(np.abs(true))).all()


@given(values, st.data())
def test_quantiles_count_a_weight_as_repeated_rows(x, data):
    at = [0.05, 0.25, 0.5, 0.75, 0.95]
    np.testing.assert_array_equal(quantiles(x, None, at), quantiles(x, np.ones(len(x)), at))
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(x), max_size=len(x))))
    np.testing.assert_array_equal(quantiles(x, times, at), quantiles(x.repeat(times), None, at))
    assert quantiles(x, None, [0.5])[0] == pytest.approx(np.median(x))


def measured(n=400):
    """A normal, a uniform, an exponential and a lognormal feature."""
    rng = np.random.default_rng(n)
    columns = rng.normal(50, 7, n), rng.uniform(0, 1, n), rng.exponential(3, n).clip(max=9)
    return np.column_stack([*columns, rng.lognormal(3, 1, n)])


def test_only_very_skewed_positive_features_become_logarithms():
    scaling, why = fit_auto(measured(), ["a", "b", "c", "d"])
    assert why == ""
    assert scaling.logged.tolist() == [False, False, False, True]
    assert not fit_auto(measured() * [1, 1, 1, -1], ["a", "b", "c", "d"]).scaling.logged.any()


def test_zeros_among_skewed_values_are_no_outliers():
    X = measured()
    X[:40, 3] = 0.0
    scaling = fit_auto(X, ["a", "b", "c", "d"]).scaling
    assert scaling.logged[3]
    assert scaling.offset[3] > 0
    assert np.abs(scaling.apply(X)).max() < 6


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
def test_units_do_not_matter(unit):
    X = measured()
    at_one = fit_auto(X, ["a", "b", "c", "d"]).scaling.apply(X)
    factor = np.array([unit, 1 / unit, 1.0, unit])
    scaled = fit_auto(X * factor, ["a", "b", "c", "d"]).scaling.apply(X * factor)
    np.testing.assert_allclose(scaled, at_one, atol=1e-9)
    np.testing.assert_allclose(scaled.std(axis=0), 1.0)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-12)


def test_two_gross_outliers_hardly_change_the_others():
    X = measured()
    clean = fit_auto(X, ["a", "b", "c", "d"]).scaling.apply(X)
    X[:2, 0] += 40 * X[:, 0].std()
    scaling = fit_auto(X, ["a", "b", "c", "d"]).scaling
    scaled = scaling.apply(X)
    assert np.abs(scaled[2:] - clean[2:]).max() < 0.2
    assert np.abs(scaled[:2, 0]).max() < 5
    assert scaling.apply(X, limit=False)[:2, 0].min() > 20  # for those who look for them


def skewed_with_mistakes(n_mistakes):
    """A feature with a tail beyond Tukey's fences that logarithms do not help, and mistakes."""
    rng = np.random.default_rng(8)
    x = np.concatenate([rng.normal(100, 20, 1400), rng.uniform(250, 800, 100)])
    x[5 : 5 + n_mistakes] = 1e6
    return np.column_stack([x, rng.normal(size=1500)])


def test_far_mistakes_do_not_switch_a_skewed_feature_off():
    clean, X = skewed_with_mistakes(0), skewed_with_mistakes(3)
    at_clean, scaling = (fit_auto(rows, ["a", "b"]).scaling for rows in (clean, X))
    assert not np.isfinite(at_clean.high).any()  # its tail is no mistake
    assert scaling.high[0] == clean[:, 0].max()
    assert scaling.scale[0] < 1.3 * at_clean.scale[0]
    assert scaling.high[1] == at_clean.high[1]
    assert with_fences(scaling, X).high[0] < 1e4


def test_far_values_that_are_a_group_or_hardly_set_the_scale_keep_their_distance():
    many = skewed_with_mistakes(30)  # 2 % of the rows
    assert fit_auto(many, ["a", "b"]).scaling.high[0] == np.inf
    mild = skewed_with_mistakes(0)
    mild[:3, 0] = 3000
    assert fit_auto(mild, ["a", "b"]).scaling.high[0] == np.inf


def test_a_group_far_away_is_no_outlier():
    X = measured()
    X[:20, 0] += 400  # five percent
    scaled = fit_auto(X, ["a", "b", "c", "d"]).scaling.apply(X)
    assert scaled[:20, 0].min() > scaled[20:, 0].max() + 3


def test_undoing_leads_back_except_beyond_the_limits():
    X = measured()
    X[0, 0] = 1e4
    scaling = fit_auto(X, ["a", "b", "c", "d"]).scaling
    back = scaling.undo(scaling.apply(X))
    np.testing.assert_allclose(back[1:], X[1:], rtol=1e-9)
    assert back[0, 0] == pytest.approx(X[1:, 0].max())


def test_rows_of_later_tables_are_within_range():
    scaling = fit_auto(measured(), ["a", "b", "c", "d"]).scaling
    later = scaling.apply([[1e9, -5.0, 0.0, -3.0], [0.0, 0.0, 0.0, 0.0]])
    assert np.isfinite(later).all()


def test_a_weight_of_two_is_a_repeated_row_for_auto():
    X, times = measured(100), np.random.default_rng(0).integers(0, 4, 100)
    weighted = fit_auto(X, ["a", "b", "c", "d"], times).scaling
    repeated = fit_auto(X.repeat(times, axis=0), ["a", "b", "c", "d"]).scaling
    for part in ("center", "scale", "low", "high", "offset"):
        np.testing.assert_allclose(getattr(weighted, part), getattr(repeated, part), rtol=1e-9)


def grades(d):
    return RNG.integers(0, 17, (200, d)).astype(float)


def pixels(d):
    X = grades(d)
    X[:, 0] = 0
    return X


@pytest.mark.parametrize(
    ("names", "X", "shared"),
    [
        (["petal length (cm)", "petal width (cm)"], RNG.normal(size=(50, 2)) * [1, 9], True),
        (["height_cm", "arm_cm"], RNG.normal(size=(50, 2)) * [1, 9], True),
        (["height_cm", "weight_kg"], RNG.normal(size=(50, 2)), False),
        (["latitude", "longitude"], RNG.normal(size=(50, 2)) * [1, 50], True),
        (["x", "y"], RNG.normal(size=(50, 2)) * [1, 3], True),
        (["x", "y"], RNG.normal(size=(50, 2)) * [1, 300], False),
        ([f"pixel_{i}_{j}" for i in range(3) for j in range(3)], pixels(9), True),
        (["taste", "smell", "price"], RNG.integers(1, 6, (90, 3)).astype(float), True),
        ([f"band {i}" for i in range(10)], RNG.normal(size=(90, 10)) * range(2, 12), True),
        ([f"v{i}" for i in range(10)], RNG.normal(size=(90, 10)) * np.logspace(0, 3, 10), False),
        (["v1", "v2", "v3"], RNG.normal(size=(90, 3)), False),
        (["age", "visits"], RNG.poisson(3, (90, 2)).astype(float), False),
        (["age"], RNG.normal(size=(90, 1)), False),
        (["wind (avg)", "pressure (avg)"], RNG.normal(size=(50, 2)) * [1, 90], False),
        (["sales (2019)", "visits (2019)"], RNG.normal(size=(50, 2)) * [1, 90], False),
        (["math", "music", "share", "visits"], grades(4) * [1, 1, 0.01, 0.1], False),
        (["math", "music", "art"], grades(3) * [1, 1, 0.75], True),
        ([f"p{i}" for i in range(8)], grades(8) * [1, 1, 1, 1, 1, 1, 0.5, 0.1], True),
    ],
)
def test_features_of_one_unit_stay_as_they_are(names, X, shared):
    assert (shared_unit(names, X) != "") == shared
    assert shared_unit(names, np.vstack([X, np.full((40, len(names)), np.nan)])) == (
        shared_unit(names, X)
    )  # gaps tell nothing
    scaling, why = fit_auto(X, names)
    assert (scaling.kind, why != "") == (("none", True) if shared else ("auto", False))

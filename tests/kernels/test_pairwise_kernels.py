"""Measures between rows, and exponentials, equal their NumPy twins, for every instruction set."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.cases import adversaries

from partita._kernels import reference
from partita._kernels.pairwise import PANEL_ROWS

pytestmark = [pytest.mark.compiled, pytest.mark.sanitize]
TYPES = [(np.float32, np.float32), (np.float32, np.float64), (np.float64, np.float64)]
MEASURES = ["sqeuclidean", "euclidean", "manhattan", "dot", "chi2"]
EDGES = [
    0.0, -0.0, 5e-324, -5e-324, 2.0**-54, 1.0, -1.0, 709.782712893384, 709.7827128933841, 710.0,
    1e300, np.inf, -708.3964185322641, -745.1332191019411, -745.1332191019412, -746.0, -1e300,
    -np.inf,
]  # fmt: skip


def panels_of(rows):
    count = -(-len(rows) // PANEL_ROWS)
    full = np.zeros((count * PANEL_ROWS, rows.shape[1]), rows.dtype)
    full[: len(rows)] = rows
    shape = (count, PANEL_ROWS, rows.shape[1])
    return np.ascontiguousarray(full.reshape(shape).transpose(0, 2, 1))


def measured(module, rows, some, metric, dtype, crew=None):
    out = np.full((len(some), len(rows)), np.nan, dtype)
    module.pair_columns(panels_of(rows), some, metric, out, crew)
    return out


@pytest.mark.parametrize(("dtype", "result"), TYPES)
@pytest.mark.parametrize("metric", MEASURES)
@pytest.mark.parametrize("name", list(adversaries(np.float64)))
def test_pairs_are_those_of_the_twin_in_either_order(core, dtype, result, metric, name):
    rows, _ = adversaries(dtype)[name]
    some = np.ascontiguousarray(rows[:19])
    ours = measured(core, rows, some, metric, result, core.Crew(2))
    np.testing.assert_array_equal(ours, measured(reference, rows, some, metric, result))
    np.testing.assert_array_equal(ours[:, :19], ours[:, :19].T)


@pytest.mark.parametrize(("dtype", "result"), TYPES)
@pytest.mark.parametrize("metric", MEASURES)
def test_a_pair_has_the_same_bits_among_any_others(core, dtype, result, metric):
    rng = np.random.default_rng(3)
    for n, d, k in [(1, 1, 1), (63, 5, 7), (64, 0, 3), (65, 17, 8), (130, 33, 9), (200, 70, 25)]:
        rows = rng.lognormal(size=(n, d)).astype(dtype)
        rows[rng.random((n, d)) < 0.3] = 0
        k = min(k, n)
        all_pairs = measured(core, rows, rows[:k], metric, result)
        np.testing.assert_array_equal(
            all_pairs, measured(reference, rows, rows[:k], metric, result)
        )
        few = np.ascontiguousarray(rows[n // 2 :])
        one = measured(core, few, rows[k - 1 : k], metric, result)
        assert one.tobytes() == all_pairs[k - 1 :, n // 2 :].tobytes()


def test_no_rows_and_no_centers_are_fine(core):
    for n, k in [(0, 3), (3, 0), (0, 0)]:
        rows, some = np.ones((n, 4)), np.ones((k, 4))
        assert measured(core, rows, some, "dot", np.float64).shape == (k, n)


@pytest.mark.parametrize("metric", ["dot", "chi2"])
def test_measures_in_double_are_close_to_the_sums_of_exact_terms(core, metric):
    rng = np.random.default_rng(4)
    rows = rng.lognormal(size=(70, 40)).astype(np.float32)
    rows[:, ::3] = 0
    a, b = rows.astype(np.float64)[:, None], rows.astype(np.float64)[None, :9]
    with np.errstate(invalid="ignore"):
        terms = a * b if metric == "dot" else np.nan_to_num((a - b) ** 2 / (a + b))
    exact = np.array([[math.fsum(pair) for pair in row] for row in terms])
    found = measured(core, rows, rows[:9].copy(), metric, np.float64)
    np.testing.assert_allclose(found, exact.T, rtol=1e-14)


def test_pairs_that_do_not_fit_are_refused(core):
    rows = np.ones((70, 3))
    with pytest.raises(ValueError, match="expected"):
        measured(core, rows, rows[:2], "cosine", np.float64)
    with pytest.raises(ValueError, match=r"centers \(k, d\)"):
        measured(core, rows, rows[:2, :2].copy(), "dot", np.float64)
    with pytest.raises(ValueError, match="rounded up"):
        core.pair_columns(panels_of(rows), rows[:2], "dot", np.empty((2, 60)))


# --- exponentials ------------------------------------------------------------------------------


def exponents():
    """Edges, neighbours of the places where k changes, and random numbers of all sizes."""
    rng = np.random.default_rng(5)
    changes = (np.arange(-1075, 1024) + 0.5) * math.log(2)
    sizes = rng.choice([-1.0, 1.0], 2000) * 10.0 ** rng.uniform(-300, 3, 2000)
    near = [changes, np.nextafter(changes, 0), np.nextafter(changes, 1e9), sizes, EDGES]
    return np.concatenate([*near, rng.uniform(-745.2, 709.8, 20_000), rng.uniform(-1, 1, 20_000)])


def exponentials(module, values, crew=None):
    out = np.array(values, dtype=np.float64)
    module.exponentials(out, crew)
    return out


def test_exponentials_are_those_of_the_twin(core):
    values = np.append(exponents(), np.nan)
    twin = exponentials(reference, values)
    for crew in (None, core.Crew(2)):
        np.testing.assert_array_equal(exponentials(core, values, crew), twin)
    for n in range(20):  # vectors and what is left of them
        np.testing.assert_array_equal(exponentials(core, values[:n]), twin[:n])
    square = values[:400].reshape(20, 20)
    np.testing.assert_array_equal(exponentials(core, square).ravel(), twin[:400])


def test_exponentials_are_within_one_ulp(core):
    values = exponents()
    exact = np.array([math.exp(x) if x < 709.7827128933841 else np.inf for x in values.tolist()])
    found = exponentials(core, values)
    np.testing.assert_array_equal(np.isinf(found), np.isinf(exact))
    gap = np.abs(found.view(np.int64) - exact.view(np.int64))  # doubles in between
    assert gap.max() <= 1


def test_exponentials_never_fall(core):
    values = np.sort(exponents())
    values = np.concatenate([values, np.nextafter(values, np.inf)])
    found = exponentials(core, np.sort(values))
    assert (found[1:] >= found[:-1]).all()


def test_exponentials_at_the_edges(core):
    found = exponentials(core, [0.0, -0.0, np.nan, np.inf, -np.inf, 1e308, -1e308])
    np.testing.assert_array_equal(found, [1, 1, np.nan, np.inf, 0, np.inf, 0])
    assert exponentials(core, []).shape == (0,)


# --- exponentials less one -----------------------------------------------------------------------


def less_one(module, values, crew=None):
    out = np.array(values, dtype=np.float64)
    module.exponentials_less_one(out, crew)
    return out


def negative_exponents():
    values = exponents()
    return values[values <= 0]


def test_exponentials_less_one_are_those_of_the_twin(core):
    values = np.append(negative_exponents(), [np.nan, -np.inf])
    twin = less_one(reference, values)
    for crew in (None, core.Crew(2)):
        np.testing.assert_array_equal(less_one(core, values, crew), twin)
    for n in range(20):
        np.testing.assert_array_equal(less_one(core, values[:n]), twin[:n])


def test_exponentials_less_one_are_within_two_ulp_and_never_fall(core):
    values = np.sort(negative_exponents())
    exact = np.array([math.expm1(x) for x in values.tolist()])
    found = less_one(core, values)
    assert np.abs(found.view(np.int64) - exact.view(np.int64))[values < 0].max() <= 2
    assert (found[1:] >= found[:-1]).all()
    np.testing.assert_array_equal(less_one(core, [0.0, -0.0, -1e308, -np.inf]), [0, 0, -1, -1])

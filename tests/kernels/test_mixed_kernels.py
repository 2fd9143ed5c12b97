"""Costs of rows of numbers and categories equal their NumPy twins to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from partita._kernels import reference
from partita._kernels.mixed_costs import missing_code
from partita.source.dissimilarities import pack_panels

pytestmark = [pytest.mark.compiled, pytest.mark.sanitize]
CODES = [(np.uint8, 5), (np.int32, 300)]  # their type, and the number of levels
# rows, numbers, categories, prototypes
SHAPES = [(1, 1, 0, 1), (63, 3, 2, 7), (64, 0, 3, 5), (65, 5, 1, 9), (600, 2, 300, 4)]


def with_gaps(rng, codes, dtype):
    codes = codes.astype(dtype)
    codes[rng.random(codes.shape) < 0.2] = missing_code(dtype)
    return codes


def case(shape, dtype, levels):
    """Panels of rows, prototypes about an origin, and gamma."""
    n, p, q, k = shape
    rng = np.random.default_rng(n)
    rows, centers, origin = rng.normal(size=(n, p)), rng.normal(size=(k, p)), rng.normal(size=p)
    codes = with_gaps(rng, rng.integers(0, levels, (n, q)), dtype)
    modes = with_gaps(rng, rng.integers(0, levels, (k, q)), dtype)
    return [pack_panels(rows), pack_panels(codes), centers, origin, modes, 0.7]


def results(module, given, shape, levels, weight, crew=None):
    n, _, q, k = shape
    table, labels, costs = np.empty((k, n)), np.full(n, -1, np.int32), np.empty(n)
    module.mixed_columns(*given, table, crew)
    moved = module.mixed_assign(*given, labels, costs, crew)
    closest, leaves = table[0].copy(), -(-n // 256)
    gain, potential = np.empty((leaves, k)), np.empty(leaves)
    module.mixed_gain(*given, closest, gain, weight, crew)
    module.mixed_lower(*given, closest, potential, weight, crew)
    counts, before = np.zeros((k, q * levels), np.int64), np.full(n, -1, np.int32)
    offsets, rows = np.arange(q + 1, dtype=np.int64) * levels, np.arange(n)
    times = np.arange(n) % 3
    module.count_codes(given[1], offsets, rows, before, labels, counts, times, crew)
    module.count_codes(given[1], offsets, rows, labels, np.roll(labels, 1), counts, None, crew)
    found = table, labels, costs, gain, closest, potential, counts
    return moved, [array.tobytes() for array in found]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("dtype", "levels"), CODES)
@pytest.mark.parametrize("weighted", [False, True])
def test_costs_gains_and_counts_are_those_of_the_twin(core, shape, dtype, levels, weighted):
    given = case(shape, dtype, levels)
    weight = np.random.default_rng(1).random(shape[0]).round(1) if weighted else None
    twin = results(reference, given, shape, levels, weight)
    assert results(core, given, shape, levels, weight) == twin
    assert results(core, given, shape, levels, weight, core.Crew(2)) == twin


def test_ties_go_to_the_lower_cluster_and_gaps_cost_nothing(core):
    numbers = pack_panels(np.zeros((3, 1)))
    codes = pack_panels(np.array([[0, 255], [1, 1], [255, 255]], np.uint8))
    modes = np.array([[0, 1], [0, 1], [1, 255]], np.uint8)  # the last has no second mode
    labels, costs, table = np.zeros(3, np.int32), np.empty(3), np.empty((3, 3))
    given = numbers, codes, np.zeros((3, 1)), np.zeros(1), modes, 2.0
    core.mixed_assign(*given, labels, costs)
    core.mixed_columns(*given, table)
    assert table.T.tolist() == [[0, 0, 2], [2, 2, 2], [0, 0, 0]]
    assert labels.tolist() == [0, 0, 0]
    assert costs.tolist() == [0, 2, 0]


def test_a_column_without_known_categories_is_not_counted(core):
    codes = pack_panels(np.array([[0, 255], [1, 255]], np.uint8))
    offsets, counts = np.array([0, 2, 2]), np.zeros((1, 2), np.int64)
    labels = np.zeros(2, np.int32)
    for module in (core, reference):
        module.count_codes(codes, offsets, np.arange(2), labels - 1, labels, counts)
    assert counts.tolist() == [[2, 2]]


def test_shapes_and_labels_that_do_not_fit_are_refused(core):
    given = case((65, 2, 2, 3), np.uint8, 5)
    labels, costs = np.zeros(65, np.int32), np.empty(65)
    for which, wrong in [
        (0, given[0][:1]),
        (1, given[1][:, :, :32].copy()),
        (2, given[2][:, :1].copy()),
        (3, given[3][:1]),
        (4, given[4][:2]),
    ]:
        with pytest.raises(ValueError, match="mixed"):
            core.mixed_assign(*given[:which], wrong, *given[which + 1 :], labels, costs)
    with pytest.raises(ValueError, match="mixed"):
        core.mixed_assign(*given, labels, costs[:64])
    rows, offsets, counts = np.arange(65), np.array([0, 5, 10]), np.zeros((3, 10), np.int64)
    for after, moved, edges in [
        (labels + 3, rows, offsets),
        (labels, rows + 64, offsets),
        (labels, rows, offsets + 1),
        (labels, rows, offsets[::-1].copy()),
    ]:
        with pytest.raises(ValueError, match=r"codes|labels"):
            core.count_codes(given[1], edges, moved, labels, after, counts)

"""The compiled kernels of sparse rows have the bits of their NumPy twins."""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.cases import sums_of

from partita._kernels import reference
from partita.exact_weights import Weights
from partita.moments import Grid, Moments

pytestmark = [pytest.mark.compiled, pytest.mark.sanitize]
FLOATS = [np.float32, np.float64]


def csr_for(module, matrix):
    make = module.Csr32 if matrix.dtype == np.float32 else module.Csr64
    start, column = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    return make(start, column, matrix.data, matrix.shape[1])


def sparse_book_for(module, dtype, centers):
    make = module.SparseCodebook32 if dtype == np.float32 else module.SparseCodebook64
    return make(np.ascontiguousarray(centers, dtype=np.float64), 90)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, 3, 20, 150])
def test_sparse_rows_give_what_the_twin_gives(core, dtype, weighted, k):
    rng = np.random.default_rng(k)
    matrix = sp.random(300, 90, density=0.1, format="csr", random_state=4, dtype=dtype)
    matrix.data = np.round(matrix.data * 4).astype(dtype)  # ties
    weights = Weights.of(rng.random(300) + 0.01 if weighted else None, 300)
    dense = matrix.toarray()
    grid = Grid.of_extent(
        dense.min(axis=0).astype(float), dense.max(axis=0).astype(float), np.zeros(90), weights
    )
    centers = dense[rng.choice(300, k)].astype(float)
    ours, twin = Moments.zero(k, grid), Moments.zero(k, grid)
    a, b = np.full(300, -1, np.int32), np.full(300, -1, np.int32)
    keywords = weights.kernel_arguments(slice(None))
    for _ in range(2):
        rows = csr_for(core, matrix)
        core.assign_sparse(sparse_book_for(core, dtype, centers), rows, a, sums_of(core, ours),
                           **keywords)  # fmt: skip
        reference.assign_sparse(
            sparse_book_for(reference, dtype, centers), csr_for(reference, matrix), b,
            sums_of(reference, twin), **keywords,
        )  # fmt: skip
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(ours.hi, twin.hi)
        np.testing.assert_array_equal(ours.lo, twin.lo)
        centers = centers * 0.5


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("seed", range(5))
def test_sparse_rows_that_share_nothing_are_told_apart_by_the_last_bit(core, dtype, seed):
    """Unit rows without a common feature are √2 apart: only how D64 rounds decides."""
    matrix = sp.random(200, 400, density=0.01, format="csr", random_state=seed, dtype=np.float64)
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    matrix = sp.diags(1 / np.where(length > 0, length, 1)) @ matrix
    matrix = sp.csr_matrix(matrix.astype(dtype))
    centers = matrix[:40].toarray().astype(float)
    centers[7] = np.random.default_rng(seed).random(400) / 20  # one has every feature
    a, b = np.full(200, -1, np.int32), np.full(200, -1, np.int32)
    core.assign_sparse(sparse_book_for(core, dtype, centers), csr_for(core, matrix), a)
    reference.assign_sparse(
        sparse_book_for(reference, dtype, centers), csr_for(reference, matrix), b
    )
    np.testing.assert_array_equal(a, b)


def sparse_problems(dtype):
    """Yield (rows, centers, labels): plain, near their centers, far off, and at the limits."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, d, k = rng.integers(1, 60), rng.integers(1, 40), rng.integers(1, 6)
        dense = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.1, 0.5]))
        labels = rng.integers(0, k, n).astype(np.int32)
        dense = dense.astype(dtype).astype(np.float64)
        centers = rng.normal(size=(k, d)) * (rng.random((k, d)) < 0.5)
        for exponent in (0, -60, 60) if dtype == np.float32 else (0, -490, -470, 494, 511):
            scale = 2.0**exponent
            yield sp.csr_array((dense * scale).astype(dtype)), centers * scale, labels
            near = dense[rng.integers(0, n, k)]
            near = near + 10.0 ** -rng.integers(3, 17) * (rng.random((k, d)) < 0.3)
            yield sp.csr_array((dense * scale).astype(dtype)), near * scale, labels


def own_distances(module, rows, centers, labels):
    squares, out = np.empty((len(centers), 2)), np.empty(rows.shape[0])
    module.square_norms(centers, squares)
    module.own_distance_sparse(csr_for(module, rows), centers, squares, labels, out)
    return out


@pytest.mark.parametrize("dtype", FLOATS)
def test_own_distances_of_sparse_rows_have_the_bits_of_the_twin(core, dtype):
    for rows, centers, labels in sparse_problems(dtype):
        ours, twins = (own_distances(m, rows, centers, labels) for m in (core, reference))
        np.testing.assert_array_equal(ours, twins)
        lengths = np.empty((2, rows.shape[0]))
        core.square_lengths(csr_for(core, rows), 0.5, lengths[0])
        reference.square_lengths(csr_for(reference, rows), 0.5, lengths[1])
        np.testing.assert_array_equal(*lengths)


@functools.cache  # fractions take long, and every instruction set asks for them
def exact_problems(dtype):
    """The sparse problems with the exact squared distances of rows to their centers."""

    def squared_distance(x, center):
        pairs = zip(x.tolist(), center.tolist(), strict=True)
        return sum((Fraction(a) - Fraction(b)) ** 2 for a, b in pairs)

    return [
        (rows, centers, labels, list(map(squared_distance, rows.toarray(), centers[labels])))
        for rows, centers, labels in sparse_problems(dtype)
    ]


@pytest.mark.parametrize("dtype", FLOATS)
def test_own_distances_of_sparse_rows_are_true_to_the_last_digits(core, dtype):
    for rows, centers, labels, exact in exact_problems(dtype):
        found = own_distances(core, rows, centers, labels)
        for distance, true in zip(found, exact, strict=True):
            if 1e-270 < true < 1e298:
                assert abs(Fraction(float(distance)) - true) <= 2e-15 * true


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_sparse_row_is_at_distance_zero_of_itself(core, dtype):
    for rows, _, _ in sparse_problems(dtype):
        itself = np.arange(rows.shape[0], dtype=np.int32)
        centers = rows.toarray().astype(np.float64)
        assert not own_distances(core, rows, centers, itself).any()


@pytest.mark.parametrize("dtype", FLOATS)
def test_lengths_of_sparse_rows_are_those_of_dense_rows(core, dtype):
    for rows, _, labels in sparse_problems(dtype):
        sparse, dense, zero = *np.empty((2, rows.shape[0])), np.zeros(rows.shape[1])
        core.square_lengths(csr_for(core, rows), 1.0, sparse)
        core.own_distance(rows.toarray(), zero[None], zero, labels * 0, dense)
        np.testing.assert_array_equal(sparse, dense)


def seed_distances(module, rows, scale, drawn):
    dense = drawn.toarray()
    squares, lengths = np.empty(rows.shape[0]), np.empty(len(dense))
    out = np.empty((rows.shape[0], len(dense)))
    module.square_lengths(csr_for(module, rows), scale, squares)
    module.square_lengths(csr_for(module, drawn), 1.0, lengths)
    module.seed_distances_sparse(
        csr_for(module, rows), scale, squares, csr_for(module, drawn),
        np.ascontiguousarray(dense.T), lengths, out,
    )  # fmt: skip
    return out


@pytest.mark.parametrize("dtype", FLOATS)
def test_seeding_distances_have_the_bits_of_the_twin_and_are_zero_for_duplicates(core, dtype):
    for rows, _, _ in sparse_problems(dtype):
        rows = sp.vstack([rows, rows[: rows.shape[0] // 2]], format="csr")
        scale = 2.0 ** -np.frexp(abs(rows).max())[1].astype(float)
        drawn = sp.csr_array(rows[:7].astype(np.float64) * scale)
        ours, twins = (seed_distances(m, rows, scale, drawn) for m in (core, reference))
        np.testing.assert_array_equal(ours, twins)
        dense = rows.toarray() * scale
        gaps = dense[:, None] - dense[:7]
        np.testing.assert_allclose(ours, (gaps * gaps).sum(axis=2), rtol=1e-9, atol=1e-300)
        assert (ours[(gaps == 0).all(axis=2)] == 0).all()

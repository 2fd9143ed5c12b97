"""`memory_limit` chooses how a fit is made, and changes no bit of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.cases import same_bits

from partita import KMeans, SphericalKMeans
from partita._common.threads import Workers
from partita.engine.paths.choice import plan_for
from partita.estimators.validation import check_fit_rows, copied_bytes, make_source
from partita.source import blocks

LIMITS = 0, 40_000, 400_000, None


def some_rows(n=4000, d=12):
    rng = np.random.default_rng(2)
    middles = rng.uniform(20, 200, (30, d))
    return middles[rng.integers(0, 30, n)] + rng.normal(scale=9, size=(n, d))


INPUTS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "uint8": lambda X: X.clip(0, 255).astype(np.uint8),
    "int64": lambda X: X.astype(np.int64),
    "bool": lambda X: X > 100,
    "Fortran": np.asfortranarray,
    "single Fortran": lambda X: np.asfortranarray(X, dtype=np.float32),
    "big-endian": lambda X: X.astype(">f4"),
    "strided": lambda X: np.repeat(X, 2, axis=1)[::-1, ::2],
    "pandas": pd.DataFrame,
    "mixed pandas": lambda X: pd.DataFrame(X).astype({0: np.int64, 3: np.float32}),
    "byte pandas": lambda X: pd.DataFrame(X.clip(0, 255)).astype(np.uint8),
}


@pytest.mark.parametrize("member", [KMeans, SphericalKMeans])
@pytest.mark.parametrize("kind", INPUTS)
def test_the_limit_changes_no_bit_for_any_type_of_rows(kind, member):
    X = INPUTS[kind](some_rows())
    keywords = {"zero_rows": "drop"} if member is SphericalKMeans else {}
    fits = [
        member(8, random_state=0, max_iter=4, n_threads=2, memory_limit=limit, **keywords).fit(X)
        for limit in LIMITS
    ]
    assert all(same_bits(fit, fits[-1]) for fit in fits[:-1])


@pytest.mark.parametrize("init", ["k-means++", "k-means||", "mini-batch", "random"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_limit_changes_no_bit_for_any_start(init, weighted):
    X, weight = some_rows(), np.random.default_rng(0).integers(0, 3, 4000) if weighted else None
    fits = [
        KMeans(40, init=init, n_init=2, random_state=0, max_iter=6, memory_limit=limit)
        .fit(X, sample_weight=weight)
        for limit in LIMITS
    ]  # fmt: skip
    assert all(same_bits(fit, fits[-1]) for fit in fits[:-1])


@pytest.mark.parametrize("zeros", [0, 7])
def test_rows_at_unit_length_that_do_not_fit_are_divided_when_they_are_read(zeros):
    X = some_rows() - 100
    X[:zeros] = 0
    fits = [
        SphericalKMeans(5, random_state=0, zero_rows="drop", memory_limit=limit).fit(X)
        for limit in LIMITS
    ]
    assert all(same_bits(fit, fits[-1]) for fit in fits[:-1])


@pytest.mark.parametrize("kind", ["int64", "Fortran", "single Fortran", "pandas", "uint8"])
def test_rows_are_copied_only_if_the_copy_fits(kind):
    X = INPUTS[kind](some_rows())
    given = X.to_numpy() if kind == "pandas" else X
    lean, _ = check_fit_rows(KMeans(), X, memory=1000)
    assert np.may_share_memory(lean, given)
    assert copied_bytes(X, lean) == 0
    whole, _ = check_fit_rows(KMeans(), X)
    assert copied_bytes(X, whole) == (0 if kind == "uint8" else whole.nbytes)


def test_a_thread_converts_a_block_that_fits_its_cache():
    rows, sizes = np.zeros((100_000, 40), np.uint8), []

    def begin():
        return lambda rows, block: sizes.append(block.nbytes)

    with Workers(2) as workers:
        make_source(rows, None, workers).each_block(1, begin)
    assert max(sizes) <= blocks.CONVERTED_BYTES
    assert sum(sizes) == 4 * rows.size


def test_several_runs_share_the_memory_of_one():
    with Workers(1) as workers:
        source = make_source(np.zeros((10_000, 16)), None, workers)
        one = plan_for(source, 10, "hamerly", 100_000)
        assert (one.path, one.lean, one.spare) == ("hamerly", False, 20_000 - 16 * 100 - 16 * 160)
        assert plan_for(source, 10, "hamerly", 100_000, runs=3).lean
        roomy = plan_for(source, 10, "hamerly", 1e9, runs=3)
        assert not roomy.lean
        assert roomy.spare == 1e9 - 2 * (100_000 - one.spare)

"""Laws of fits to sparse rows, each a function of a `SparseCase` that raises AssertionError."""

from __future__ import annotations

from contextlib import contextmanager
from fractions import Fraction
from unittest import mock

import numpy as np
import scipy.sparse as sp

from helpers.fuzzing import model_digest
from partita.source import blocks

EXACT_VALUES = 800  # of a case whose objective is computed in fractions


@contextmanager
def small_blocks():
    """Share even few rows among threads."""
    names = {"MIN_THREADED_WORK": 0, "MIN_CREW_WORK": 0, "MIN_AWAKE_CREW_WORK": 0, "ALIGN": 16}
    with mock.patch.multiple(blocks, **names):
        yield


def bits(model, rows=slice(None)):
    """All that was learned, with the labels of some rows."""
    if isinstance(model, Exception):
        return str(model)
    costs = [(step.cost, step.cost_after, step.shift) for step in model.trace_]
    sums = model.stats_.weight, model.stats_.mean, model.stats_.sse
    parts = model.cluster_centers_, *sums, costs, model.inertia_, model.n_iter_
    return tuple(np.asarray(part).tobytes() for part in parts), model.labels_[rows].tolist()


def threads_and_memory_change_nothing(case):
    expected = model_digest(case.fit())
    for options in ({"n_threads": 2}, {"n_threads": 3}, {"n_threads": 2, "memory_limit": 1e4}):
        with small_blocks():
            assert model_digest(case.fit(**options)) == expected, options


def order_of_rows_changes_nothing(case):
    """From given centers; a batch is drawn by the number of a row."""
    if not case.has_given_start or case.model == "MiniBatchKMeans":
        return
    order = np.random.default_rng(case.X.nnz).permutation(case.X.shape[0])
    weight = None if case.weight is None else case.weight[order]
    assert bits(case.fit(case.X[order], weight)) == bits(case.fit(), order)


def weights_are_repeated_rows(case):
    """From given centers, with whole weights."""
    if not case.has_given_start or case.model == "MiniBatchKMeans":
        return
    n = case.X.shape[0]
    weight = np.random.default_rng(n).integers(1, 4, n).astype(float)
    if case.weight is not None:
        weight = np.where(case.weight > 0, weight, 0.0)
    rows = np.repeat(np.arange(n), weight.astype(int))
    repeated, weighted = case.fit(case.X[rows], None), case.fit(weight=weight)
    assert bits(repeated) == bits(weighted, rows)


def dense_rows_have_the_same_clusters(case):
    """Where no ties are decided by rounding: dense rows are relative to another origin."""
    if not case.has_given_start or case.model == "MiniBatchKMeans":
        return
    if case.kind not in ("normal", "scales"):
        return
    sparse, dense = case.fit(tol=0.0), case.fit(case.dense, tol=0.0)
    if isinstance(sparse, Exception) or any(step.empty for step in sparse.trace_):
        return  # which row is the farthest may be a tie
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    largest = np.abs(case.dense).max(initial=0.0)
    error = 1e-12 if case.dense.dtype == np.float64 else 1e-5  # centers are rounded to the dtype
    spread = error * largest * largest * case.X.shape[0]
    np.testing.assert_allclose(sparse.inertia_, dense.inertia_, rtol=error, atol=spread)


def unit(dense):
    """Rows at unit length, by their definition; and which have a direction."""
    rows = dense.astype(np.float64)
    peak = np.abs(rows).max(axis=1, initial=0.0)
    power = np.frexp(peak)[1]
    far = ~((peak > 1e-130) & (peak < 1e130))  # squares may leave the range of doubles
    rows = np.ldexp(rows, np.where(far, -power, 0)[:, None])
    square = np.zeros(len(rows))
    for t in range(rows.shape[1]):
        square += rows[:, t] * rows[:, t]
    length = np.sqrt(square)
    out = rows / np.where(length > 0, length, 1.0)[:, None]
    return out.astype(dense.dtype), length > 0


def labels_and_inertia_are_right(case):
    """Labels are the argmin of D64 in order; the objective is right to 1e-12."""
    model = case.fit()
    if isinstance(model, Exception):
        return
    np.testing.assert_array_equal(model.predict(case.X), model.labels_)
    if case.kind == "extreme" and case.model != "SphericalKMeans":
        return  # D64 is scaled there
    rows, counts = case.dense, np.ones(case.X.shape[0], bool)
    if case.model == "SphericalKMeans":
        rows, counts = unit(rows)
    centers = model.cluster_centers_.astype(np.float64)
    distance = np.zeros((len(rows), len(centers)))
    for t in range(rows.shape[1]):
        gap = rows[:, t, None].astype(np.float64) - centers[:, t]
        distance += gap * gap
    nearest = distance.argmin(axis=1)
    np.testing.assert_array_equal(model.labels_[counts], nearest[counts])
    if rows.size <= EXACT_VALUES:
        weight = np.where(counts, 1.0 if case.weight is None else case.weight, 0.0)
        price = Fraction(1, 2) if case.model == "SphericalKMeans" else 1
        true = price * true_cost(rows, centers[nearest], weight)
        assert abs(Fraction(float(model.inertia_)) - true) <= Fraction(1, 10**12) * true


def true_cost(rows, centers, weight):
    """Σ w‖x − c‖² without rounding."""
    total = Fraction(0)
    for x, c, w in zip(rows.tolist(), centers.tolist(), weight.tolist(), strict=True):
        gaps = (Fraction(a) - Fraction(b) for a, b in zip(x, c, strict=True))
        total += Fraction(w) * sum(gap * gap for gap in gaps)
    return total


def sparse_centers_are_dense_centers(case):
    """A start may be given as a sparse matrix."""
    if case.has_given_start:
        init = case.options["init"]
        other = init.toarray() if sp.issparse(init) else sp.csc_array(init)
        assert model_digest(case.fit()) == model_digest(case.fit(init=other))


LAWS = (
    threads_and_memory_change_nothing,
    order_of_rows_changes_nothing,
    weights_are_repeated_rows,
    dense_rows_have_the_same_clusters,
    labels_and_inertia_are_right,
    sparse_centers_are_dense_centers,
)

"""Sparse matrices in every format and state: valid ones are read, malformed ones refused."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import malformed_sparse
from helpers.cases import same_bits

from partita import KMeans, MiniBatchKMeans, SphericalKMeans

START = malformed_sparse.valid().toarray()[:3]


def fit(X):
    return KMeans(3, init=START, n_init=1, tol=0.0).fit(X)


@pytest.mark.heavy
def test_no_function_crashes_on_a_malformed_sparse_matrix():
    """In another process: a crash must not end the tests."""
    command = [sys.executable, str(Path(malformed_sparse.__file__))]
    environment = {**os.environ, "MPLBACKEND": "agg"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    lines = done.stdout.splitlines()
    wrong = [line for line in lines if line and not line.startswith("case ")]
    assert not wrong
    assert done.returncode == 0, f"{lines[-1]}: {done.stderr}"
    assert len(lines) > 1000


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        ("indptr far beyond the values", "`indptr` that falls from 100000000 to"),
        ("indptr beyond the values at the end", "`indptr` that ends at 10000000 for"),
        ("indptr that starts at 1", "`indptr` that starts at 1 instead of 0"),
        ("short indptr", "`indptr` of length 10 instead of 13"),
        ("large column", "`indices` from 0 to 100000000, outside 0 to 5"),
        ("real indices", "`indices` that is not a 1-D array of integers (1-D, float64)"),
    ],
)
def test_the_error_says_what_is_wrong(damage, text):
    X = malformed_sparse.MALFORMED[damage](malformed_sparse.valid())
    with pytest.raises(ValueError, match="`X` must be a valid CSR matrix, got") as error:
        fit(X)
    assert text in str(error.value)


def shuffled(X):
    """The same matrix with the stored values of each row in another order."""
    X = X.copy()
    rng = np.random.default_rng(1)
    for i in range(X.shape[0]):
        row = slice(X.indptr[i], X.indptr[i + 1])
        order = rng.permutation(X.indptr[i + 1] - X.indptr[i])
        X.indices[row], X.data[row] = X.indices[row][order], X.data[row][order]
    return X


def with_stale_flags(X):
    X = X.copy()
    assert X.has_canonical_format
    rows = shuffled(X)
    X.indices[:], X.data[:] = rows.indices, rows.data
    assert X.has_canonical_format  # SciPy remembers what is no longer true
    return X


def with_duplicates(X):
    indices, data = np.repeat(X.indices, 2), np.repeat(X.data / 2, 2)
    return sp.csr_array((data, indices, 2 * X.indptr), shape=X.shape)


def with_unused_values(X):
    X = X.copy()
    X.data, X.indices = np.append(X.data, [np.nan] * 3), np.append(X.indices, [10**6] * 3)
    return X


def with_strides(X):
    X = X.copy()
    X.data, X.indices = np.repeat(X.data, 2)[::2], np.repeat(X.indices, 2)[::2]
    return X


def with_index_type(dtype):
    def change(X):
        X = X.copy()
        X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(np.int64)
        return X

    return change


STATES = {
    "shuffled": shuffled,
    "stale flags": with_stale_flags,
    "duplicates": with_duplicates,
    "unused values": with_unused_values,
    "strides": with_strides,
    "int64": with_index_type(np.int64),
    "two index types": with_index_type(np.int32),
    "int16": with_index_type(np.int16),
    "csr_matrix": sp.csr_matrix,
    "integers": lambda X: X.astype(np.int32),
    **{name: getattr(sp, f"{name}_array") for name in ("csc", "coo", "bsr", "dia", "lil", "dok")},
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("model", [KMeans, SphericalKMeans, MiniBatchKMeans])
def test_the_state_of_a_valid_matrix_changes_no_bit_and_is_not_changed(state, model):
    clean = malformed_sparse.valid()
    X = STATES[state](clean)
    before = copy.deepcopy(X)
    keywords = {"init": START, "random_state": 0, "tol": 0.0}
    ours, expected = (model(3, **keywords).fit(rows) for rows in (X, clean))
    assert same_bits(ours, expected)
    np.testing.assert_array_equal(ours.predict(X), expected.predict(clean))
    np.testing.assert_array_equal(ours.transform(X), expected.transform(clean))
    for part in ("data", "indices", "indptr"):
        if X.format in ("csr", "csc", "bsr"):
            assert getattr(X, part).tobytes() == getattr(before, part).tobytes()


def test_duplicates_are_added_in_the_order_in_which_they_are_stored():
    data, indices = np.array([1e16, 1.0, 5.0, 1.0, -1e16]), np.array([1, 1, 0, 1, 1])
    X = sp.csr_array((data, indices, [0, 5]), shape=(1, 2))
    expected = np.array([[5.0, ((1e16 + 1.0) + 1.0) - 1e16]])
    np.testing.assert_array_equal(KMeans(1).fit(X).cluster_centers_, expected)

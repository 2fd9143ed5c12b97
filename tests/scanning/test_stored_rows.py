"""Rows of a file: any of them, in few calls of the system."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from partita.scanning import stored_rows
from partita.scanning.stored_rows import StoredRows

TABLE = np.random.default_rng(0).normal(size=(5000, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "table"
    path.write_bytes(TABLE.tobytes())
    with path.open("rb") as file:
        return StoredRows(file, TABLE.shape, TABLE.dtype)


@given(arrays(np.intp, st.integers(0, 60), elements=st.integers(-5000, 4999)))
def test_any_rows_are_those_of_the_table(rows, index):
    np.testing.assert_array_equal(rows[index], TABLE[index])


@pytest.mark.parametrize("share", [0.001, 0.01, 0.2, 0.5, 0.999])
def test_ascending_rows_are_those_of_the_table(rows, share):
    chosen = np.random.default_rng(1).random(len(TABLE)) < share
    np.testing.assert_array_equal(rows[chosen], TABLE[chosen])
    np.testing.assert_array_equal(rows[3::7], TABLE[3::7])


def test_scattered_rows_are_read_in_few_calls(rows, monkeypatch):
    calls, read = [], StoredRows._read_into
    monkeypatch.setattr(
        StoredRows,
        "_read_into",
        lambda self, out, at: calls.append(out.nbytes) or read(self, out, at),
    )
    chosen = np.random.default_rng(2).random(len(TABLE)) < 0.5
    rows[chosen]
    assert len(calls) <= 2 + TABLE.nbytes // stored_rows.MAX_SPAN_BYTES
    assert sum(calls) <= TABLE.nbytes
    assert max(calls) <= stored_rows.MAX_SPAN_BYTES


def test_rows_that_are_far_apart_are_not_read_through(rows):
    before = rows.bytes_read
    rows[np.array([0, 2500, 4999])]
    assert rows.bytes_read - before == 3 * TABLE[0].nbytes

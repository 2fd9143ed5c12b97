"""A fingerprint depends on the data and not on its container."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp
from helpers.saved_models import FRAME, ROWS, WEIGHT

from partita.model_file import fingerprint


def test_a_fingerprint_does_not_depend_on_the_container():

    wanted = fingerprint(ROWS)
    for other in (
        ROWS.tolist(),
        np.asfortranarray(ROWS),
        np.repeat(ROWS, 2, axis=0)[::2],
        ROWS.astype(">f8"),
        FRAME,
        pd.DataFrame(ROWS).to_numpy().T.copy().T,
        pl.DataFrame(ROWS, schema=["a", "b", "c"]),
        pa.table(dict(zip("abc", ROWS.T, strict=True))),
    ):
        assert fingerprint(other) == wanted
    sparse = sp.csr_array(ROWS)
    wide = sp.csr_array(sparse)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert fingerprint(sparse) == fingerprint(wide) != wanted


def test_a_fingerprint_depends_on_all_that_a_fit_sees():
    changed = ROWS.copy()
    changed[-1, -1] = np.nextafter(changed[-1, -1], 0)
    every = [
        fingerprint(ROWS),
        fingerprint(changed),
        fingerprint(ROWS[::-1]),
        fingerprint(ROWS.astype(np.float32)),
        fingerprint(ROWS.reshape(-1, 1)),
        fingerprint(ROWS.ravel()),
        fingerprint(ROWS, np.ones(len(ROWS))),
        fingerprint(ROWS, WEIGHT),
        fingerprint(sp.csr_array(ROWS)),
        fingerprint(sp.csr_array(ROWS).T.tocsr()),
        fingerprint(ROWS.astype(np.uint8)),
    ]
    assert len(set(every)) == len(every)


def test_a_fingerprint_of_a_triangle_does_not_depend_on_its_layout():
    triangle = ROWS.ravel()
    assert fingerprint(triangle) == fingerprint(triangle.astype(">f8"))
    assert fingerprint(triangle) == fingerprint(np.repeat(triangle, 2)[::2])


def test_a_fingerprint_is_the_same_on_every_machine_and_day():
    assert fingerprint([[1.0, 2.0], [3.0, 4.0]]) == "blake2b-128:46250d82fa2ccc1cbe4b5221d7a1fd71"

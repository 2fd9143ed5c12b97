"""Unusual but valid input gets the right answer, never a crash."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from helpers.three_groups import (
    CONTAINERS,
    GROUPS,
    NAMES,
    START,
    STARTS,
    X,
    assert_groups,
    fit,
)
from sklearn.exceptions import ConvergenceWarning

from partita import KMeans, kmeans_plusplus
from partita.halting import MaxIter

# --- odd input with a right answer ---------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    [
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "float64", "longdouble", ">f8", ">f4", ">f2", ">i4", "<i2",
    ],
)  # fmt: skip
def test_every_type_of_number_gives_the_answer_of_float64(dtype):
    rows = X.astype(dtype)
    model = fit(rows)
    assert_groups(model)
    np.testing.assert_array_equal(model.predict(rows), GROUPS)
    np.testing.assert_array_equal(model.transform(rows), fit(X).transform(X))
    assert model.score(rows) == pytest.approx(-model.inertia_, rel=1e-12)


def test_booleans_are_zeros_and_ones():
    rows = X > 20
    model = KMeans(2, init=[[0, 0, 0], [1, 1, 1]]).fit(rows)
    np.testing.assert_array_equal(model.labels_, GROUPS > 0)
    assert model.inertia_ == 0


def misaligned(rows):
    """The same numbers, one byte off."""
    buffer = np.frombuffer(b"\0" + rows.tobytes(), dtype=np.uint8)
    return buffer[1:].view(rows.dtype).reshape(rows.shape)


def read_only(rows):
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
@pytest.mark.parametrize(
    "lay_out",
    [
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: x[::-1].copy()[::-1],
        lambda x: x[:, ::-1].copy()[:, ::-1],
        lambda x: np.ma.array(x),
        misaligned,
        read_only,
    ],
    ids=[
        "fortran", "strided-rows", "strided-columns", "reversed-rows", "reversed-columns",
        "masked-without-mask", "misaligned", "read-only",
    ],
)  # fmt: skip
def test_the_layout_in_memory_changes_nothing(lay_out, dtype):
    rows = lay_out(X.astype(dtype))
    model = fit(rows)
    assert_groups(model, np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_array_equal(model.predict(rows), GROUPS)
    np.testing.assert_array_equal(model.transform(rows), model.transform(X.astype(dtype)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
@pytest.mark.parametrize("mode", ["r", "c", "r+"])
def test_a_memory_mapped_array_is_read_and_never_written(tmp_path, dtype, mode):
    path = tmp_path / "rows.bin"
    X.astype(dtype).tofile(path)
    before = path.read_bytes()
    rows = np.memmap(path, dtype=dtype, mode=mode, shape=X.shape)
    model = fit(rows)
    assert_groups(model, np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_array_equal(model.predict(rows), GROUPS)
    del rows
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.tolist(),
        lambda x: tuple(map(tuple, x.tolist())),
        list,
        lambda x: x.astype(object),
        lambda x: [[Decimal(int(v)) for v in row] for row in x],
        memoryview,
    ],
    ids=["lists", "tuples", "list-of-arrays", "objects", "decimals", "memoryview"],
)
def test_anything_that_holds_rows_of_numbers_is_taken(make):
    assert_groups(fit(make(X)))


@pytest.mark.parametrize(
    "change",
    [
        lambda df: df,
        lambda df: df.astype({"age": "int8", "size": "float32"}),
        lambda df: df.astype("Int64"),
        lambda df: df.astype({"age": "Int64"}),
        lambda df: df.astype("Float64"),
        lambda df: df.astype("float16"),
        lambda df: df.astype("uint8"),
        lambda df: df.astype("int64[pyarrow]"),
        lambda df: df.astype(object),
        lambda df: df.astype(pd.SparseDtype(float, 0.0)),
        lambda df: df.set_axis(range(3), axis=1),
        lambda df: df.set_axis(range(3), axis=1).astype("Int64"),
        lambda df: df.set_axis(pd.MultiIndex.from_product([["a"], NAMES]), axis=1),
        lambda df: df.set_axis(pd.MultiIndex.from_product([["a"], NAMES]), axis=1).astype("Int64"),
        lambda df: df.set_axis(np.arange(30)[::-1], axis=0),
        lambda df: pl.from_pandas(df),
        lambda df: pl.from_pandas(df).cast(pl.UInt8),
        lambda df: pl.from_pandas(df).cast(pl.Decimal(10, 2)),
        lambda df: pa.table(df),
        lambda df: pa.table(df).cast(pa.schema([(name, pa.int16()) for name in NAMES])),
        lambda df: pa.concat_tables([pa.table(df[:7]), pa.table(df[7:])]),
    ],
    ids=[
        "pandas", "mixed", "Int64", "one-Int64", "Float64", "float16", "uint8", "arrow-backed",
        "object", "sparse", "int-names", "int-names-Int64", "multi-index", "multi-index-Int64",
        "row-index", "polars", "polars-uint8", "polars-decimal", "pyarrow", "pyarrow-int16",
        "pyarrow-chunks",
    ],
)  # fmt: skip
def test_a_table_of_numbers_gives_the_answer_of_its_array(change):
    table = change(pd.DataFrame(X, columns=NAMES))
    model = fit(table)
    assert_groups(model)
    np.testing.assert_array_equal(model.predict(table), GROUPS)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(X, columns=NAMES, dtype="float32"),
        pd.DataFrame(X, columns=NAMES, dtype="Float32"),
        pl.DataFrame(X.astype(np.float32), schema=NAMES),
        pa.table(pd.DataFrame(X, columns=NAMES, dtype="float32")),
    ],
    ids=["pandas", "pandas-nullable", "polars", "pyarrow"],
)
def test_a_table_of_float32_stays_float32(frame):
    assert_groups(fit(frame), np.float32)


def with_wide_indices(rows):
    rows = rows.copy()
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


def with_reversed_rows(rows):
    """The entries of each row from the last column to the first."""
    back = rows[:, ::-1].tocsr()
    back.sort_indices()
    columns = rows.shape[1] - 1 - back.indices
    return sp.csr_array((back.data, columns, back.indptr), shape=rows.shape)


def with_halves_stored_twice(rows):
    return sp.csr_array(
        (np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), 2 * rows.indptr), shape=rows.shape
    )


def with_zeros_stored(rows):
    n, d = rows.shape
    every = rows.toarray().ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)
    return sp.csr_array(every, shape=rows.shape)


def read_only_parts(rows):
    return sp.csr_array(tuple(map(read_only, (rows.data, rows.indices, rows.indptr))), rows.shape)


@pytest.mark.parametrize(
    "change",
    [
        sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array, sp.lil_array, sp.bsr_array,
        with_wide_indices, with_reversed_rows, with_halves_stored_twice, with_zeros_stored,
        read_only_parts, lambda x: x.astype(np.int32), lambda x: x.astype(np.uint8),
    ],
    ids=[
        "csr_matrix", "csc_array", "csc_matrix", "coo", "lil", "bsr", "int64-indices", "unsorted",
        "duplicates", "explicit-zeros", "read-only", "int32", "uint8",
    ],
)  # fmt: skip
def test_every_sparse_form_gives_the_answer_of_the_dense_array_and_is_left_alone(change):
    rows = change(sp.csr_array(X))
    before = rows.copy()
    model = fit(rows)
    assert_groups(model)
    np.testing.assert_array_equal(model.predict(rows), GROUPS)
    np.testing.assert_allclose(model.transform(rows), fit(X).transform(X), rtol=1e-12)
    assert rows.nnz == before.nnz
    if rows.format in ("csr", "csc", "bsr"):
        np.testing.assert_array_equal(rows.data, before.data)
        np.testing.assert_array_equal(rows.indices, before.indices)


def test_a_sparse_matrix_without_entries_is_one_point():
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(1\)"):
        model = KMeans(2, random_state=0).fit(sp.csr_array((5, 3)))
    assert model.inertia_ == 0
    np.testing.assert_array_equal(model.labels_, np.zeros(5))


# --- few rows, few values ------------------------------------------------------------------------


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("init", STARTS)
def test_more_clusters_than_distinct_rows_give_them_all_and_a_warning(make, init):
    rows = np.repeat(X[[0, 10]], 5, axis=0)
    said = r"Number of distinct clusters \(2\) found smaller than n_clusters \(3\)"
    with pytest.warns(ConvergenceWarning, match=said):
        model = KMeans(3, init=init, random_state=0).fit(make(rows))
    assert model.inertia_ == 0
    assert model.cluster_centers_.shape == (3, 3)
    assert np.isfinite(model.cluster_centers_).all()
    assert len(set(model.labels_[:5])) == len(set(model.labels_[5:])) == 1
    np.testing.assert_array_equal(model.predict(make(rows)), model.labels_)


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("value", [0.0, 1.0, -1e6, 0.1])
@pytest.mark.parametrize("init", STARTS)
def test_rows_that_are_all_alike_are_one_cluster_without_inertia(make, value, init):
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(1\)"):
        model = KMeans(2, init=init, random_state=0).fit(make(np.full((6, 2), value)))
    assert model.inertia_ == 0
    np.testing.assert_array_equal(model.labels_, np.full(6, model.labels_[0]))
    np.testing.assert_array_equal(model.cluster_centers_[model.labels_[0]], [value, value])


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("init", STARTS)
def test_one_cluster_is_the_mean_and_its_inertia_the_total_variance(make, init):
    model = KMeans(1, init=init, random_state=0).fit(make(X))
    np.testing.assert_allclose(model.cluster_centers_, X.mean(axis=0)[None], rtol=1e-14)
    assert model.inertia_ == pytest.approx(X.var(axis=0).sum() * len(X), rel=1e-12)
    np.testing.assert_array_equal(model.labels_, np.zeros(30))


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("init", STARTS)
def test_as_many_clusters_as_distinct_rows_leave_no_inertia(make, init):
    rows = np.unique(X, axis=0)
    model = KMeans(len(rows), init=init, random_state=0).fit(make(rows))
    assert model.inertia_ == 0
    np.testing.assert_array_equal(np.sort(model.labels_), np.arange(len(rows)))
    np.testing.assert_array_equal(model.cluster_centers_[model.labels_], rows)


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("init", STARTS)
def test_a_single_row_is_its_own_center(make, init):
    model = KMeans(1, init=init, random_state=0).fit(make(X[:1]))
    np.testing.assert_array_equal(model.cluster_centers_, X[:1])
    assert model.inertia_ == 0
    np.testing.assert_array_equal(model.transform(make(X[:1])), [[0.0]])


@pytest.mark.parametrize("make", CONTAINERS)
def test_a_single_feature_is_enough(make):
    model = fit(make(X[:, :1]), init=START[:, :1])
    np.testing.assert_array_equal(model.labels_, GROUPS)


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6, -1e15])
def test_a_constant_feature_changes_no_label_and_keeps_its_value(make, value):
    def beside(rows):
        return np.column_stack([rows, np.full(len(rows), value)])

    model = fit(make(beside(X)), init=beside(START))
    np.testing.assert_array_equal(model.labels_, GROUPS)
    np.testing.assert_allclose(model.cluster_centers_[:, 3], value, rtol=1e-15)
    assert model.inertia_ == pytest.approx(fit(X).inertia_, rel=1e-9)


# --- very large and very small numbers -----------------------------------------------------------


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("power", [-1060, -1000, -500, 500, 1000])
def test_scaling_by_a_power_of_two_changes_no_label(make, power):
    model = fit(make(np.ldexp(X, power)), init=np.ldexp(START, power))
    np.testing.assert_array_equal(model.labels_, GROUPS)
    np.testing.assert_array_equal(model.predict(make(np.ldexp(X, power))), GROUPS)
    np.testing.assert_allclose(
        np.ldexp(model.cluster_centers_, -power), fit(X).cluster_centers_, rtol=0.03
    )


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-160, 1e160, 1e300, 1e306])
@pytest.mark.parametrize("init", STARTS)
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_doubles_near_their_limits_give_finite_centers_without_a_crash(make, scale, init):
    model = KMeans(3, init=init, n_init=2, random_state=0).fit(make(X * scale))
    assert np.isfinite(model.cluster_centers_).all()
    assert not np.isnan(model.inertia_)
    np.testing.assert_array_equal(model.predict(make(X * scale)), model.labels_)
    assert not np.isnan(model.transform(make(X * scale))).any()


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("power", [-1000, -500, 500, 1000])
def test_scaling_by_a_power_of_two_changes_no_choice_of_kmeans_plusplus(make, power):
    _, at_one = kmeans_plusplus(make(X), 3, random_state=0)
    _, scaled = kmeans_plusplus(make(np.ldexp(X, power)), 3, random_state=0)
    np.testing.assert_array_equal(scaled, at_one)


@pytest.mark.parametrize("make", CONTAINERS)
def test_the_largest_doubles_of_both_signs_are_told_apart(make):
    most = np.finfo(np.float64).max
    model = KMeans(2, init=[[-most], [most]]).fit(make(np.array([[-most], [-most], [most]])))
    np.testing.assert_array_equal(model.labels_, [0, 0, 1])
    np.testing.assert_array_equal(model.cluster_centers_, [[-most], [most]])


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_the_smallest_doubles_are_no_nan(make):
    least = np.array([[0.0], [0.0], [5e-324], [5e-324]])
    model = KMeans(2, init=[[0.0], [5e-324]]).fit(make(least))
    assert model.inertia_ == 0
    assert np.isin(model.cluster_centers_, least).all()


CLOUD = np.random.default_rng(1).normal(size=(500, 4)).astype(np.float32)


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("scale", [1e-19, 1e19, 1e-30, 1e30])
def test_float32_at_any_scale_has_the_labels_of_scale_one(make, scale):
    rows = CLOUD * np.float32(scale)
    at_one = fit(make(CLOUD), init=CLOUD[:3], tol=0)
    scaled = fit(make(rows), init=rows[:3], tol=0)
    np.testing.assert_array_equal(scaled.labels_, at_one.labels_)
    np.testing.assert_array_equal(scaled.predict(make(rows)), at_one.labels_)
    np.testing.assert_allclose(
        scaled.transform(make(rows)), at_one.transform(make(CLOUD)) * np.float32(scale), rtol=1e-5
    )
    assert scaled.inertia_ == pytest.approx(at_one.inertia_ * scale**2, rel=1e-5)


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("power", [-63, 63])
def test_float32_scaled_by_a_power_of_two_makes_the_same_random_choices(make, power):
    at_one = KMeans(5, random_state=0).fit(make(CLOUD))
    scaled = KMeans(5, random_state=0).fit(make(np.ldexp(CLOUD, power)))
    np.testing.assert_array_equal(scaled.labels_, at_one.labels_)
    assert scaled.n_iter_ == at_one.n_iter_


@pytest.mark.parametrize("halt", [None, MaxIter(5)])
def test_an_infinite_tolerance_stops_after_one_iteration_unless_replaced(halt):
    model = fit(X, init=X[:3], tol=np.inf, halt=halt)
    assert (model.n_iter_ == 1) == (halt is None)

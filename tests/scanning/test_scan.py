"""Rows of files give the bits of rows in memory, whatever the format and the limit of memory."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import partita
from partita import KMeans, MiniBatchKMeans, SphericalKMeans, scan
from partita.estimators import scanned_rows
from partita.scanning.stored_rows import StoredRows

N, D = 5003, 6
RESULTS = ("cluster_centers_", "labels_", "inertia_", "n_iter_")


def groups(dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    middles = 5 * rng.normal(size=(7, D))
    return (middles[rng.integers(0, 7, N)] + rng.normal(size=(N, D))).astype(dtype)


def table(rows, **more):
    return pa.table({**{f"x{t}": column for t, column in enumerate(rows.T)}, **more})


@pytest.fixture
def write(tmp_path):
    """Write rows in a format; return the path."""

    def write_rows(rows, form, **more):
        path = tmp_path / f"rows.{form}"
        if form == "npy":
            np.save(path, rows)
        elif form == "parquet":
            parquet.write_table(table(rows, **more), path, row_group_size=1000)
        elif form == "feather":
            feather.write_feather(table(rows, **more), path, chunksize=700)
        else:
            csv.write_csv(table(rows, **more), path)
        return path

    return write_rows


@pytest.fixture
def no_overhead(monkeypatch):
    """Let limits of memory be small, as the data of tests is."""
    for name, none in (("FIT_ROW_BYTES", (0, 0)), ("FIT_BYTES", 0), ("THREAD_BYTES", 0)):
        monkeypatch.setattr(scanned_rows, name, none)


def same_bits(a, b):
    for name in RESULTS:
        left, right = getattr(a, name), getattr(b, name)
        assert np.array_equal(left, right), name
        assert np.asarray(left).dtype == np.asarray(right).dtype, name


@pytest.mark.parametrize("limit", [None, 0, "200 kB"])
@pytest.mark.parametrize("form", ["npy", "parquet", "feather", "csv"])
@pytest.mark.parametrize("model", [KMeans, SphericalKMeans, MiniBatchKMeans])
def test_a_file_has_the_bits_of_memory(write, model, form, limit):
    rows = groups()
    here = model(7, random_state=1, n_threads=1).fit(rows)
    there = model(7, random_state=1, memory_limit=limit).fit(scan(write(rows, form)))
    same_bits(there, here)
    assert np.array_equal(there.predict(scan(write(rows, form))), here.predict(rows))


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int16, np.float16, ">f8", bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_array_of_numbers_can_be_scanned(write, dtype, order):
    rows = np.asarray(groups() > 0 if dtype is bool else 10 * np.abs(groups()), dtype, order)
    model = KMeans(5, random_state=0, memory_limit=0).fit(write(rows, "npy"))
    same_bits(model, KMeans(5, random_state=0).fit(rows))


def test_float32_columns_stay_float32(write):
    rows = groups(np.float32)
    model = KMeans(4, random_state=0, memory_limit=0).fit(scan(write(rows, "parquet")))
    same_bits(model, KMeans(4, random_state=0).fit(rows))
    assert model.cluster_centers_.dtype == np.float32


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_columns_and_weights_are_chosen_by_name(write, form):
    rows, weight = groups(), np.random.default_rng(3).integers(0, 5, N).astype(float)
    path = write(rows, form, w=weight, name=[f"row {i}" for i in range(N)])
    given = scan(path, columns=["x4", "x1"], weights="w")
    model = KMeans(4, random_state=0, memory_limit=0).fit(given)
    same_bits(model, KMeans(4, random_state=0).fit(rows[:, [4, 1]], sample_weight=weight))
    assert model.feature_names_in_.tolist() == ["x4", "x1"]
    with pytest.raises(ValueError, match="sample_weight"):
        KMeans(4).fit(given, sample_weight=weight)
    # new files need no list: the model knows its columns
    assert np.array_equal(model.predict(path), model.labels_)


def test_all_columns_but_the_weights_are_features(write):
    rows, weight = groups(), np.random.default_rng(3).random(N)
    model = KMeans(4, random_state=0).fit(scan(write(rows, "parquet", w=weight), weights="w"))
    same_bits(model, KMeans(4, random_state=0).fit(rows, sample_weight=weight))
    stacked = write(np.column_stack([rows, weight]), "npy")
    model = KMeans(4, random_state=0).fit(scan(stacked, weights=D))
    same_bits(model, KMeans(4, random_state=0).fit(rows, sample_weight=weight))


@pytest.mark.parametrize("form", ["npy", "parquet"])
@pytest.mark.parametrize("how", ["folder", "pattern", "list"])
def test_several_files_are_one_below_the_other(tmp_path, form, how):
    rows, files = groups(), []
    for i, part in enumerate(np.split(rows, [1, 1000, 3000])):
        files.append(tmp_path / f"part-{i}.{form}")
        np.save(files[-1], part) if form == "npy" else parquet.write_table(table(part), files[-1])
    place = {"folder": tmp_path, "pattern": str(tmp_path / "part-*"), "list": files}[how]
    for limit in (0, None):
        model = KMeans(5, random_state=0, memory_limit=limit).fit(scan(place))
        same_bits(model, KMeans(5, random_state=0).fit(rows))


@pytest.mark.parametrize("fixed", [True, False])
def test_a_column_of_lists_is_several_features(tmp_path, fixed):
    rows = groups(np.float32)
    flat = pa.array(rows.ravel())
    if fixed:
        column = pa.FixedSizeListArray.from_arrays(flat, D)
    else:
        column = pa.ListArray.from_arrays(pa.array(np.arange(0, N * D + 1, D), pa.int32()), flat)
    parquet.write_table(pa.table({"v": column}), tmp_path / "v.parquet")
    model = KMeans(5, random_state=0).fit(scan(tmp_path / "v.parquet"))
    same_bits(model, KMeans(5, random_state=0).fit(rows))
    assert model.feature_names_in_[:2].tolist() == ["v_0", "v_1"]
    assert np.array_equal(model.predict(scan(tmp_path / "v.parquet")), model.labels_)


def test_lists_of_several_lengths_are_refused(tmp_path):
    parquet.write_table(pa.table({"v": [[1.0, 2.0], [3.0]]}), tmp_path / "v.parquet")
    with pytest.raises(ValueError, match="one length"):
        KMeans(1).fit(scan(tmp_path / "v.parquet"))


def test_paths_are_scanned(write):
    rows = groups()
    path = write(rows, "npy")
    for given in (path, str(path)):
        model = KMeans(3, random_state=0).fit(given)
        same_bits(model, KMeans(3, random_state=0).fit(rows))
        assert np.array_equal(model.transform(given), model.transform(rows))
        assert model.score(given) == model.score(rows)


def test_rows_are_read_where_they_are_if_they_do_not_fit(write, no_overhead):
    path = write(groups(), "npy")
    assert isinstance(scan(path).open(0).rows, StoredRows)
    assert isinstance(scan(path).open(4 * N * D * 8).rows, np.ndarray)
    assert isinstance(scan(write(groups(), "parquet")).open(1e5).rows, StoredRows)


def test_bounds_are_kept_where_they_fit(write, no_overhead):
    rows = np.random.default_rng(0).random((20_000, 3))
    path = write(rows, "npy")
    model = KMeans(40, random_state=0, memory_limit=1.8e6, max_iter=30).fit(path)
    assert isinstance(scan(path).open(1.8e6).rows, StoredRows)
    assert {p.path for p in model.trace_} == {"blocks"}
    same_bits(model, KMeans(40, random_state=0, max_iter=30).fit(rows))


def test_stored_rows_are_indexed_like_an_array(write):
    rows = groups()
    stored = scan(write(rows, "npy")).open(0).rows
    rng = np.random.default_rng(0)
    mask = rng.random(N) < 0.1
    some = rng.integers(-N, N, 300)
    slices = slice(10, 20), slice(None), slice(5, 5), slice(100, 3, -7)
    for index in (*slices, some, mask, 17, -1, np.empty(0, int)):
        assert np.array_equal(stored[index], rows[index])
    for index in (N, -N - 1, [N]):
        with pytest.raises(IndexError):
            stored[index]


def test_a_file_that_becomes_shorter_is_noticed(write):
    path = write(groups(), "npy")
    stored = scan(path).open(0).rows
    with open(path, "r+b") as file:
        file.truncate(2000)
    with pytest.raises(ValueError, match="shorter"):
        stored[:]


def test_gaps_and_infinity_name_their_columns(write):
    rows = groups()
    rows[17, 2], rows[4000, 4] = np.nan, np.inf
    for form in ("npy", "parquet"):
        for limit in (0, None):
            with pytest.raises(ValueError, match=r"NaN and infinity: 2 of 5003 rows"):
                KMeans(3, memory_limit=limit).fit(write(rows, form))
    holed = pa.table({"a": [1, None, 3], "b": [1.0, 2.0, 3.0]})
    parquet.write_table(holed, write(rows, "npy").parent / "holed.parquet")
    with pytest.raises(ValueError, match="'a'"):
        KMeans(2).fit(write(rows, "npy").parent / "holed.parquet")


def test_a_csv_of_whole_numbers_may_go_on_with_others(tmp_path):
    lines = ["a,b", *(f"{i % 10},{i % 7}" for i in range(200_000)), "0.5,1e3"]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    model = KMeans(2, random_state=0, memory_limit=0).fit(scan(tmp_path / "t.csv"))
    assert len(model.labels_) == 200_001


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"path": "absent.npy"}, "There is no file"),
        ({"path": []}, "`path` must be"),
        ({"path": 3}, "`path` must be"),
        ({"path": "rows.json"}, "read in blocks"),
        ({"path": ["rows.npy", "text.csv"]}, "one format"),
        ({"path": "rows.npy", "columns": []}, "`columns` must be"),
        ({"path": "rows.npy", "columns": "x"}, "`columns` must be"),
        ({"path": "text.csv", "columns": ["a"], "weights": "a"}, "no feature"),
    ],
)
def test_what_cannot_be_scanned_is_refused(tmp_path, monkeypatch, given, message):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", groups())
    (tmp_path / "text.csv").write_text("a,b\n1,x\n")
    (tmp_path / "rows.json").write_text("[]")
    with pytest.raises((ValueError, TypeError), match=message):
        scan(**given)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("text.csv", b"a,b\n1,x\n2,y\n", r"columns=\['a'\]"),
        ("bad.csv", b"a,b\n1,2\n3\n", "cannot be read"),
        ("bad.parquet", b"PAR1 no", "cannot be read"),
        ("bad.npy", b"\x93NUMPY no", "bad.npy"),
        ("empty.csv", b"", "cannot be read"),
        ("header.csv", b"a,b\n", "has no rows|numbers"),
    ],
)
def test_files_that_cannot_be_read_say_why(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        KMeans(1).fit(tmp_path / name)


def test_arrays_that_are_no_tables_are_refused(tmp_path):
    for i, array in enumerate((np.zeros(3), np.zeros((0, 3)), np.array([["a"]]))):
        np.save(tmp_path / f"{i}.npy", array)
        with pytest.raises(ValueError, match=f"{i}.npy"):
            KMeans(1).fit(tmp_path / f"{i}.npy")
    np.save(tmp_path / "objects.npy", np.array([[{}]]), allow_pickle=True)
    with pytest.raises(ValueError, match=r"objects\.npy"):
        KMeans(1).fit(tmp_path / "objects.npy")


def test_unknown_columns_are_named(write):
    with pytest.raises(ValueError, match=r"no column 'y'. It has 'x0'"):
        KMeans(2).fit(scan(write(groups(), "parquet"), columns=["y"]))
    with pytest.raises(ValueError, match="columns 0 to 5"):
        KMeans(2).fit(scan(write(groups(), "npy"), columns=[6]))


def test_other_features_are_refused_in_predict(write, tmp_path):
    model = KMeans(2, random_state=0).fit(groups())
    np.save(tmp_path / "wide.npy", np.zeros((3, D + 1)))
    with pytest.raises(ValueError, match="of 6 features"):
        model.predict(tmp_path / "wide.npy")


def test_a_fitted_model_does_not_hold_the_file(write, tmp_path):
    model = KMeans(3, random_state=0, memory_limit=0).fit(scan(write(groups(), "npy")))
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.labels_, model.labels_)


@pytest.mark.parametrize("form", ["npy", "parquet"])
def test_a_fit_of_a_file_resumes_from_its_checkpoint(write, tmp_path, form):
    path, file = write(groups(), form), tmp_path / "fit.checkpoint"
    whole = KMeans(7, random_state=0, tol=0.0, memory_limit=0)
    stopped = KMeans(
        7, random_state=0, tol=0.0, memory_limit=0, callback=lambda p: p.iteration == 2
    )
    stopped.fit(path, checkpoint=file)
    same_bits(whole.fit(path, resume=file), KMeans(7, random_state=0, tol=0.0).fit(groups()))
    other = groups(seed=1)
    with pytest.raises(ValueError, match="resume"):
        whole.fit(other, resume=file)


@pytest.mark.parametrize("limit", ["2 GiB", "1.5MB", "300", "0B"])
def test_limits_may_have_units(limit):
    KMeans(2, random_state=0, memory_limit=limit).fit(groups())


@pytest.mark.parametrize("limit", ["much", "-1GB", "1 XB", ""])
def test_other_limits_are_refused(limit):
    with pytest.raises(ValueError, match="a size such as '2GiB'"):
        KMeans(2, memory_limit=limit).fit(groups())


def test_labels_of_a_large_file_are_mapped_from_a_file(write, tmp_path):
    X = groups()
    model = KMeans(5, random_state=0, memory_limit=0).fit(write(X, "npy"))
    assert isinstance(model.labels_, np.memmap)
    np.testing.assert_array_equal(model.labels_, KMeans(5, random_state=0).fit(X).labels_)
    assert any("passes over" in note for note in model.paths_)
    copy = pickle.loads(pickle.dumps(model))
    partita.save(model, tmp_path / "model.partita")
    for other in (copy, partita.load(tmp_path / "model.partita")):
        np.testing.assert_array_equal(other.predict(X), model.labels_)


@pytest.mark.parametrize("form", ["npy", "csv"])
@pytest.mark.parametrize("weighted", [False, True])
def test_seeding_reads_a_file_about_once_for_each_center(write, form, weighted, monkeypatch):
    X, k = np.random.default_rng(3).normal(size=(40_000, 3)), 40
    weight = np.random.default_rng(4).random(len(X)) if weighted else None
    made = []
    opened = StoredRows.__init__
    monkeypatch.setattr(
        StoredRows, "__init__", lambda self, *a, **b: (opened(self, *a, **b), made.append(self))[0]
    )
    path = write(X, form)
    model = KMeans(k, random_state=0, max_iter=1, memory_limit=0).fit(path, sample_weight=weight)
    same_bits(model, KMeans(k, random_state=0, max_iter=1).fit(X, sample_weight=weight))
    (rows,) = made
    assert rows.bytes_read < 1.6 * k * rows.nbytes  # two passes a round would be more than 2 k


@pytest.mark.parametrize("limit", [None, 0])
@pytest.mark.parametrize("form", ["npy", "parquet", "csv"])
def test_scaled_rows_have_mean_0_and_deviation_1_in_every_format(write, form, limit):
    X = groups() * [1.0, 1e3, 1e-3, 1.0, 1.0, 1.0] + 5
    X[:, 3] = 7.0  # constant
    deviation = X.std(axis=0)
    deviation[3] = 1
    by_hand = (X - X.mean(axis=0)) / deviation
    train = scan(write(X, form), scale="standard")
    model = KMeans(3, random_state=0, memory_limit=limit).fit(train)
    assert np.allclose(train.open(1e9).rows, by_hand)
    assert np.isclose(model.inertia_, KMeans(3, random_state=0).fit(by_hand).inertia_)
    first = KMeans(3, random_state=0).fit(scan(write(X, "npy"), scale="standard"))
    assert model.inertia_ == first.inertia_
    new = scan(write(X[:10], form), scale=train)
    assert np.array_equal(model.predict(new), model.labels_[:10])


def test_scaling_counts_weights_as_repeated_rows(tmp_path):
    X, times = groups()[:50], np.arange(50) % 4
    table = pa.table({**{f"x{t}": x for t, x in enumerate(X.T)}, "w": times.astype(float)})
    parquet.write_table(table, tmp_path / "w.parquet")
    np.save(tmp_path / "rows.npy", np.repeat(X, times, axis=0))
    weighted, repeated = (
        scan(tmp_path / "w.parquet", weights="w", scale="standard"),
        scan(tmp_path / "rows.npy", scale="standard"),
    )
    for one in (weighted, repeated):
        one.open(1e9)
    assert np.array_equal(weighted.scaling.mean, repeated.scaling.mean)
    assert np.array_equal(weighted.scaling.deviation, repeated.scaling.deviation)


def test_wrong_scales_are_refused(write):
    path = write(groups(), "npy")
    for wrong in ("robust", 1, scan(path), scan(path, scale="standard")):
        with pytest.raises(ValueError, match="`scale` must be"):
            scan(path, scale=wrong)
    fitted = scan(write(groups()[:, :2], "npy"), scale="standard")
    fitted.open(1e9)
    with pytest.raises(ValueError, match="a scan with 2 features"):
        scan(write(groups(), "npy"), scale=fitted).open(1e9)
    huge = scan(write(groups() * 1e200, "npy"), scale="standard")
    with pytest.raises(ValueError, match="can be squared"):
        huge.open(1e9)

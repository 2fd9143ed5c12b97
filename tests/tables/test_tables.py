"""Files in, features out, labels back: what is read is what was written."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import (  # noqa: E402
    Scaling,
    Table,
    TableError,
    read_table,
    select,
    write_table,
)
from partita.tables.text_layout import detect_delimiter  # noqa: E402
from partita.tables.text_records import iter_records, split_record  # noqa: E402

FORMATS = ("csv", "tsv", "parquet", "feather", "npy", "npz")


def file_of(folder, content, name="a.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def columns_of(path, **options):
    return read_table(path, **options).data.to_pydict()


# --- text -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_delimiter_and_encoding_are_detected_and_said(tmp_path, delimiter, encoding):
    rows = [["größe", "b", "wer"], ["1", "2", "é"], ["3", "4", "y"], ["5", "6", "z"]]
    text = "\n".join(delimiter.join(row) for row in rows)
    table = read_table(file_of(tmp_path, text.encode(encoding)))
    assert table.data.to_pydict() == {"größe": [1, 3, 5], "b": [2, 4, 6], "wer": ["é", "y", "z"]}
    assert (table.delimiter, table.encoding) == (delimiter, encoding)
    assert table.format == ("tsv" if delimiter == "\t" else "csv")
    assert "delimiter" in table.notes[0]


def test_bytes_that_windows_does_not_know_are_latin_1(tmp_path):
    assert read_table(file_of(tmp_path, b"a\x81,b\n1,2\n")).encoding == "latin-1"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_in_any_way(tmp_path, end):
    assert columns_of(file_of(tmp_path, f"a,b{end}1,2{end}3,4{end}")) == {"a": [1, 3], "b": [2, 4]}


def test_a_first_line_of_numbers_is_no_header(tmp_path):
    path = file_of(tmp_path, "1,2\n3,4\n")
    table = read_table(path)
    assert not table.named
    assert table.data.to_pydict() == {"c0": [1, 3], "c1": [2, 4]}
    assert columns_of(path, header=True) == {"1": [3], "2": [4]}
    assert columns_of(file_of(tmp_path, "a,b\n3,4\n"), header=False) == {
        "c0": ["a", "3"],
        "c1": ["b", "4"],
    }


def test_decimal_commas_go_with_semicolons_only(tmp_path):
    assert columns_of(file_of(tmp_path, "a;b\n1,5;-2e1\n,5;3\n")) == {
        "a": [1.5, 0.5],
        "b": [-20, 3],
    }
    assert columns_of(file_of(tmp_path, "1,5;2,5\n3,5;4,5\n")) == {
        "c0": [1.5, 3.5],
        "c1": [2.5, 4.5],
    }
    # with points elsewhere in the file, commas may be anything
    assert columns_of(file_of(tmp_path, "a;b\n1,5;2.5\n"))["a"] == ["1,5"]
    assert columns_of(file_of(tmp_path, "a\tb\n1,234\t2\n"))["a"] == ["1,234"]


@pytest.mark.parametrize("cell", ['"1,234"', "3.5 kg", "1_000", "0x10", "1e", "--1", "٣", "1.2.3"])
def test_what_only_looks_like_a_number_is_text(tmp_path, cell):
    found = select(read_table(file_of(tmp_path, f"a,b\n1,{cell}\n2,{cell}\n")))
    assert found.names == ("a",)
    words = "thousands separators" if cell == '"1,234"' else "text"
    assert words in found.left_out["b"]
    assert "line 2" in found.left_out["b"]


def test_numbers_are_read_as_python_reads_them(tmp_path):
    cells = ["1.5", "+2", "-3e-5", ".5", "7.", " 8 ", "1E3", "0.1", "123456789.123456789"]
    column = columns_of(file_of(tmp_path, "a\n" + "\n".join(cells)))["a"]
    assert column == [float(cell) for cell in cells]


@pytest.mark.parametrize("word", ["", "NA", "n/a", "NaN", "nan", "NULL", "None", "?", " "])
def test_words_for_missing_values(tmp_path, word):
    assert columns_of(file_of(tmp_path, f"a,b\n1,2\n{word},3\n"))["a"] == [1, None]


def test_booleans_are_numbers_and_dates_are_not(tmp_path):
    text = "t,d,s\nTrue,2024-01-02,2024-01-02 10:00\nfalse,2024-03-04,2024-03-04 11:30\n"
    found = select(read_table(file_of(tmp_path, text)))
    assert found.X.tolist() == [[1], [0]]
    assert found.left_out == {"d": "dates", "s": "dates"}


def test_quoted_cells_may_hold_anything(tmp_path):
    path = file_of(tmp_path, 'a,b\n"x\ny, ""z""",1\n\n"it\'s",2\n5" disk,3\n')
    table = read_table(path)
    assert table.data.to_pydict() == {"a": ['x\ny, "z"', "it's", '5" disk'], "b": [1, 2, 3]}
    assert [table.where(i) for i in range(3)] == ["line 2", "line 5", "line 6"]


def test_columns_of_the_same_name_become_different_and_that_is_said(tmp_path):
    table = read_table(file_of(tmp_path, "x,x,x_2,,x\n1,2,3,4,5\n"))
    assert table.names == ("x", "x_3", "x_2", "c3", "x_4")
    assert any("duplicate column names" in note for note in table.notes)


def test_empty_lines_before_the_header_do_not_shift_it(tmp_path):
    table = read_table(file_of(tmp_path, "\n\na,b\n1,x\n"))
    assert table.data.to_pydict() == {"a": [1], "b": ["x"]}
    assert table.where(0) == "line 4"


def test_very_many_columns_and_very_long_cells(tmp_path):
    wide = ",".join(f"x{i}" for i in range(10_000)) + "\n" + ",".join(["1.5"] * 10_000)
    assert select(read_table(file_of(tmp_path, wide))).X.shape == (1, 10_000)
    long = read_table(file_of(tmp_path, f'a,b\n1,"{"y" * (17 << 20)}"\n2,z\n'))
    assert long.data["a"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"a,b\n", "no rows"),
        (b"a,b\n1,2\n3\n", "line 3: 1 cell found, but the first line has 2 columns"),
        (b'a,b\n"x\ny",2\n\n3,4,5\n', "line 5: 3 cells found, but the first line has 2 columns"),
        (b"a,b\n1,\x002\n", "line 2: there is a NUL byte"),
        (b'a,b\n1,"x\n2,y\n', "line 2: a quote opens here and is never closed"),
        (b"\x1f\x8b\x08", "compressed by gzip, but cannot be decompressed"),
        (b"\x28\xb5\x2f\xfd", "compressed by zstd, which is not supported"),
        (b"PAR1....", "not a parquet file"),
        (b"ARROW1\0\0....", "not a feather file"),
        (b"\x93NUMPY\x01\x00", "not a .npy file"),
        (b"PK\x03\x04....", "not a .npz file"),
    ],
)
def test_a_damaged_file_is_named_with_the_place_of_the_damage(tmp_path, content, words):
    path = file_of(tmp_path, content)
    with pytest.raises(TableError) as caught:
        read_table(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_wrong_encodings_and_delimiters_that_were_given(tmp_path):
    path = file_of(tmp_path, "a,b\n1,é\n".encode("latin-1"))
    with pytest.raises(TableError, match="line 2: this is not utf-8"):
        read_table(path, encoding="utf-8")
    with pytest.raises(
        TableError, match="`encoding` must be the name of a text encoding, got 'utf-99'"
    ):
        read_table(path, encoding="utf-99")
    with pytest.raises(TableError, match="`delimiter` must be a single ASCII character"):
        read_table(path, delimiter=",,")
    with pytest.raises(TableError, match="`delimiter` must be a single ASCII character"):
        read_table(path, delimiter="·")


def reads_or_says_why(path):
    why = str(path)
    try:
        select(read_table(path))
    except TableError as error:
        why = str(error)
    assert str(path) in why


cell_texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@given(
    rows=st.lists(st.lists(cell_texts, min_size=3, max_size=3), min_size=1, max_size=8),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
)
def test_text_that_is_written_is_read_back_cell_by_cell(tmp_path_factory, rows, delimiter):
    data = pa.table([pa.array(column) for column in zip(*rows, strict=True)], names=["a", "b", "c"])
    path = tmp_path_factory.mktemp("t") / "a.csv"
    write_table(data, path, "csv", delimiter=delimiter)
    back = read_table(path, delimiter=delimiter, encoding="utf-8", header=True)
    assert back.text.to_pydict() == data.to_pydict()


@given(st.lists(st.sampled_from(['"', "a", ",", "\n", "\r", ";", " ", "1"]), max_size=30))
def test_no_text_breaks_the_reader(tmp_path_factory, letters):
    path = file_of(tmp_path_factory.mktemp("t"), "".join(letters))
    reads_or_says_why(path)


@given(
    st.binary(max_size=60),
    st.sampled_from(["", "PAR1", "ARROW1", "\x93NUMPY\x01\x00", "PK\x03\x04"]),
)
def test_no_bytes_break_the_reader(tmp_path_factory, content, magic):
    path = file_of(tmp_path_factory.mktemp("t"), magic.encode("latin-1") + content)
    reads_or_says_why(path)


def test_a_stray_quote_in_a_large_file_takes_linear_time():
    body = b'a,b\n1,"x\n' + b"1,2\n" * 200_000
    assert len(list(iter_records(body))) == 2


def test_pieces_of_a_record():
    assert split_record('a,"b,""c""",d', ",") == ["a", 'b,"c"', "d"]
    assert split_record("a,,", ",") == ["a", "", ""]
    assert detect_delimiter(b"a b,c\nd e,f\ng h,i,j\n") == ","  # words, and one line too long
    assert detect_delimiter(b"name,x\nJohn Smith,1\nAnn Lee,2\n") == ","


# --- several files, other formats -----------------------------------------------------------------


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_every_format_gives_back_the_numbers_that_were_written(tmp_path, kind, dtype):
    X = (np.random.default_rng(0).normal(size=(7, 3)) * 100).astype(dtype)
    path = tmp_path / f"a.{kind}"
    write_table(pa.table([X[:, i].copy() for i in range(3)], names=["x", "y", "z"]), path)
    found = select(read_table(path))
    np.testing.assert_array_equal(found.X.astype(dtype), X)
    if kind != "npy":
        assert found.names == ("x", "y", "z")
    if kind not in ("csv", "tsv"):
        assert found.X.dtype == (np.float32 if dtype == np.float32 else np.float64)


def test_doubles_survive_text_to_the_last_bit(tmp_path):
    X = np.random.default_rng(1).normal(size=500) * 10.0 ** np.arange(-250, 250)
    write_table(pa.table({"x": X}), tmp_path / "a.csv")
    np.testing.assert_array_equal(select(read_table(tmp_path / "a.csv")).X[:, 0], X)


def test_folders_and_patterns_are_read_in_order_by_names_of_columns(tmp_path):
    file_of(tmp_path, "a,b\n1,2\n", "p1.csv")
    file_of(tmp_path, "b,a\n20,10\nx,30\n", "p2.csv")
    file_of(tmp_path, "not data", ".hidden.csv")
    for path in (tmp_path, tmp_path / "p*.csv"):
        table = read_table(path, source="file")
        assert table.data["a"].to_pylist() == [1, 10, 30]
        assert table.data["b"].to_pylist() == ["2", "20", "x"]  # one text makes it text
        assert table.data["file"].to_pylist()[1].endswith("p2.csv")
        assert "another order" in " ".join(table.notes)
        assert table.where(2) == f"line 3 of {tmp_path / 'p2.csv'}"


def test_files_that_do_not_fit_together_are_named(tmp_path):
    file_of(tmp_path, "a,b\n1,2\n", "p1.csv")
    file_of(tmp_path, "a,c\n1,2\n", "p2.csv")
    with pytest.raises(TableError, match=r"p2.csv lacks 'b' and has 'c' in addition"):
        read_table(tmp_path)
    file_of(tmp_path, "a\tb\n1\t2\n", "p2.tsv")
    with pytest.raises(TableError, match="several formats"):
        read_table(tmp_path / "*.?sv")
    with pytest.raises(TableError, match="no files"):
        read_table(tmp_path / "*.nothing")


def test_npz_has_x_or_one_array_and_perhaps_names(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "a.npz", data=X, columns=["u", "v"], other=np.arange(3))
    assert select(read_table(tmp_path / "a.npz")).names == ("u", "v")
    np.savez(tmp_path / "b.npz", X=X, Y=X)
    assert read_table(tmp_path / "b.npz").names == ("c0", "c1")
    np.savez(tmp_path / "c.npz", U=X, Y=X)
    with pytest.raises(TableError, match="called X"):
        read_table(tmp_path / "c.npz")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.arange(3.0), "two dimensions"),
        (np.zeros((2, 2), complex), "complex"),
        (np.array([["a", "b"]]), "must hold numbers"),
        (np.zeros((0, 2)), "no rows"),
        (np.zeros((2, 0)), "no columns"),
    ],
)
def test_arrays_that_are_no_tables(tmp_path, array, words):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(TableError, match=words):
        read_table(tmp_path / "a.npy")


def test_arrays_of_objects_are_not_loaded(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(TableError, match="Python objects"):
        read_table(tmp_path / "a.npy")


@pytest.mark.parametrize("kind", ["npy", "npz", "parquet", "feather"])
def test_a_file_cut_anywhere_is_an_error_and_not_a_shorter_table(tmp_path, kind):
    write_table(pa.table({"x": np.arange(50.0), "y": np.arange(50.0)}), tmp_path / f"a.{kind}")
    whole = (tmp_path / f"a.{kind}").read_bytes()
    for cut in range(0, len(whole) - 1, max(1, len(whole) // 40)):
        path = file_of(tmp_path, whole[:cut], f"b.{kind}")
        with pytest.raises(TableError):
            read_table(path)


# --- features -------------------------------------------------------------------------------------


def table_of(**columns):
    return Table(pa.table(columns), "here", "parquet")


def test_only_numbers_are_features_and_the_rest_says_why():
    found = select(
        table_of(
            a=[1, 2],
            b=["x", "y"],
            c=pa.array([1, 2], pa.timestamp("s")),
            d=[[1], [2]],
            e=pa.array([None, None]),
            f=pa.array(["u", "v"]).dictionary_encode(),
            g=pa.array([1, 2], pa.decimal128(5, 2)),
            h=[2**53 + 1, 3],
            i=[2**60, 3],
            j=pa.array([1, 2], pa.time32("s")),
            k=[7, 7],
        )
    )
    assert found.names == ("a", "g", "i", "k")
    assert found.left_out["c"] == "dates"
    assert found.left_out["j"] == "times"
    assert "text" in found.left_out["b"]
    assert "text" in found.left_out["f"]
    assert "list" in found.left_out["d"]
    assert found.left_out["e"] == "no value at all"
    assert "2^53" in found.left_out["h"]
    assert "row 1" in found.left_out["h"]


def test_a_column_that_is_named_must_be_a_feature():
    table = table_of(a=[1, 2], b=["x", "y"])
    with pytest.raises(TableError, match=r"here: column 'b' cannot be a feature: text, as 'x'"):
        select(table, columns=["a", "b"])
    with pytest.raises(TableError, match=r"no column 'aa'. Did you mean 'a'"):
        select(table, columns=["aa"])
    with pytest.raises(TableError, match="no numeric column to cluster"):
        select(table, exclude=["a"])


def test_ids_keep_their_zeros(tmp_path):
    table = read_table(file_of(tmp_path, "id,x\n007,1\n008,2\n"))
    assert select(table, id="id").ids.to_pylist() == ["007", "008"]
    assert select(table, id="id").names == ("x",)


def test_missing_values_are_an_error_or_dropped_or_means():
    table = table_of(a=[1.0, None, 3.0, float("nan")], b=[1.0, 2.0, 3.0, 4.0], w=[1, 5, 3, 1])
    with pytest.raises(
        TableError, match=r"here, row 2, column 'a': .*missing, and so is 1 other value \(2 of 4"
    ):
        select(table)
    dropped = select(table, missing="drop", exclude=["w"])
    assert dropped.X.tolist() == [[1, 1], [3, 3]]
    assert dropped.kept.tolist() == [0, 2]
    filled = select(table, missing="mean", weight="w")
    assert filled.X[:, 0].tolist() == [1, 2.5, 3, 2.5]  # (1·1 + 3·3) / 4
    assert filled.filled == 2
    again = select(table, missing="mean", columns=["a"], fill=np.array([9.0]))
    assert again.X[:, 0].tolist() == [1, 9, 3, 9]
    with pytest.raises(TableError, match="every row has a missing value"):
        select(table_of(a=[None, 1.0], b=[1.0, None]), missing="drop")


def test_infinity_and_wrong_weights_are_errors_that_say_where():
    with pytest.raises(TableError, match=r"here, row 2, column 'a': the value is infinite"):
        select(table_of(a=[1.0, float("-inf")]))
    for values, words in (
        ([1.0, -1.0], "row 2, column 'w': the weight is negative"),
        ([None, 1.0], "row 1, column 'w': the weight is missing"),
        ([0.0, 0.0], "0 in all rows"),
        ([float("inf"), 1.0], "row 1, column 'w': the weight is infinite"),
        (["x", "y"], "cannot be a weight: text"),
    ):
        with pytest.raises(TableError, match=words):
            select(table_of(a=[1, 2], w=values), weight="w")


# --- scaling --------------------------------------------------------------------------------------

matrices = arrays(
    np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.floats(-1e6, 1e6)
)


@given(matrices, st.sampled_from(["none", "standard", "robust"]))
def test_undoing_leads_back(X, kind):
    scaling = Scaling.fit(X, kind)
    np.testing.assert_allclose(scaling.undo(scaling.apply(X)), X, rtol=1e-9, atol=1e-6)


def test_a_tiny_scale_does_not_carry_outliers_out_of_range():
    X = np.array([[0.0]] * 5 + [[5e-324]] * 4 + [[1e6]])
    scaling = Scaling.fit(X, "robust")
    assert np.isfinite(scaling.apply(X)).all()
    np.testing.assert_array_equal(scaling.undo(scaling.apply(X)), X)


@given(matrices, st.data(), st.sampled_from(["standard", "robust"]))
def test_a_weight_of_two_is_a_repeated_row(X, data, kind):
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X))))
    times[0] = max(times[0], 1)
    weighted, repeated = Scaling.fit(X, kind, times), Scaling.fit(X.repeat(times, axis=0), kind)
    np.testing.assert_allclose(weighted.center, repeated.center, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=1e-6, atol=1e-6)


def test_standard_is_that_of_scikit_learn_and_robust_has_the_median():
    from sklearn.preprocessing import StandardScaler

    X = np.random.default_rng(3).normal(size=(101, 3)) * [1, 1e8, 1e-8] + [0, 1e9, 5]
    np.testing.assert_allclose(
        Scaling.fit(X, "standard").apply(X), StandardScaler().fit_transform(X), atol=1e-6
    )
    for rows in (X, X[:100]):
        np.testing.assert_allclose(Scaling.fit(rows, "robust").center, np.median(rows, axis=0))


def test_constant_features_become_zero_and_outliers_do_not_move_a_robust_scale():
    X = np.array([[0.1, 1], [0.1, 2], [0.1, 3], [0.1, 1e300]])
    for kind in ("standard", "robust"):
        scaling = Scaling.fit(X, kind)
        assert scaling.scale[0] == 1
        assert (scaling.apply(X)[:, 0] == 0).all()
        assert np.isfinite(scaling.scale).all()
    for n in range(1, 60):  # shares of some n add up to a little less than 1
        tenths = np.full((n, 1), 0.1)
        assert (Scaling.fit(tenths, "standard").apply(tenths) == 0).all()
    assert Scaling.fit([[0], [4], [1e300]], "standard", [1, 1, 0]).scale[0] == 2
    assert Scaling.fit(X[:, 1:].repeat(2, 0)[:7], "robust").scale[0] < 5


def test_single_precision_stays_single():
    X = np.ones((3, 2), np.float32)
    assert Scaling.fit(X, "standard").apply(X).dtype == np.float32
    with pytest.raises(ValueError, match="`kind` must be one of 'none'"):
        Scaling.fit(X, "other")


@pytest.mark.parametrize(
    ("name", "values", "like"),
    [
        ("n", list(range(5, 25)), True),
        ("customer_id", [7 * i % 101 for i in range(20)], True),
        ("customerId", [7 * i % 101 for i in range(20)], True),
        ("ID", [7 * i % 101 for i in range(20)], True),
        ("CUSTOMER ID", [7 * i % 101 for i in range(20)], True),
        ("id", [1.5 * i for i in range(20)], False),
        ("id", [i % 3 for i in range(20)], False),
        ("paid", [7 * i % 101 for i in range(20)], False),
        ("year", [2000 + i // 2 for i in range(20)], False),
        ("n", [1, 2, 3], False),
    ],
)
def test_columns_that_number_the_rows_are_named(name, values, like):
    table = Table(pa.table({name: values, "x": [0.5] * len(values)}), "t", "csv")
    found = select(table)
    assert found.doubtful == ({name: ("looks like a row number or id", True)} if like else {})
    assert found.names == (name, "x")
    assert select(table, columns=[name]).doubtful == {}
    assert select(table, id=name).doubtful == {}


# --- writing --------------------------------------------------------------------------------------


def test_a_file_that_exists_is_kept_unless_forced(tmp_path):
    path, data = file_of(tmp_path, "old"), pa.table({"x": [1]})
    with pytest.raises(FileExistsError, match="exists"):
        write_table(data, path)
    assert path.read_text() == "old"
    write_table(data, path, force=True)
    assert path.read_text() == "x\n1\n"


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "feather", "npy", "npz"])
def test_packed_files_are_unpacked(tmp_path, kind, packing):
    data = pa.table({"x": [1.5, 2.5], "y": [0.25, 4.0]})
    plain, small = tmp_path / f"a.{kind}", tmp_path / f"a.{kind}.{packing}"
    write_table(data, plain)
    write_table(data, small)
    assert small.read_bytes() != plain.read_bytes()
    found = read_table(small)
    assert found.format == kind
    assert list(found.data.to_pydict().values()) == [[1.5, 2.5], [0.25, 4.0]]
    assert select(read_table(str(tmp_path / f"*.{packing}"))).X.tolist() == [[1.5, 0.25], [2.5, 4]]
    first = small.read_bytes()
    write_table(data, small, force=True)
    assert small.read_bytes() == first
    small.write_bytes(first[:-9])
    with pytest.raises(TableError, match="cannot be decompressed"):
        read_table(small)


def test_a_header_may_begin_as_packed_files_do(tmp_path):
    assert read_table(file_of(tmp_path, "BZh,b\n1,2\n")).names == ("BZh", "b")


def test_an_empty_cell_alone_is_still_a_row(tmp_path):
    write_table(pa.table({"a": ["x", "", "y"]}), tmp_path / "a.csv")
    assert read_table(tmp_path / "a.csv").text["a"].to_pylist() == ["x", "", "y"]


def test_text_does_not_fit_npy_but_npz(tmp_path):
    data = pa.table({"x": [1.5, 2.5], "who": ["a", None]})
    with pytest.raises(TableError, match=r"only numbers, but 'who'"):
        write_table(data, tmp_path / "a.npy")
    assert list(tmp_path.iterdir()) == []
    write_table(data, tmp_path / "a.npz")
    with np.load(io.BytesIO((tmp_path / "a.npz").read_bytes())) as file:
        assert file["X"].tolist() == [[1.5], [2.5]]
        assert file["who"].tolist() == ["a", ""]


def test_letters_that_an_encoding_lacks_are_an_error_that_names_them(tmp_path):
    with pytest.raises(TableError, match="'€' cannot be written in latin-1"):
        write_table(pa.table({"x": ["€"]}), tmp_path / "a.csv", encoding="latin-1")
    assert list(tmp_path.iterdir()) == []

"""The rules for nearly numeric columns, ids, codes, old labels, and types of Arrow."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from helpers.table_files import write_file

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import (  # noqa: E402
    Table,
    TableError,
    read_table,
    select,
)


def test_what_predict_wrote_beside_labels_is_left_out():
    x, clusters = [i * i % 7 for i in range(20)], [i % 3 for i in range(20)]
    distance, stranger = [0.5 + i % 4 for i in range(20)], [i == 7 for i in range(20)]
    columns = {"distance": x, "y": x[::-1], "cluster": clusters}
    columns |= {"distance_2": distance, "stranger": stranger}
    found = select(Table(pa.table(columns), "t", "csv"), by_role=True)
    assert found.names == ("distance", "y")
    assert found.left_out["distance_2"].startswith("labels of an earlier fit")


@pytest.mark.parametrize(
    ("name", "values", "like"),
    [
        ("n", list(range(5, 25)), "a row number"),
        ("n", [5 + 7 * i % 20 for i in range(20)], "a row number"),
        ("customer_id", [7 * i % 101 for i in range(20)], "an id"),
        ("customerId", [7 * i % 101 for i in range(20)], "an id"),
        ("ID", [7 * i % 101 for i in range(20)], "an id"),
        ("CUSTOMER ID", [7 * i % 101 for i in range(20)], "an id"),
        ("region_id", [i % 3 for i in range(20)], "an id"),
        ("invoice_no", [7 * i % 101 for i in range(20)], "an id"),
        ("invoice_no", [i % 5 for i in range(20)], None),
        ("id", [1.5 * i for i in range(20)], None),
        ("customerid", [7 * i % 101 for i in range(20)], "an id"),
        ("userid", [i % 3 for i in range(20)], "an id"),
        ("Kundennummer", [7 * i % 101 for i in range(20)], "an id"),
        ("Numéro", [7 * i % 101 for i in range(20)], "an id"),
        ("Unnamed: 0", [7 * i % 101 for i in range(20)], "a row number"),
        ("c0", [7 * i % 101 for i in range(20)], "a row number"),
        ("Unnamed: 0", [i % 7 for i in range(20)], None),
        ("orders", [i % 7 for i in range(20)], None),
        ("Acid", [7 * i % 101 for i in range(20)], None),
        ("paid", [7 * i % 101 for i in range(20)], None),
        ("built", [2000 + i // 2 for i in range(20)], None),
        ("n", [1, 2, 3], None),
        ("zip", [10115 + 97 * (i % 7) for i in range(20)], "a code"),
        ("Postal Code", [10115 + 97 * (i % 7) for i in range(20)], "a code"),
        ("phoneNumber", [43123456 + 97 * i for i in range(20)], "a code"),
        ("White Blood Cell", [4000 + 97 * (i % 7) for i in range(20)], None),
        ("mobile_minutes", [1000 + 97 * (i % 7) for i in range(20)], None),
        ("zip", [i % 7 for i in range(20)], None),
        ("cluster", [i % 3 for i in range(20)], "labels of an earlier fit"),
        ("labels", [i % 3 for i in range(20)], "labels of an earlier fit"),
    ],
)
def test_columns_that_name_the_rows_are_doubtful_or_left_out(name, values, like):
    table = Table(pa.table({name: values, "x": [0.5] * len(values)}), "t", "csv")
    found = select(table)
    assert {n: role.kind for n, role in found.doubtful.items()} == ({name: like} if like else {})
    assert found.names == (name, "x")
    table = Table(
        pa.table({name: values, "x": [i * i % 7 for i in range(len(values))]}), "t", "csv"
    )
    found = select(table, by_role=True)
    assert found.names == (("x",) if like else (name, "x"))
    assert found.doubtful == {}
    assert select(table, by_role=True, include=[name]).names == (name, "x")
    assert select(table, by_role=True, columns=[name]).names == (name,)
    assert select(table, columns=[name]).doubtful == {}
    assert select(table, id=name).doubtful == {}


def test_columns_without_a_header_are_no_index():
    columns = {"c0": [7 * i % 101 for i in range(20)], "c1": [i * i % 7 for i in range(20)]}
    assert select(Table(pa.table(columns), "t", "csv"), by_role=True).names == ("c0", "c1")


def test_accents_do_not_hide_a_word():
    columns = {"Année": [1990 + i % 7 for i in range(20)], "x": [i * i % 7 for i in range(20)]}
    assert select(Table(pa.table(columns), "t", "csv"), by_role=True).names == ("x",)


def left_out(folder, header, rows):
    found = select(read_table(write_file(folder, "\n".join([header, *rows]) + "\n")))
    return found.left_out, found.nearly


def test_text_among_numbers_is_told_with_its_place(tmp_path):
    rows = [f"{i},{i / 7}" for i in range(600)]
    rows[15] = "15,unknown"
    rows[20] = "20,NA"
    why, nearly = left_out(tmp_path, "n,x", rows)
    assert why == {"x": "598 of 599 values are numbers, but not 'unknown' in line 17"}
    assert nearly == ("x",)


def test_from_nine_tenths_on_text_is_nearly_numbers(tmp_path):
    tenth = [f"{i},1.5" for i in range(9)] + ["9,x"]
    assert left_out(tmp_path, "n,x", tenth)[1] == ("x",)
    why, nearly = left_out(tmp_path, "n,x", tenth[1:])
    assert why == {"x": "text, as 'x' in line 10"}
    assert nearly == ()


@pytest.mark.parametrize(
    ("cells", "other"),
    [
        (["1.234,5", "1,234.5", "7"], "1,234.5"),
        (["12 %", "0", "0.5"], "0.5"),
        (["$5", "7", "€ 6"], "€ 6"),
        (["1,5", "2", "3 000,5", "4.000"], "4.000"),
    ],
)
def test_numbers_of_two_styles_are_nearly_numbers(tmp_path, cells, other):
    rows = [f"{i}\t{cell}" for i, cell in enumerate(cells)]
    why, nearly = left_out(tmp_path, "n\tx", rows)
    place = f"{other!r} in line {2 + cells.index(other)}"
    assert why == {
        "x": f"its numbers are written in several ways: {place} is unlike those above it"
    }
    assert nearly == ("x",)


def test_numbers_of_a_type_for_text_are_called_that():
    table = Table(pa.table({"a": ["1", "2.5"], "b": [1, 2]}), "here", "parquet")
    assert select(table).left_out == {"a": "numbers stored as text"}
    assert select(table).nearly == ("a",)
    with pytest.raises(TableError, match="cannot be a feature: numbers stored as text"):
        select(table, columns=["a"])


def test_places_are_looked_for_once_for_all_columns(tmp_path, monkeypatch):
    """With a quote in the file, lines and rows differ, so they must be counted."""
    from partita.tables import text_records

    seen = []

    def counted(*args):
        for record in true(*args):
            seen.append(record)
            yield record

    true = text_records.iter_records
    monkeypatch.setattr(text_records, "iter_records", counted)
    rows = ["," * 49 + '"1"'] * 200 + ["x," * 49 + "1"]
    table = read_table(
        write_file(tmp_path, "\n".join([",".join(f"a{i}" for i in range(50)), *rows]))
    )
    why = select(table).left_out
    assert set(why.values()) == {"text, as 'x' in line 202"}
    assert len(seen) <= 2 * 202


def test_leading_zeros_are_like_a_code(tmp_path):
    text = "zip,x,half,month\n01003,0,0.5,1\n 10115,10,00.5,2\n"
    found = select(read_table(write_file(tmp_path, text)))
    assert found.doubtful == {"zip": ("a code", "integers with leading zeros")}
    assert found.names == ("zip", "x", "half", "month")


@pytest.mark.parametrize("name", ["cluster", "cluster_2", "cluster_13"])
def test_labels_of_an_earlier_fit_are_doubtful(name):
    labels = pa.array([0, 1, None, -1])
    table = Table(pa.table({name: labels, "x": [0.5] * 4}), "t", "csv")
    found = select(table, missing="drop")
    assert found.doubtful == {name: ("labels of an earlier fit", "by its name")}
    assert select(table, columns=[name], missing="drop").doubtful == {}


@pytest.mark.parametrize("name", ["clustering", "Cluster size", "my_cluster", "cluster_x"])
def test_other_names_are_not(name):
    assert select(Table(pa.table({name: [1, 0, 1]}), "t", "csv")).doubtful == {}
    halves = Table(pa.table({"cluster": [0.5, 1.0]}), "t", "csv")
    assert select(halves).doubtful == {}


def test_dictionaries_and_views_are_read_by_their_values(tmp_path):
    from pyarrow import feather

    columns = {
        "n": pa.array([5, 7, None, None]).dictionary_encode(),
        "r": pa.array([0.5, 0.5, 2.0, 2.0]),
        "t": pa.array(["u", "v", None, "u"]).dictionary_encode(),
        "s": pa.array(["x", "y", "z", "z"]),
    }
    if hasattr(pa, "string_view"):
        columns["s"] = columns["s"].cast(pa.string_view())
    feather.write_feather(pa.table(columns), tmp_path / "a.feather")
    table = read_table(tmp_path / "a.feather")
    found = select(table, missing="mean")
    assert found.X.T.tolist() == [[5, 7, 6, 6], [0.5, 0.5, 2, 2]]
    assert found.left_out == {"t": "text, as 'u' in row 1", "s": "text, as 'x' in row 1"}
    assert table.data["t"].to_pylist() == ["u", "v", None, "u"]
    assert {str(kind) for kind in table.data.schema.types} <= {
        "int64",
        "double",
        "string",
        "large_string",
    }


def test_runs_are_read_by_their_values():
    runs = pa.compute.run_end_encode(pa.chunked_array([pa.array([1, 1, 2])]))
    assert select(Table(pa.table({"r": runs}), "t", "feather")).X.tolist() == [[1], [1], [2]]


@pytest.mark.skipif(not hasattr(pa, "string_view"), reason="pyarrow does not know views of text")
def test_categories_of_polars_are_text(tmp_path):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"c": ["a", "b", "a"], "x": [1.0, 2.0, 3.0], "s": ["u", "v", "w"]})
    frame.with_columns(pl.col("c").cast(pl.Categorical)).write_ipc(tmp_path / "a.arrow")
    found = select(read_table(tmp_path / "a.arrow"))
    assert found.names == ("x",)
    assert found.left_out == {"c": "text, as 'a' in row 1", "s": "text, as 'u' in row 1"}


def test_the_index_of_pandas_is_no_feature_but_stays(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [0.5, 1.5, 2.5]}, index=[7, 3, 5])
    frame.to_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert table.data["__index_level_0__"].to_pylist() == [7, 3, 5]
    assert select(table).left_out == {"__index_level_0__": "the index of a pandas frame"}
    frame.rename_axis("year").to_parquet(tmp_path / "b.parquet")
    table = read_table(tmp_path / "b.parquet")
    assert select(table).names == ("x",)
    assert select(table).left_out == {"year": "the index of a pandas frame"}
    assert select(table, columns=["year"]).names == ("year",)  # if it is asked for
    assert select(table, id="year").left_out == {}
    assert select(table.renamed(("x", "when"))).left_out == {"when": "the index of a pandas frame"}
    frame.reset_index(drop=True).to_parquet(tmp_path / "c.parquet")
    assert select(read_table(tmp_path / "c.parquet")).left_out == {}


@pytest.mark.parametrize("said", [b"{", b"[]", b"{}", json.dumps({"index_columns": None}).encode()])
def test_what_is_said_of_an_index_may_be_nonsense(tmp_path, said):
    from pyarrow import parquet

    data = pa.table({"x": [1, 2]}).replace_schema_metadata({b"pandas": said})
    parquet.write_table(data, tmp_path / "a.parquet")
    assert select(read_table(tmp_path / "a.parquet")).names == ("x",)


def test_decimals_without_a_fraction_are_whole_numbers():
    long = pa.array([Decimal(2**53 + 1), Decimal(2)], pa.decimal128(30, 0))
    found = select(Table(pa.table({"d": long, "x": [1, 2]}), "t", "parquet"))
    assert "2^53, as in row 1" in found.left_out["d"]

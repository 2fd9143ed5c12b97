"""`select`: which columns are features, and what happens to missing values."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.table_files import table_of, write_file

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita._common.errors import Setting  # noqa: E402
from partita.tables import (  # noqa: E402
    Table,
    TableError,
    read_table,
    select,
)


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


def test_texts_among_numbers_may_be_called_missing(tmp_path):
    rows = "".join(f"<0.5,{i}\n" if i == 7 else f"{i / 7},{i % 3}\n" for i in range(20))
    table = read_table(write_file(tmp_path, "x,n\n" + rows))
    assert select(table).texts_of_nearly == {"x": "<0.5"}
    with pytest.raises(TableError, match="no numeric column") as caught:
        select(table, id="n")
    assert caught.value.settings == (Setting("na", "<0.5"),)
    assert caught.value.worded(Setting.as_option).endswith("say so (--na '<0.5').")


def test_too_many_excluded_columns_are_told_so():
    with pytest.raises(TableError, match=r"'a' \(excluded\). Exclude fewer columns."):
        select(table_of(a=[1, 2]), exclude=["a"])


def test_columns_are_included_beside_named_ones():
    table = table_of(a=[1, 2], b=[3, 4], zip=[1000, 2000], when=["2024-05-01", "2024-05-03"])
    found = select(table, columns=["b"], include=["when"], by_role=True)
    assert found.names == ("b", "when")
    assert set(found.left_out) == {"a", "zip"}
    with pytest.raises(TableError, match="must name different columns, got 'a' in both"):
        select(table, include=["a"], exclude=["a", "b"])


def test_markers_of_missing_dates_are_those_of_the_file(tmp_path):
    path = write_file(tmp_path, "x,day\n1,2024-05-01\n2,0000-00-00\n3,2024-05-03\n")
    found = select(read_table(path, na="0000-00-00"), include=["day"], missing="mean")
    assert found.gaps == {"day": 1}


def test_ids_keep_their_zeros(tmp_path):
    table = read_table(write_file(tmp_path, "id,x\n007,1\n008,2\n"))
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


@pytest.mark.parametrize("empty", [pa.nulls(2), pa.array([None, None], pa.string())])
def test_a_named_column_may_be_empty_if_something_stands_in(empty):
    table = Table(pa.table({"a": pa.array([1, 2], pa.float32()), "b": empty}), "t", "csv")
    found = select(table, columns=["a", "b"], missing="mean", fill=np.array([7.0, 9.0]))
    assert found.X.tolist() == [[1, 9], [2, 9]]
    assert found.X.dtype == np.float32
    assert found.filled == 2
    alone = select(table, columns=["b"], missing="mean", fill=np.array([0.1]))
    assert alone.X.tolist() == [[0.1], [0.1]]
    with pytest.raises(TableError, match="every row has a missing value"):
        select(table, columns=["a", "b"], missing="drop")
    for missing in ("mean", "error"):
        with pytest.raises(TableError, match="'b' cannot be a feature: no value at all"):
            select(table, columns=["a", "b"], missing=missing)
    assert select(table).left_out == {"b": "no value at all"}
    assert select(table, missing="drop").names == ("a",)


def test_errors_carry_the_settings_that_help():
    table = table_of(**{"{a}": [1.0, None], "b": [1.0, 2.0]})
    with pytest.raises(TableError, match=r"row 2, column '\{a\}': the value is missing") as caught:
        select(table)
    assert caught.value.settings == (Setting("missing", "drop"), Setting("missing", "mean"))
    assert "missing='drop'" in str(caught.value)
    assert "--missing drop" in caught.value.worded(Setting.as_option)
    with pytest.raises(TableError) as caught:
        select(table, ways=("drop",))
    assert caught.value.settings == (Setting("missing", "drop"),)
    with pytest.raises(TableError, match="`missing` must be one of 'error'") as caught:
        select(table, missing="guess")
    assert caught.value.parameter == "missing"


def test_a_value_of_several_files_is_located_in_its_own(tmp_path):
    write_file(tmp_path, "a,b\n1,2\n", "p1.csv")
    second = write_file(tmp_path, "a,b\n\n3,inf\n", "p2.csv")
    with pytest.raises(TableError, match=r"p2\.csv, line 3, column 'b': .*infinite") as caught:
        select(read_table(tmp_path))
    assert str(caught.value).startswith(str(second))

"""JSON: arrays of objects and lines of objects are tables; anything else is named."""

from __future__ import annotations

import json

import pytest
from helpers.table_files import read_columns, write_file
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import TableError, read_table, select, write_table  # noqa: E402

OBJECTS = [{"who": "ann", "x": 1, "y": 0.5}, {"who": "bob", "x": 2, "y": None}]


def dump_lines(objects):
    return "".join(json.dumps(row) + "\n" for row in objects)


@pytest.mark.parametrize(
    ("content", "name", "kind"),
    [
        (dump_lines(OBJECTS), "a.jsonl", "jsonl"),
        (dump_lines(OBJECTS).replace("\n", "\r\n\r\n"), "a.ndjson", "jsonl"),
        (dump_lines(OBJECTS), "a.json", "jsonl"),
        (json.dumps(OBJECTS, indent=2), "a.json", "json"),
        ("\ufeff" + json.dumps(OBJECTS), "a.jsonl", "json"),
    ],
)
def test_objects_are_rows(tmp_path, content, name, kind):
    table = read_table(write_file(tmp_path, content, name))
    assert table.data.to_pydict() == {"who": ["ann", "bob"], "x": [1, 2], "y": [0.5, None]}
    assert table.format == kind


def test_objects_may_come_from_standard_input(monkeypatch):
    import io
    import sys
    from types import SimpleNamespace

    raw = io.BytesIO(dump_lines(OBJECTS).encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=raw))
    assert read_table("-").names == ("who", "x", "y")


def test_keys_may_differ_and_values_may_be_nested_or_mixed(tmp_path):
    rows = [
        {"a": 1, "tags": ["u", "v"], "share": "12 %", "mixed": 1, "big": 2**70 + 1},
        {"a": True, "at": {"x": 1}, "share": "3 %", "mixed": "x", "flag": True},
        {"a": 2.5, "share": None, "mixed": [1]},
    ]
    table = read_table(write_file(tmp_path, dump_lines(rows), "a.jsonl"))
    found = select(table, missing="mean")
    assert found.names == ("share", "flag")
    assert found.left_out["tags"] == 'text, as \'["u", "v"]\' in line 1'
    assert "nested values: tags, mixed, at" in table.notes
    assert table.data["share"].to_pylist() == [12, 3, None]


def test_copies_keep_types_and_nesting(tmp_path):
    rows = [{"a": 1, "t": ["u"], "s": "12 %"}, {"a": 2, "t": [], "s": "3 %"}]
    table = read_table(write_file(tmp_path, dump_lines(rows), "a.jsonl"))
    write_table(table.copy_as("jsonl"), tmp_path / "b.jsonl", **table.layout("jsonl"))
    assert (tmp_path / "b.jsonl").read_text() == dump_lines(rows)
    write_table(table.copy_as("json"), tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text()) == rows
    write_table(pa.table({"x": []}), tmp_path / "c.json")
    assert json.loads((tmp_path / "c.json").read_text()) == []


@pytest.mark.parametrize("kind", ["json", "jsonl"])
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "n": st.integers(-(2**60), 2**60),
                "x": st.floats(allow_nan=False, allow_infinity=False),
                "s": st.text(st.characters(codec="utf-8")).map(lambda text: f"_{text}"),
            }
        ),
        min_size=1,
        max_size=5,
    )
)
def test_what_is_written_is_read(tmp_path_factory, kind, rows):
    path = tmp_path_factory.mktemp("t") / f"a.{kind}"
    write_table(pa.Table.from_pylist(rows), path)
    assert [{**row, "x": float(row["x"])} for row in read_table(path).kept.to_pylist()] == rows


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"a": 1}\n[2]\n', "line 2: there is no object"),
        ('{"a": 1}\nx\n', "line 2: this is not JSON"),
        ('{"a": 1', "line 1: this is not JSON"),
        ("[1, 2]", "row 1: there is no object"),
        ("[]", "has no objects"),
        ("5", "line 1: there is no object"),
        ("", "has no objects"),
        ("[" * 100_000, "nested too deep"),
        ('{"a": ' * 100_000, "nested too deep"),
        ('{"a": ' + "9" * 5000 + "}", "this is not JSON"),
        ('{\n"a": [1, 2]\n}', "must be an array of objects, or have one object per line"),
    ],
)
def test_other_json_is_an_error_with_its_place(tmp_path, content, words):
    path = write_file(tmp_path, content, "a.json")
    with pytest.raises(TableError, match=words) as caught:
        read_table(path)
    assert str(path) in str(caught.value)


def test_objects_without_common_keys_are_no_table(tmp_path):
    path = write_file(tmp_path, dump_lines({f"k{i}": i} for i in range(5000)), "a.jsonl")
    with pytest.raises(TableError, match="5000 objects with 5000 different keys"):
        read_table(path)


def test_a_text_file_with_a_brace_is_text(tmp_path):
    assert read_columns(write_file(tmp_path, '{"a",b\n1,2\n')).keys() == {'{"a"', "b"}

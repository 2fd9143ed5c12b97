"""Names of groups on the command line: given, kept, written beside labels, changed."""

from __future__ import annotations

import csv
import io
import json
import shlex

import numpy as np
import pytest
from helpers.cli import pa
from helpers.damaged_models import members
from helpers.workbooks import workbook
from hypothesis import given
from hypothesis import strategies as st

from partita import KMeans, save
from partita._common.text import one_line
from partita.cli.group_names import read_names
from partita.model_file import read_header, read_model
from partita.tables import read_table, write_table

NAMES = ["Young, loyal", 'a = "b"', "שלום"]
TYPED = '0="Young, loyal",1="a = ""b""",2=שלום'


@pytest.fixture
def model(partita, file, tmp_path):
    """A model whose groups have names."""
    path = tmp_path / "m.partita"
    partita("fit", file, "-k", 3, "--model", path, "--names", TYPED, "-q")
    return path


@pytest.fixture
def nameless(file, tmp_path, blobs):
    """A model that Python has saved, without names of groups."""
    path = tmp_path / "my model.partita"
    model = KMeans(3, random_state=0).fit(blobs)
    return save(model, path, names=["x", "y", "z"], fitted_to=blobs) or path


def typed(names):
    """Return names as a user types them, all in quotes."""
    return ",".join(f'{j}="{name.replace(chr(34), chr(34) * 2)}"' for j, name in names.items())


# --- the option -----------------------------------------------------------------------------------


@given(
    st.dictionaries(
        st.integers(0, 99), st.text(max_size=30).filter(one_line), min_size=1, max_size=4
    )
)
def test_names_in_quotes_are_read_as_they_are(names):
    lines = {number: one_line(name) for number, name in names.items()}
    if len(set(lines.values())) == len(lines):
        assert read_names([typed(names)]) == lines


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("0=a", {0: "a"}),
        (" 0 = a b , 12 = c ", {0: "a b", 12: "c"}),
        ("0=a=b,1==", {0: "a=b", 1: "="}),
        ("0=5\" screen,1=it's", {0: '5" screen', 1: "it's"}),
        ("0=one\ntwo\x1b[31m", {0: "one two [31m"}),
        ("0=a,", {0: "a"}),
    ],
)
def test_names_without_quotes_end_at_a_comma(text, names):
    assert read_names([text]) == names


def test_the_option_may_be_repeated():
    assert read_names(["0=a", "2=c,1=b"]) == {0: "a", 1: "b", 2: "c"}
    assert read_names(None) == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Loyal", "--names must be like 0=Occasional,1=Loyal, or a file, got 'Loyal', which is"),
        ("no/such/file.csv", "which is not a file"),
        ("", "got an empty text"),
        ("0=Young, loyal", "got 'loyal' without '='. Put a name with a comma in quotes"),
        ("0=a,b=c", "the number of a group before '=', got 'b'"),
        ("-1=a", "the number of a group before '=', got '-1'"),
        ("0=", "must be a text for group 0, got an empty one"),
        ('0=""', "must be a text for group 0, got an empty one"),
        ("0=a,0=b", "--names must name a group once, got 'a' and 'b' for 0"),
        ("0=a,1=a", "--names must be distinct, got 'a' for groups 0 and 1"),
        ('0="a', "--names must end a name with its quote"),
        ("0=" + "a" * 10_000, "at most 200 characters for group 0, got 10000 characters"),
        ("3=a", "--names must name groups 0 to 2, got 3"),
        ("999999999=a", "--names must name groups 0 to 2, got 999999999"),
    ],
)
def test_wrong_names_end_the_command_before_the_work(fails, tmp_path, text, fault):
    code, said = fails("fit", tmp_path / "none.csv", "-k", 3, "--names", text)
    assert code == 2
    assert fault in said
    assert len(said) < 300


def test_numbers_beyond_a_range_are_refused_before_the_work(fails, tmp_path):
    code, said = fails("fit", tmp_path / "none.csv", "-k", "2:4", "--names", "4=a")
    assert code == 2
    assert "--names must name groups 0 to 3, got 4" in said


def test_names_that_the_chosen_k_cannot_use_lose_no_fit(capsys, file, tmp_path, partita):
    model = tmp_path / "m.partita"
    words = ("fit", file, "-k", "2:5", "--names", "0=a,4=b", "--model", model, "--json")
    result = json.loads(partita(*words))
    k = result["summary"]["n_clusters"]
    assert k < 5
    names = read_header(model)["group_names"]
    assert names == [group["name"] for group in result["summary"]["clusters"]]
    assert names[0] == "a"
    assert "b" not in names
    assert all(names)
    assert f"--names names 4, but the groups are 0 to {k - 1}" in result["warnings"]


# --- files of names -------------------------------------------------------------------------------

ROWS = [[0, "Young, loyal"], [2, "café"]]


def written(path, rows, delimiter=",", encoding="utf-8"):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    path.write_bytes(text.getvalue().encode(encoding))
    return path


@pytest.mark.parametrize("header", [[], [["group", "name"]]], ids=len)
@pytest.mark.parametrize(
    ("name", "layout"),
    [("a.csv", {}), ("a.csv", {"delimiter": ";"}), ("a.tsv", {"delimiter": "\t"}),
     ("a.csv", {"encoding": "utf-8-sig"}), ("a.csv", {"encoding": "cp1252"})],
)  # fmt: skip
def test_names_come_from_a_file_with_or_without_header(tmp_path, header, name, layout):
    path = written(tmp_path / name, [*header, *ROWS], **layout)
    assert read_names([str(path)]) == dict(ROWS)


def test_names_come_from_workbooks_and_binary_files(tmp_path):
    sheets = tmp_path / "a.xlsx", tmp_path / "b.xlsx"
    sheets[0].write_bytes(workbook({"names": ROWS}))
    sheets[1].write_bytes(workbook({"names": [["number", "name"], *ROWS]}))
    numbers, names = zip(*ROWS, strict=True)
    others = tmp_path / "a.parquet", tmp_path / "a.json", tmp_path / "a.feather"
    for path in others:
        write_table(pa.table({"number": numbers, "name": names}), path)
    for path in (*sheets, *others):
        assert read_names([str(path)]) == dict(ROWS), path.name


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("0,a,b\n1,c,d\n", "must have two columns, the numbers of groups and their names, got 3"),
        ("0\n1\n", "must have two columns, the numbers of groups and their names, got 1"),
        ("0,a\nx,b\n", "line 2 must begin with a number, got 'x'"),
        ("0,a\n0,b\n", "--names must name a group once, got 'a' and 'b' for 0"),
        ("0,a\n1,\n", "--names must be a text for group 1, got an empty one"),
        ("number,name\n", "has only a header"),
        ("", "is empty"),
    ],
)
def test_wrong_files_of_names_are_refused(fails, tmp_path, text, fault):
    path = tmp_path / "names.csv"
    path.write_text(text)
    code, said = fails("fit", tmp_path / "none.csv", "--names", path)
    assert code in (2, 3)
    assert fault in said


# --- the model and the labels ---------------------------------------------------------------------


def test_the_model_keeps_the_names(partita, model):
    assert read_header(model)["group_names"] == NAMES
    shown = partita("inspect", model)
    assert "group 0  Young, loyal" in shown
    assert "\u2068שלום\u2069" in shown  # it turns no numbers around
    assert json.loads(partita("inspect", model, "--json"))["group_names"] == NAMES


def test_groups_without_a_given_name_get_one_that_all_commands_show(partita, file, tmp_path):
    path = tmp_path / "m.partita"
    words = ("fit", file, "-k", 3, "--names", "1=Given", "--model", path, "--json")
    names = [group["name"] for group in json.loads(partita(*words))["summary"]["clusters"]]
    assert names[1] == "Given"
    assert len(set(names)) == 3
    assert all(names)
    assert json.loads(partita("inspect", path, "--json"))["group_names"] == names
    assert json.loads(partita("predict", file, "--model", path, "--json"))["group_names"] == names


def test_a_model_without_names_has_none(partita, file, nameless):
    assert json.loads(partita("inspect", nameless, "--json"))["group_names"] is None
    words = ("predict", file, "--model", nameless, "--json")
    assert json.loads(partita(*words))["group_names"] is None


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "jsonl", "parquet", "feather", "csv.gz"])
def test_names_are_written_beside_the_labels(partita, file, model, tmp_path, suffix):
    out = tmp_path / f"out.{suffix}"
    partita("predict", file, "--model", model, "--with-names", "--labels", out)
    data = read_table(out).data
    assert data.column_names == ["who", "x", "y", "z", "cluster", "group"]
    assert data["cluster"].to_pylist() == read_model(model).labels_.tolist()
    assert data["group"].to_pylist() == [NAMES[j] for j in data["cluster"].to_pylist()]


def test_fit_writes_the_names_that_predict_does(partita, file, model, tmp_path):
    out = tmp_path / "out.csv"
    words = ("-k", 3, "--names", TYPED, "--with-names", "--labels", out, "-q")
    partita("fit", file, *words)
    assert partita("predict", file, "--model", model, "--with-names", "-q") == out.read_text()


def test_names_are_written_with_only_labels_and_distances(partita, file, model):
    words = ("predict", file, "--model", model, "--with-names", "--only-labels", "--id", "who")
    lines = list(csv.reader(partita(*words, "--distance").splitlines()))
    assert lines[0] == ["who", "cluster", "group", "distance", "stranger"]
    assert {tuple(line[1:3]) for line in lines[1:]} == {(str(j), n) for j, n in enumerate(NAMES)}


def test_a_row_without_a_cluster_has_no_name(partita, file, model, tmp_path):
    gaps = tmp_path / "gaps.csv"
    gaps.write_text(file.read_text() + "lost,,,\n")
    text = partita("predict", gaps, "--model", model, "--with-names", "-q")
    assert text.splitlines()[-1] == "lost,,,,-1,"
    out = tmp_path / "out.parquet"
    partita("predict", gaps, "--model", model, "--with-names", "-o", out, "-q")
    assert read_table(out).data["group"].to_pylist()[-1] is None


def test_the_column_of_names_takes_the_place_of_no_other(partita, file, model, tmp_path):
    other = tmp_path / "other.csv"
    lines = file.read_text().splitlines()
    other.write_text("\n".join([f"{lines[0]},group", *(f"{line},mine" for line in lines[1:])]))
    head, first, *_ = partita("predict", other, "--model", model, "--with-names").splitlines()
    assert head == "who,x,y,z,group,cluster,group_2"
    assert ",mine," in first


def test_a_group_without_a_name_is_called_by_its_number(partita, file, tmp_path):
    out = tmp_path / "out.csv"
    partita("fit", file, "-k", 3, "--names", "1=Loyal", "--with-names", "-o", out, "-q")
    data = read_table(out).data
    pairs = set(zip(data["cluster"].to_pylist(), data["group"].to_pylist(), strict=True))
    assert (1, "Loyal") in pairs
    assert len(pairs) == 3


def test_a_model_without_names_says_how_to_get_them(fails, partita, file, nameless):
    path = nameless
    code, said = fails("predict", file, "--model", path, "--with-names")
    assert code == 2
    advice = said.partition("Name them first: ")[2].partition(" Try ")[0]
    assert "group 0  Occasional" in partita(*shlex.split(advice)[1:])
    assert ",Occasional" in partita("predict", file, "--model", path, "--with-names", "-q")


def test_names_need_labels_in_a_format_that_holds_text(fails, file, tmp_path):
    assert "--with-names needs --labels OUT" in fails("fit", file, "-k", 3, "--with-names")[1]
    words = ("--with-names", "--labels", tmp_path / "o.npy")
    assert "needs a format that holds text" in fails("fit", file, "-k", 3, *words)[1]


def test_json_has_the_names(partita, file, model):
    result = json.loads(partita("predict", file, "--model", model, "--json"))
    assert result["group_names"] == NAMES


def test_rows_of_zeros_apart_have_no_name(partita, tmp_path):
    rows = np.vstack([np.eye(3).repeat(5, axis=0), np.zeros((1, 3))])
    write_table(pa.table(dict(zip("abc", rows.T, strict=True))), tmp_path / "a.csv")
    words = ("--method", "spherical", "--zero-rows", "separate", "--names", "0=x,1=y,2=z")
    out = partita("fit", tmp_path / "a.csv", "-k", 3, *words, "--with-names", "-o", "-", "-q")
    assert out.splitlines()[-1].endswith(",3,")


# --- partita name ---------------------------------------------------------------------------------


def test_names_are_changed_in_place_and_nothing_else(partita, model):
    before = members(model.read_bytes())
    shown = partita("name", model, "--names", "1=Loyal")
    after = members(model.read_bytes())
    headers = [json.loads(parts.pop("header.json")) for parts in (before, after)]
    names = [header.pop("group_names") for header in headers]
    assert names == [NAMES, [NAMES[0], "Loyal", NAMES[2]]]
    assert headers[0] == headers[1]
    assert before == after
    assert "group 1  Loyal" in shown
    assert partita("name", model) == shown


def test_names_are_written_to_another_file(partita, fails, model, tmp_path):
    other, before = tmp_path / "other.partita", model.read_bytes()
    words = ("name", model, "--names", "1=Loyal", "--out", other)
    partita(*words)
    assert model.read_bytes() == before
    assert read_header(other)["group_names"][1] == "Loyal"
    code, said = fails(*words)
    assert code == 2
    assert "already exists" in said
    partita(*words, "--force")
    assert "--out must be a file" in fails("name", model, "--names", "1=a", "--out", "-")[1]
    assert "--out needs --names" in fails("name", model, "--out", other)[1]


def test_wrong_names_leave_the_model_as_it_is(fails, model, tmp_path):
    before = model.read_bytes()
    for text, fault in (
        ("3=a", "--names must name groups 0 to 2, got 3"),
        ("1=שלום", "--names must be distinct, got 'שלום' for groups 1 and 2"),
    ):
        code, said = fails("name", model, "--names", text)
        assert (code, fault in said) == (2, True)
    assert model.read_bytes() == before
    (tmp_path / "a.csv").write_text("x\n1\n")
    assert "is not a model file" in fails("name", tmp_path / "a.csv")[1]


def test_many_groups_do_not_fill_the_screen(partita, tmp_path):
    rows = np.random.default_rng(0).random((300, 2))
    write_table(pa.table({"a": rows[:, 0], "b": rows[:, 1]}), tmp_path / "a.csv")
    model = tmp_path / "m.partita"
    partita("fit", tmp_path / "a.csv", "-k", 60, "--model", model, "--names", "59=last", "-q")
    lines = partita("name", model).splitlines()
    assert lines[-1] == "(and 10 more groups: see inspect --json)"

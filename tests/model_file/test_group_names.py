"""Names of groups are kept with the model, checked, and changed without changing anything else."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.damaged_models import changed, members, put, refused, zipped
from helpers.saved_models import CASES, FRAME, ROWS, fitted
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from partita import KMeans, MiniBatchKMeans, load, save
from partita._common.errors import ParameterError
from partita._common.text import one_line
from partita.estimators.fitted_models import count_clusters
from partita.model_file import ModelFileError, read_header, read_model
from partita.model_file.contents import read_contents
from partita.model_file.group_naming import MAX_NAME_CHARACTERS, check_group_names
from partita.model_file.loading import read_labeller
from partita.model_file.renaming import write_group_names
from partita.tables.scaling import Scaling

NAMES = ("Young, loyal", "שלום 3", '👨\u200d👩\u200d👧 = "family"')


@pytest.fixture
def model():
    return KMeans(3, random_state=0).fit(ROWS)


@pytest.fixture
def path(tmp_path, model):
    """A file whose groups have names, with everything that a file can hold."""
    scaling = Scaling.fit(ROWS, "standard")
    save(
        model, tmp_path / "a.partita", scaling=scaling, fill=np.zeros(3), names=("a", "b", "c"),
        plan={"missing": "auto"}, note="a note", fingerprint="f", fitted_to=ROWS,
        group_names=NAMES,
    )  # fmt: skip
    return tmp_path / "a.partita"


@pytest.mark.parametrize("case", list(CASES))
def test_every_member_keeps_names(case, tmp_path):
    model, path = fitted(case), tmp_path / "a.partita"
    names = tuple(f"group {j}!" for j in range(count_clusters(model)))
    save(model, path, group_names=names)
    assert load(path).saved_.group_names == names
    assert read_labeller(path).saved_.group_names == names
    assert read_contents(path).saved.group_names == names


def test_a_file_without_names_has_none(tmp_path, model):
    save(model, tmp_path / "a.partita")
    assert load(tmp_path / "a.partita").saved_.group_names is None
    parts = members((tmp_path / "a.partita").read_bytes())
    header = json.loads(parts["header.json"])
    del header["group_names"]  # as earlier versions write it
    parts["header.json"] = json.dumps(header).encode()
    (tmp_path / "a.partita").write_bytes(zipped(parts))
    saved = load(tmp_path / "a.partita").saved_
    assert saved.group_names is None
    assert "group_names" not in saved.extra


def test_names_are_not_among_the_unknown_fields(path):
    assert load(path).saved_.extra == {}


def test_a_loaded_model_keeps_its_names_until_it_is_fitted(path, tmp_path):
    other = tmp_path / "b.partita"
    save(load(path), other)
    assert load(other).saved_.group_names == NAMES
    save(load(path), other, group_names={1: "Loyal"}, force=True)
    assert load(other).saved_.group_names == (NAMES[0], "Loyal", NAMES[2])
    save(load(path), other, group_names=[None, "x", None], force=True)
    assert load(other).saved_.group_names == (None, "x", None)
    save(load(path), other, group_names=[None] * 3, force=True)
    assert load(other).saved_.group_names is None
    save(read_model(path).fit(ROWS), other, force=True)
    assert load(other).saved_.group_names is None


def test_pipelines_keep_names(tmp_path):
    pipeline = make_pipeline(StandardScaler(), KMeans(3, random_state=0)).fit(FRAME)
    save(pipeline, tmp_path / "a.partita", group_names=NAMES)
    assert load(tmp_path / "a.partita").saved_.group_names == NAMES
    save(load(tmp_path / "a.partita"), tmp_path / "b.partita")
    assert load(tmp_path / "b.partita").saved_.group_names == NAMES


def test_the_groups_of_a_stream_that_goes_on_keep_their_names(tmp_path):
    model = MiniBatchKMeans(3, random_state=0).partial_fit(ROWS)
    save(model, tmp_path / "a.partita", group_names=NAMES)
    again = load(tmp_path / "a.partita").partial_fit(ROWS)
    save(again, tmp_path / "b.partita")
    assert load(tmp_path / "b.partita").saved_.group_names == NAMES


@pytest.mark.parametrize(
    ("names", "fault"),
    [
        (["a", "b"], "a sequence of 3 names, one for each group, got 2 items"),
        ("abc", "a sequence of 3 names"),
        (3, "a sequence of 3 names"),
        (["a", "b", "a"], "be distinct, got 'a' for groups 0 and 2"),
        (["a", "b", "\n"], "a text for group 2, got an empty one"),
        (["a", "b", 3], "a text for group 2, got 3"),
        (["a", "b" * 201, None], "at most 200 characters for group 1, got 201 characters"),
        ({3: "a"}, "name groups 0 to 2, got 3"),
        ({-1: "a"}, "name groups 0 to 2, got -1"),
        ({"0": "a"}, "name groups 0 to 2, got '0'"),
        ({True: "a"}, "name groups 0 to 2, got True"),
    ],
)
def test_wrong_names_are_refused(names, fault, model, tmp_path):
    with pytest.raises(ParameterError) as caught:
        save(model, tmp_path / "a.partita", group_names=names)
    assert str(caught.value).startswith("`group_names` must ")
    assert fault in str(caught.value)
    assert not (tmp_path / "a.partita").exists()


def test_one_group_alone_is_named_as_such(tmp_path):
    with pytest.raises(ParameterError, match="name group 0, the only one, got 1"):
        save(KMeans(1).fit(ROWS), tmp_path / "a.partita", group_names={1: "a"})


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_names_are_kept_as_one_line_or_refused(names):
    lines = [one_line(name) for name in names]
    is_valid = (
        all(lines) and len(set(lines)) == len(lines) and max(map(len, lines)) <= MAX_NAME_CHARACTERS
    )
    try:
        checked = check_group_names(names, len(names))
    except ParameterError:
        assert not is_valid
    else:
        assert is_valid
        assert checked == tuple(lines)
        assert check_group_names(checked, len(names)) == checked
        assert "".join(lines).encode()  # no half of a surrogate pair


@pytest.mark.parametrize(
    "value",
    [["a"], ["a", "b", "c", "d"], [1, 2, 3], "abc", {"0": "a"}, 3, True, [], ["a", "a", "b"],
     ["x" * 201, "b", "c"], ["", "b", "c"], [["a"], "b", "c"], {"$array": "labels"},
     {"$tuple": ["a", "b", "c"]}],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_damaged_names_are_refused(value, path, tmp_path):
    data = changed(path.read_bytes(), put("group_names", value=value))
    refused(tmp_path, data, "^it does not hold a valid model: .*group_names")
    for read in (read_labeller, read_contents):
        with pytest.raises(ModelFileError, match="group_names"):
            read(tmp_path / "hostile.partita")


def test_hostile_names_in_a_file_cannot_speak_to_a_terminal(path, tmp_path):
    evil = ["\x1b]0;pwned\x07a\u202e", "b\n\nc", "\ud800d"]
    other = tmp_path / "b.partita"
    other.write_bytes(changed(path.read_bytes(), put("group_names", value=evil)))
    assert load(other).saved_.group_names == ("]0;pwned a", "b c", "d")


# --- write_group_names ----------------------------------------------------------------------------


def test_renaming_changes_only_the_names(path, tmp_path):
    before = members(path.read_bytes())
    assert write_group_names(path, {0: "New"}) == ("New", *NAMES[1:])
    after = members(path.read_bytes())
    assert list(after) == list(before)
    headers = [json.loads(parts.pop("header.json")) for parts in (before, after)]
    assert before == after
    assert headers[1].pop("group_names") == ["New", *NAMES[1:]]
    assert headers[0].pop("group_names") == list(NAMES)
    assert headers[0] == headers[1]


def test_renaming_to_the_same_names_gives_the_same_bytes(path):
    before = path.read_bytes()
    write_group_names(path, NAMES)
    assert path.read_bytes() == before


def test_renaming_keeps_what_only_later_versions_know(path):
    parts = members(path.read_bytes())
    header = json.loads(parts["header.json"]) | {"certificate": {"gap": 0.1}}
    later = {**parts, "header.json": json.dumps(header).encode(), "later.npy": parts["labels.npy"]}
    path.write_bytes(zipped(later))
    write_group_names(path, {2: "New"})
    assert read_header(path)["certificate"] == {"gap": 0.1}
    assert members(path.read_bytes())["later.npy"] == parts["labels.npy"]


def test_renaming_writes_another_file_on_request(path, tmp_path):
    other, before = tmp_path / "b.partita", path.read_bytes()
    write_group_names(path, {0: "New"}, other)
    assert path.read_bytes() == before
    assert load(other).saved_.group_names == ("New", *NAMES[1:])
    with pytest.raises(FileExistsError, match="already exists"):
        write_group_names(path, {0: "Newer"}, other)
    write_group_names(path, {0: "Newer"}, other, force=True)
    assert load(other).saved_.group_names[0] == "Newer"


def test_a_refused_name_leaves_the_file_as_it_is(path):
    before = path.read_bytes()
    for names in ({7: "a"}, {0: ""}, {0: NAMES[1]}):
        with pytest.raises(ParameterError):
            write_group_names(path, names)
    assert path.read_bytes() == before


def test_a_damaged_file_is_not_renamed(path):
    path.write_bytes(path.read_bytes()[:-5])
    before = path.read_bytes()
    with pytest.raises(ModelFileError):
        write_group_names(path, {0: "a"})
    assert path.read_bytes() == before

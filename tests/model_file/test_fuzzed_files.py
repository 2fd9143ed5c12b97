"""Whatever bytes a file has: an error that names it, or a model that works."""

from __future__ import annotations

import json
import warnings

import pytest
from helpers.damaged_models import KINDS, members, zipped
from helpers.saved_models import CASES, NEW, same
from hypothesis import example, given, settings
from hypothesis import strategies as st

from partita import load
from partita.model_file import ModelFileError


def loaded(path):
    """The model, or None after an error that names the file."""
    try:
        return load(path)
    except ModelFileError as error:
        said = str(error)
    assert str(path) in said
    return None


def check(path, model, new):
    """Either an error that names the file, or the model that was saved."""
    again = loaded(path)
    if again is None:
        return
    for name, value in vars(model).items():
        assert same(value, vars(again)[name]), name
    assert same(again.predict(new), model.predict(new))


@pytest.mark.heavy
@settings(max_examples=150)
@given(
    kind=st.sampled_from(KINDS),
    flips=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), min_size=1, max_size=4),
)
@example(kind="kmeans frame", flips=[(0.0, 1)])
def test_flipped_bytes_give_an_error_or_the_same_model(kind, flips, files, tmp_path):
    model, data = files[kind]
    broken = bytearray(data)
    for place, by in flips:
        broken[min(len(data) - 1, int(place * len(data)))] ^= by
    path = tmp_path / "hostile.partita"
    path.write_bytes(broken)
    check(path, model, CASES[kind][1](NEW))


@settings(max_examples=100)
@given(
    kind=st.sampled_from(KINDS),
    where=st.floats(0, 1),
    what=st.binary(max_size=40),
    cut=st.integers(0, 200),
)
@example(kind="kmeans frame", where=0.5, what=b"", cut=0)  # no damage: the same model
def test_bytes_put_in_or_cut_out_give_an_error_or_the_same_model(
    kind, where, what, cut, files, tmp_path
):
    model, data = files[kind]
    at = int(where * len(data))
    path = tmp_path / "hostile.partita"
    path.write_bytes(data[:at] + what + data[at + cut :])
    check(path, model, CASES[kind][1](NEW))


@pytest.mark.heavy
@settings(max_examples=150)
@given(kind=st.sampled_from(KINDS), place=st.integers(0, 119), by=st.integers(1, 255))
def test_flips_in_the_directory_give_an_error_or_the_same_model(kind, place, by, files, tmp_path):
    """Where a reader of zips is easily led astray."""
    model, data = files[kind]
    broken = bytearray(data)
    broken[len(data) - 1 - place] ^= by
    path = tmp_path / "hostile.partita"
    path.write_bytes(broken)
    check(path, model, CASES[kind][1](NEW))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.just({"$array": "labels"}) | st.just({"$array": "nothing"}) | st.just({"$float": "nan"})
    | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["$dict", "$tuple", "$csr", "$generator", "a"]), inner, max_size=2),
    max_leaves=6,
)  # fmt: skip


@pytest.mark.heavy
@settings(max_examples=200)
@given(
    kind=st.sampled_from(KINDS),
    where=st.lists(st.integers(0, 29), min_size=1, max_size=4),
    value=JSON,
)
def test_any_value_in_any_field_gives_an_error_or_a_model_that_works(
    kind, where, value, files, tmp_path
):
    """With checksums that agree: what a hostile writer would do."""
    parts = members(files[kind][1])
    header = json.loads(parts["header.json"])
    inner = header
    for number in where:  # deeper and deeper, as far as there are fields
        at, key = inner, sorted(inner)[number % len(inner)]
        inner = at[key]
        if not isinstance(inner, dict) or not inner:
            break
    at[key] = value
    path = tmp_path / "hostile.partita"
    path.write_bytes(zipped({**parts, "header.json": json.dumps(header).encode()}))
    again = loaded(path)
    if again is None:
        return
    new = CASES[kind][1](NEW)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that the rows do not have
        try:
            labels = again.predict(new)
        except (ValueError, TypeError):  # parameters that do not fit each other
            return
    assert len(labels) == new.shape[0]

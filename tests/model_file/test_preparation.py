"""Scaling, fill values and names come back with the model, and prepare its rows."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.saved_models import ROWS, WEIGHT, same

import partita
from partita import KMeans, load, save
from partita.model_file import ModelFileError, fingerprint
from partita.tables.scaling import Scaling


def test_what_comes_with_a_model_comes_back(tmp_path):
    scaling = Scaling.fit(ROWS, "robust")
    told = {"note": "partita fit a.csv", "fingerprint": fingerprint(ROWS, WEIGHT)}
    model = KMeans(3, random_state=0).fit(scaling.apply(ROWS))
    fill, names = np.array([1.0, 2.0, 3.0]), ["a", "b\x00", "\ud800"]
    save(model, tmp_path / "a.partita", scaling=scaling, fill=fill, names=names, **told)
    saved = load(tmp_path / "a.partita").saved_
    assert same(saved.scaling, scaling)
    assert same(saved.fill, fill)
    assert saved.names == tuple(names)
    assert (saved.note, saved.fingerprint) == (told["note"], told["fingerprint"])
    assert saved.versions["partita"] == partita.__version__
    assert saved.versions["numpy"] == np.__version__
    assert saved.parameters == model.get_params()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", saved.created)


MAKERS = {"pandas": lambda frame: frame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_model_with_a_scaling_takes_rows_in_the_units_of_the_data(tmp_path, kind):
    scaling, names = Scaling.fit(ROWS, "standard"), ["a", "b", "c"]
    model = KMeans(3, random_state=0).fit(scaling.apply(ROWS))
    fill = ROWS.mean(axis=0)
    save(model, tmp_path / "a.partita", scaling=scaling, fill=fill, names=names)
    again = load(tmp_path / "a.partita")
    assert same(again.predict(ROWS), model.labels_)
    assert same(again[-1].cluster_centers_, model.cluster_centers_)
    assert same(
        again[0].inverse_transform(model.cluster_centers_), scaling.undo(model.cluster_centers_)
    )
    table = pd.DataFrame({"c": ROWS[:, 2], "more": "text", "a": ROWS[:, 0], "b": ROWS[:, 1]})
    assert same(again.predict(MAKERS[kind](table)), model.labels_)
    holes = ROWS.copy()
    holes[4, 1] = np.nan
    filled = np.where(np.isnan(holes), fill, holes)
    assert same(again.predict(holes), model.predict(scaling.apply(filled)))
    with pytest.raises(ValueError, match=r"X lacks 'b', 'c' of the 3 columns"):
        again.predict(pd.DataFrame({"a": [1.0]}))
    with pytest.raises(ValueError, match="X has 2 features, but the model was fitted to 3: 'a'"):
        again.predict(ROWS[:, :2])
    assert str(partita.diagnose(again, ROWS)).startswith(
        str(partita.diagnose(model, scaling.apply(ROWS)))[:20]
    )


def test_what_was_loaded_is_saved_whole(tmp_path):
    told = {"names": ["a", "b", "c"], "note": "made by hand", "fingerprint": "x:1"}
    scaling = Scaling.fit(ROWS, "robust")
    save(
        KMeans(3, random_state=0).fit(scaling.apply(ROWS)), tmp_path / "a", scaling=scaling, **told
    )
    again = load(tmp_path / "a")
    for number, model in enumerate((again, again[-1])):
        save(model, tmp_path / str(number))
        saved = load(tmp_path / str(number)).saved_
        assert (saved.names, saved.note, saved.fingerprint) == (
            ("a", "b", "c"),
            "made by hand",
            "x:1",
        )
        assert same(saved.scaling, scaling)
    again.fit(ROWS * 2)  # another fit: what was said of the first is not true of it
    save(again, tmp_path / "b")
    saved = load(tmp_path / "b").saved_
    assert (saved.note, saved.fingerprint) == (None, None)
    assert same(saved.scaling, scaling)


def test_a_pipeline_that_was_loaded_is_a_pipeline(tmp_path):
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    scaling = Scaling.fit(ROWS, "standard")
    scaled = pd.DataFrame(scaling.apply(ROWS), columns=["a", "b", "c"])
    model = KMeans(3, random_state=0).fit(scaled)
    labels = model.labels_
    save(model, tmp_path / "a", scaling=scaling)  # the names are those of the frame
    again = load(tmp_path / "a")
    assert again.n_features_in_ == 3
    assert again[:-1].get_feature_names_out().tolist() == ["a", "b", "c"]
    for other in (again, copy.deepcopy(again), pickle.loads(pickle.dumps(again))):
        assert same(other.predict(frame[["c", "a", "b"]]), labels)  # and no warning
    twice = pd.concat([frame, frame[["a"]].rename(columns={"a": "x"})] * 2, axis=1)
    twice.columns = ["a", "b", "c", "x", "x", "y", "z", "x"]
    assert same(again.predict(twice), labels)
    assert same(again.predict(pa.RecordBatch.from_pandas(frame[["b", "c", "a"]])), labels)
    again.set_params(prepare__scaling=None)
    save(again, tmp_path / "b")
    assert load(tmp_path / "b").saved_.scaling is None
    with pytest.raises(ModelFileError, match="a name twice"):
        save(model, tmp_path / "c", names=["a", "a", "b"])


def test_a_model_knows_the_names_of_its_columns(tmp_path):
    save(KMeans(3, random_state=0).fit(ROWS), tmp_path / "a", names=["a", "b", "c"])
    again = load(tmp_path / "a")
    table = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    assert same(again.predict(table), again.labels_)
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(table[["c", "a", "b"]])

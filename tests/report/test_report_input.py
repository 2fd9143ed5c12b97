"""The input of a report: any table, id column, pipeline or loaded model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.reports import NONE, Page, blobs, fitted
from sklearn.cluster import KMeans as Peer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from partita import (
    KMeans,
    load,
    save,
    silhouette_score,
)
from partita.report import (
    Fitted,
    render,
    summarise,
)
from partita.tables import Scaling


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"labels": [0, 1]}, "`labels` must be 60 integers, one for each row, got shape"),
        ({"ids": ["a"]}, "`ids` must be a sequence of 60 names, one for each row, got 1 items"),
        ({"names": ["a"]}, "`names` must be a sequence of 4 names"),
        (
            {"original": np.ones((60, 3))},
            r"`original` must have the shape of X, \(60, 4\), got \(60, 3\)",
        ),
        ({"weight": [1.0]}, "`weight` must be of shape"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_does_not_fit_is_named(more, says):
    with pytest.raises(ValueError, match=says):
        render(fitted(**more))


def test_a_model_that_was_not_fitted_is_refused():
    with pytest.raises(Exception, match="not fitted"):
        render(Fitted(KMeans(2), [[0.0], [1.0]]))


@pytest.mark.heavy
def test_ids_come_from_any_kind_of_column():
    ids = [f"r{i}" for i in range(60)]
    odd = pd.Series(ids, index=range(100, 160))
    expected = render(fitted(ids=ids))
    for column in (np.array(ids), odd, pl.Series(ids), pa.array(ids), pa.chunked_array([ids])):
        assert render(fitted(ids=column)) == expected
    assert "(no name)" in Page(render(fitted(ids=pa.array([None] * 60, pa.string())))).text


@pytest.mark.heavy
def test_tables_bring_their_names():
    frame = pd.DataFrame(blobs(30), columns=["a", "b", "c", "wide"])
    model = KMeans(3, random_state=0).fit(frame)
    for X in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert Page(render(Fitted(model, X))).data["names"] == ["a", "b", "c", "wide"]


def test_models_of_scikit_learn_have_a_report():
    X = blobs(40)
    made = Fitted(Peer(3, n_init=1, random_state=0).fit(X), X)
    found, text = summarise(made), Page(render(made)).text
    assert found.silhouette == silhouette_score(X, made.model.labels_)
    assert "keeps no trace" in text


def test_a_pipeline_is_reported_on_in_the_units_of_its_rows():
    X = load_wine().data
    scaler = StandardScaler()
    pipe = make_pipeline(scaler, KMeans(3, random_state=0)).fit(X)
    found = summarise(Fitted(pipe, X, diagnosis=NONE))
    plain = Fitted(pipe[-1], scaler.transform(X), original=X, diagnosis=NONE)
    assert found.scale == "standard"
    assert replace(found, scale="none") == summarise(plain)
    turned = make_pipeline(PCA(5), KMeans(3, random_state=0)).fit(X)
    assert summarise(Fitted(turned, X, diagnosis=NONE)).scale == "PCA"


def test_a_loaded_model_is_reported_on_by_the_names_of_its_columns(tmp_path):
    X = load_wine().data[:, [0, 9, 12]]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    scaling = Scaling.fit(X, "standard")
    save(KMeans(3, random_state=0).fit(scaling.apply(X)), tmp_path / "m", scaling=scaling,
         names=["a", "b", "c"])  # fmt: skip
    model = load(tmp_path / "m")
    plain = summarise(Fitted(model, frame, diagnosis=NONE))
    turned = summarise(
        Fitted(model, frame.assign(more=1.0)[["c", "more", "a", "b"]], diagnosis=NONE)
    )
    assert turned == plain
    assert plain.scale == "standard"
    assert plain.clusters[0].traits[0].value > 0.5  # in the units of the data


def test_rows_are_named_by_their_place_in_the_source():
    numbers = range(5, 605, 10)
    odd = pd.Series(numbers, index=range(100, 160))
    for kept in (np.array(numbers), list(numbers), odd):
        member = summarise(fitted(kept=kept)).clusters[0].typical[0]
        assert member.row == member.index * 10 + 6
        assert member.name == f"row {member.row}"


@pytest.mark.heavy
def test_rows_are_counted_from_one_where_they_have_no_names():
    assert "Rows are counted from 1" in Page(render(fitted())).text
    assert "counted from 1" not in Page(render(fitted(ids=[f"r{i}" for i in range(60)]))).text


def test_rows_are_counted_once_however_many_clusters_there_are(monkeypatch):
    calls = []
    bincount = np.bincount
    monkeypatch.setattr(np, "bincount", lambda *a, **more: calls.append(1) or bincount(*a, **more))
    made = []
    for k in (4, 40):
        model = KMeans(k, random_state=0).fit(blobs(400))
        calls.clear()
        found = summarise(Fitted(model, blobs(400), diagnosis=NONE))
        made.append(len(calls))
        assert [c.size for c in found.clusters] == bincount(model.labels_).tolist()
    assert made[0] == made[1]

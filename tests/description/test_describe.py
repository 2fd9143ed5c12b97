"""`describe`: names, texts and tables of the groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from partita import KMeans, KMedoids, SphericalKMeans, describe, load, save
from partita.description.category_traits import CategoryTrait
from partita.description.proposed_names import complete_names
from partita.description.traits import Trait
from partita.report import Fitted, summarise


@pytest.fixture(scope="module")
def wine():
    X = load_wine(as_frame=True).data
    pipeline = make_pipeline(StandardScaler(), KMeans(3, n_init=5, random_state=0)).fit(X)
    return pipeline, X, describe(pipeline, X)


def test_a_pipeline_is_described_in_the_units_of_its_rows(wine):
    pipeline, X, found = wine
    labels = pipeline.predict(X)
    for group in found.groups:
        members = X[labels == group.number]
        assert group.size == len(members)
        for trait in group.traits:
            assert trait.value == pytest.approx(members[trait.feature].mean())
            assert trait.value_text in trait.words


def test_it_says_what_the_report_says(wine):
    pipeline, X, found = wine
    summary = summarise(Fitted(pipeline, X))
    assert (found.sentence, found.grade, found.doubtful) == (
        summary.sentence,
        summary.grade,
        summary.doubtful,
    )
    assert [group.words for group in found.groups] == [g.words for g in summary.clusters]
    assert [group.name for group in found.groups] == [g.name for g in summary.clusters]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_table_has_a_row_for_each_group_in_order_of_size(wine, library):
    _, X, found = wine
    columns = found.to_dict()
    frame = found.to_frame(library)
    assert list(getattr(frame, "column_names", frame.columns)) == list(columns)
    assert columns["size"] == sorted(columns["size"], reverse=True)
    assert set(X.columns) <= set(columns)
    assert sum(columns["share"]) == pytest.approx(1)


def test_texts_name_every_group_and_escape_what_comes_from_the_data(wine):
    _, _, found = wine
    for group in found.groups:
        assert group.name in str(found)
        assert group.words.split(",")[0].replace("\u202f", " ") in str(found).replace("\u202f", " ")
    assert repr(found) == f"<Description: {found.sentence}>"
    X = load_iris().data
    names = ["<script>", "a&b", "c", "d"]
    evil = describe(KMeans(2, random_state=0).fit(X), X, feature_names=names)._repr_html_()
    assert "<script>" not in evil
    assert "&lt;script&gt;" in evil or "a&amp;b" in evil


def test_terms_describe_groups_of_texts():
    topics = (["orbit", "moon", "rocket"], ["goal", "match", "team"])
    rng = np.random.default_rng(0)
    texts = [" ".join([*rng.choice(topics[i % 2], 4), "the"]) for i in range(200)]
    vectorizer = TfidfVectorizer()
    X = vectorizer.fit_transform(texts)
    model = SphericalKMeans(2, random_state=0).fit(X)
    found = describe(model, X, feature_names=vectorizer.get_feature_names_out())
    for group in found.groups:
        own = {trait.feature for trait in group.traits if trait.score > 0}
        assert own in (set(topics[0]), set(topics[1]))
        assert group.traits[0].statistic == "presence"
        assert set(group.name.lower().split(", ")) <= own
        assert "the" not in {trait.feature for trait in group.traits}


def test_names_are_given_or_proposed_and_never_equal(wine):
    pipeline, X, found = wine
    names = [group.name for group in found.groups]
    assert len(set(names)) == 3
    given = describe(pipeline, X, group_names={1: "Mine"})
    assert [g.name for g in given.groups] == [names[0], "Mine", names[2]]
    listed = describe(pipeline, X, group_names=["a", None, "c"])
    assert [g.name for g in listed.groups] == ["a", names[1], "c"]
    assert describe(pipeline, X, group_names=np.array(["a", "b", "c"]))[2].name == "c"
    for wrong in ({3: "x"}, ["a"], ["a", "a", "b"], [1, 2, 3]):
        with pytest.raises(ValueError, match=r"`group_names` must "):
            describe(pipeline, X, group_names=wrong)


def test_names_in_a_model_file_are_those_of_the_description(wine, tmp_path):
    pipeline, X, found = wine
    save(pipeline, tmp_path / "m", group_names={1: "Mine"})
    again = describe(load(tmp_path / "m"), X)
    assert [g.name for g in again.groups] == [found[0].name, "Mine", found[2].name]


def traits(*pairs):
    return [Trait(name, 0, score, 1.0, 0.0, "mean", "high", "1", "0") for name, score in pairs]


@given(
    st.lists(st.lists(st.tuples(st.text(max_size=80), st.floats(-5, 5)), max_size=4), max_size=6)
)
def test_proposed_names_are_distinct_short_lines(groups):
    k = len(groups)
    found = [traits(*pairs) for pairs in groups]
    names = complete_names([None] * k, found, [()] * k, [True] * k, [True] * k)
    assert len(set(names)) == len(groups)
    for name in names:
        assert 0 < len(name) <= 60
        assert name.isprintable() or "\u200d" in name or "\u200c" in name


def test_categories_that_are_features_come_second_in_a_name():
    def mostly(column, value):
        return CategoryTrait(column, value, 0.9, 0.3, "")

    def name(found, category, features):
        groups, categories = [traits(*found), ()], [[category], ()]
        return complete_names([None] * 2, groups, categories, [True] * 2, [True] * 2, features)[0]

    found = [("income", 2.0), ("age", 1.8)]
    assert name(found, mostly("region", "east"), ["region"]) == "High income, region: east"
    assert name(found, mostly("region", "east"), []) == "High income, high age"


def test_the_extreme_group_is_high_and_the_next_fairly_high():
    X = np.concatenate([np.random.default_rng(j).normal(10 * j, 1, (40, 1)) for j in (0, 3, 8)])
    model = KMeans(3, init=[[0], [30], [80]], n_init=1).fit(X)
    found = describe(model, X, feature_names=["income"])
    assert [g.name for g in found.groups] == [
        "Low income",
        "Below-average income",
        "High income",
    ]


def test_categories_and_weights_count():
    X = np.repeat([[0.0], [9.0]], 30, axis=0) + np.linspace(0, 1, 60)[:, None]
    plan = ["free"] * 30 + ["paid"] * 30
    model = KMeans(2, init=[[0], [9]], n_init=1).fit(X)
    found = describe(model, pd.DataFrame(X, columns=["a"]).to_numpy(), categories={"plan": plan})
    assert [g.categories[0].value for g in found.groups] == ["free", "paid"]
    weight = np.repeat([1.0, 3.0], 30)
    heavy = describe(model, X, weight)
    assert [g.share for g in heavy.groups] == [0.25, 0.75]


def test_a_matrix_has_groups_without_features():
    X = load_iris().data[:60]
    matrix = np.sqrt(((X[:, None] - X) ** 2).sum(-1))
    found = describe(KMedoids(2, metric="precomputed", random_state=0).fit(matrix), matrix)
    assert found.profile is None
    assert found.features == ()
    assert all(group.traits == () for group in found.groups)
    assert "nothing sets it apart" in str(found)


def test_sparse_rows_without_names_are_described():
    X = sp.random(80, 12, 0.3, format="csr", random_state=0)
    found = describe(KMeans(3, random_state=0).fit(X), X)
    assert len(found) == 3
    assert found[0].number == 0


def test_columns_of_the_same_name_are_all_in_the_table():
    X = load_iris().data
    found = describe(KMeans(2, random_state=0).fit(X), X, feature_names=["a", "a", "a", "size"])
    assert list(found.to_dict())[-4:] == ["a", "a_2", "a_3", "size_2"]


def test_only_groups_that_nothing_sets_apart_are_average():
    X = np.concatenate([np.full((20, 1), v) for v in (0.0, 5.0, 10.0)])
    X += np.linspace(-0.5, 0.5, 60).reshape(3, 20).ravel()[:, None] * 0.1
    labels = np.repeat([0, 1, 2], 20)
    model = KMeans(3, init=[[0.0], [5], [10]], n_init=1).fit(X)
    weight = np.where(labels == 1, 0.0, 1.0)
    assert "Average" not in [g.name for g in describe(model, X, weight).groups]
    matrix = np.abs(X - X.T)
    medoids = KMedoids(3, metric="precomputed", random_state=0).fit(matrix)
    assert [g.name for g in describe(medoids, matrix).groups] == ["Group 0", "Group 1", "Group 2"]

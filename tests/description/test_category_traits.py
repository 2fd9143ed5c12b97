"""Categories that set clusters apart: their shares, the rule, and the page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita import KMeans
from partita.description.category_traits import (
    MAX_CATEGORY_TRAITS,
    category_traits,
    leading_categories,
)
from partita.report import Fitted, render, summarise
from partita.tables.category_columns import encode_categories


def traits(values, labels, weight=None, k=None):
    labels = np.asarray(labels)
    weight = np.ones(len(labels)) if weight is None else np.asarray(weight, dtype=float)
    column = encode_categories(values)
    return category_traits({"city": column}, labels, weight, k or int(labels.max()) + 1)


def test_a_share_is_told_with_that_of_all_rows():
    cities = ["Wien"] * 18 + ["Graz"] * 12 + ["Graz"] * 70
    first, second = traits(cities, [0] * 30 + [1] * 70)
    assert [trait.words for trait in first] == ["city: 60\u202f% Wien (all rows 18\u202f%)"]
    assert [trait.words for trait in second] == ["city: 100\u202f% Graz (all rows 82\u202f%)"]
    assert (first[0].share, first[0].overall) == (0.6, 0.18)


def test_numbers_are_told_apart_from_their_share():
    ((trait,), _) = traits(["1"] * 10 + ["0"] * 10, [0] * 10 + [1] * 10)
    assert trait.words == "city: 100\u202f% are 1 (all rows 50\u202f%)"


def test_weights_count_in_shares_and_not_in_their_significance():
    cities = ["a", "a", "b", "b"] * 10
    labels = [0, 0, 1, 1] * 10
    first, _ = traits(cities, labels, [3, 1, 1, 1] * 10)
    assert first[0].overall == pytest.approx(4 / 6)
    assert traits(["a", "b"] * 3, [0, 1] * 3, [1e6] * 6) == [(), ()]  # three rows are few


def test_missing_values_and_rows_without_a_cluster_do_not_count():
    cities = ["a"] * 10 + [None] * 10 + ["b"] * 20
    first, second = traits(cities, [0] * 20 + [1] * 20)
    assert first[0].share == 1
    assert first[0].overall == pytest.approx(1 / 3)
    assert second[0].value == "b"
    assert traits(cities, [0] * 20 + [-1] * 20, k=1) == [()]
    assert traits(cities, [0] * 20 + [1] * 20, k=3)[2] == ()


@given(st.integers(0, 10**6))
def test_categories_drawn_at_random_hardly_ever_set_clusters_apart(seed):
    rng = np.random.default_rng(seed)
    labels, cities = rng.integers(0, 4, 200), rng.choice(list("abc"), 200)
    assert sum(map(len, traits(cities.tolist(), labels, k=4))) <= 2


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abc")), min_size=12, max_size=60))
def test_a_trait_is_always_more_frequent_than_overall(rows):
    labels, cities = zip(*rows, strict=True)
    for found in traits(cities, labels, k=3):
        assert len(found) <= MAX_CATEGORY_TRAITS
        for trait in found:
            assert trait.share >= trait.overall + 0.1 - 1e-12


def fit_two_groups(**categories):
    X = np.repeat([[0.0, 1.0], [9.0, 1.0]], 20, axis=0) + np.linspace(0, 0.1, 40)[:, None]
    return Fitted(KMeans(2, random_state=0).fit(X), X, categories=categories)


def test_the_page_and_the_summary_tell_the_same():
    cities = pd.Series(["<b>Wien</b>"] * 20 + ["ירושלים"] * 20, index=range(7, 47))
    made = fit_two_groups(city=cities, member=[True] * 20 + [False] * 20, noise=["u", "v"] * 20)
    summary = summarise(made)
    values = [[trait.value for trait in cluster.categories] for cluster in summary.clusters]
    assert sorted(values) == [["<b>Wien</b>", "yes"], ["ירושלים", "no"]]
    assert "city: 100\u202f% " in summary.clusters[0].words
    assert summary.to_dict()["clusters"][0]["categories"][0]["column"] == "city"
    html = render(made)
    value = "<bdi>&lt;b&gt;Wien&lt;/b&gt;</bdi>"
    assert f"<bdi>city</bdi>: 100\u202f% {value} (all rows 50\u202f%)" in html
    assert "<bdi>ירושלים</bdi>" in html
    assert "Columns that were not used to find the groups" in html


def test_wrong_categories_are_named():
    for wrong, words in (
        ({"city": ["a"]}, r"`categories\['city'\]` must be a sequence of 40 values"),
        ({"city": 5}, r"`categories\['city'\]` must be a sequence of 40 values"),
    ):
        with pytest.raises(ValueError, match=words):
            summarise(fit_two_groups(**wrong))


def test_the_leading_categories_of_every_group_are_told():
    column = encode_categories(["a"] * 6 + ["b"] * 4 + ["b"] * 10)
    labels = np.repeat([0, 1], 10)
    (table,) = leading_categories({"city": column}, labels, np.ones(20), 3)
    assert table.overall == (("b", 0.7), ("a", 0.3))
    assert table.groups == ((("a", 0.6), ("b", 0.4)), (("b", 1.0),), ())


def test_rare_categories_are_not_told_if_no_row_may_be_shown():
    column = encode_categories(["secret"] * 4 + ["b"] * 16)
    labels = np.repeat([0, 1], [4, 16])
    (table,) = leading_categories({"city": column}, labels, np.ones(20), 2, min_rows=5)
    assert "secret" not in str(table)
    traits_ = category_traits({"city": column}, labels, np.ones(20), 2, min_rows=5)
    assert traits_[0] == ()
    assert category_traits({"city": column}, labels, np.ones(20), 2)[0][0].value == "secret"

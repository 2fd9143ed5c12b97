"""A page without rows: nothing of a single row is on it."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.reports import NONE, Page

from partita import KMeans, KMedoids, SphericalKMeans, compare_with_fit
from partita._common.number_text import value_text
from partita.report import Fitted, OtherModel, render, summarise
from partita.tables.preparation_plan import Decision, Plan

NAMES = ("alpha", "beta", "gamma")


def rows(n=40, seed=0):
    """Three groups and three outliers; every cell has six distinctive digits."""
    rng = np.random.default_rng(seed)
    centers = np.repeat([[500.0, 200, 700], [900, 800, 100], [100, 900, 900]], n, axis=0)
    X = centers + rng.normal(0, 30, (3 * n, 3))
    X[[0, n, 2 * n]] += [[3000.0, 0, 0], [0, 4000, 0], [0, 0, 5000]]
    return np.round(X, 3)


def secret_record(model, X, **more):
    n = len(X)
    cities = ["Paris", "Rome"] * (n // 2 - 1) + ["Timbuktu", "Ouagadougou"]
    return Fitted(
        model.fit(X),
        X,
        names=NAMES,
        ids=[f"person-{7919 * i % 104729}" for i in range(n)],
        categories={"city": cities},
        unused={"salary": X[:, 0] * 3 + 0.125},
        source="people.csv",
        remarks=["a cell says person-0"],
        **more,
    )


MODELS = [
    KMeans(3, n_init=3, random_state=0),
    KMeans(5, n_init=3, random_state=0),  # groups of single outliers
    KMedoids(3, random_state=0),
    SphericalKMeans(3, random_state=0),
    KMeans(3, init=rows()[:3], n_init=1),  # the start is rows
]


def told(page):
    """All that a reader could find: texts, attributes and data."""
    attributes = " ".join(str(value) for _, a in page.elements for value in a.values())
    raw = " ".join(text for kind, text in page.raw.items() if kind not in ("script", "style"))
    return " ".join([page.text, attributes, raw]).replace("\u202f", "").replace(" ", "")


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore:Number of distinct")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{type(model).__name__}")
@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_name_no_cell_no_rare_category_is_on_the_page(model, d):
    if d < 3 and not isinstance(model.get_params().get("init", ""), str):
        model = KMeans(3, init=rows()[:3, :d], n_init=1)
    X = rows()[:, :d]
    made = replace(secret_record(model, X), names=NAMES[:d])
    shown, hidden = (told(Page(render(replace(made, no_rows=flag)))) for flag in (False, True))
    ids = [f"person-{7919 * i % 104729}" for i in range(len(X))]
    cells = [f"{value:.3f}" for value in X.ravel()] + [value_text(v) for v in X.ravel().tolist()]
    cells = {cell.replace("\u202f", "") for cell in cells}
    assert any(name in shown for name in ids)
    assert not [name for name in ids if name in hidden]
    numbers = set(re.findall(r"\d+\.\d+|\d+", hidden))
    assert not numbers & {cell for cell in cells if len(cell) >= 6}
    for rare in ("Timbuktu", "Ouagadougou"):
        assert rare not in hidden
    assert "nosinglerow" in hidden
    assert "containssinglerows" in shown


@pytest.mark.heavy
def test_the_data_of_the_map_are_groups_only():
    page = Page(render(secret_record(MODELS[0], rows(), no_rows=True)))
    contents = json.loads(page.raw["data"]) if "data" in page.raw else {}
    longest = max((len(str(value)) for value in contents.values()), default=0)
    assert longest < 400  # no packed rows
    assert "Search" not in page.text


@pytest.mark.heavy
def test_comparisons_tell_no_rows_either():
    X = rows()
    made = secret_record(KMeans(3, n_init=3, random_state=0), X, no_rows=True)
    new = rows(seed=1) + np.array([0.0, 0, 800])
    labels = np.asarray(made.model.predict(new))
    changed = np.where(np.arange(len(labels)) == 5, 1 - labels % 2, labels)
    other = OtherModel(changed, ["a", "b", "c"])
    made = replace(
        made,
        X=new,
        comparison=compare_with_fit(made.model, new, fitted_to=X),
        other=other,
    )
    text = told(Page(render(made)))
    assert not re.search(r"person-\d", text)
    numbers = set(re.findall(r"\d+\.\d+|\d+", text))
    assert not numbers & {f"{value:g}" for value in new.ravel() if len(f"{value:g}") >= 6}


def test_the_summary_has_no_rows_either():
    found = summarise(secret_record(MODELS[0], rows(), no_rows=True))
    assert all(group.typical == () and group.atypical is None for group in found.clusters)
    assert "person-" not in json.dumps(found.to_dict())


def page_of(X, labels, k=3, **more):
    """A page about these labels of rows, by a model that saw others."""
    other = np.arange(len(X) * X.shape[1], dtype=float).reshape(X.shape)
    model = KMeans(k, random_state=0).fit(other)
    record = Fitted(model, np.zeros_like(X), original=X, labels=labels, names=NAMES, diagnosis=NONE)
    return render(replace(record, no_rows=True, **more))


def small_group(value, n_small=4):
    """Rows of which a few have values of their own, and their labels."""
    X = np.random.default_rng(0).normal(size=(60 + n_small, 3))
    X[30:60] += 5
    X[60:] += value
    return X, np.repeat([0, 1, 2], [30, 30, n_small])


@pytest.mark.heavy
@pytest.mark.parametrize("value", [9.0, -40.0, 1e6])
def test_values_of_a_group_of_few_rows_change_no_byte(value):
    pages = []
    for one in (0.0, value):
        X, labels = small_group(one)
        cities = ["a", "b"] * 30 + [f"city {one}"] * 4
        unused = {"u": X[:, 0], "v": X[:, 1] * 2, "w": X[:, 2], "x": X[:, 0] * 3}
        pages.append(page_of(X, labels, categories={"city": cities}, unused=unused))
    assert pages[0] == pages[1]


@pytest.mark.heavy
def test_values_that_few_rows_have_are_not_told():
    X, labels = small_group(0.0, 30)
    weight = np.ones(90)
    X[:30, 1] = np.nan
    X[0, 1] = 987.5
    weight[60:] = 0
    weight[60] = 1
    X[60, 2] = 777.25
    bonus = np.full(90, np.nan)
    bonus[3] = 1234.0
    text = told(Page(page_of(X, labels, weight=weight, unused={"bonus": bonus})))
    for cell in ("987", "777", "1234"):
        assert cell not in text


@pytest.mark.heavy
def test_quartiles_and_ends_of_five_rows_are_not_told():
    X = np.array([[1111.0], [2222], [3333], [4444], [5555]])
    X = np.concatenate([X, X + 50_000])
    record = Fitted(KMeans(2, random_state=0).fit(X), X, names=["salary"], diagnosis=NONE)
    text = told(Page(render(replace(record, no_rows=True))))
    for cell in ("1111", "2222", "4444", "5555", "51111", "55555"):
        assert cell not in text


LOGARITHM = Decision(
    "log",
    ("income",),
    "logarithm of income (from 5.86 to 8765.43)",
    line_without_rows="logarithm of income",
)


@pytest.mark.heavy
def test_plans_and_reasons_show_no_cell():
    record = secret_record(
        MODELS[0],
        rows(),
        plan=Plan(("income",), "auto", (LOGARITHM,)),
        left_out={"who": "text, as 'Jane Doe' in line 2"},
        no_rows=True,
    )
    text = told(Page(render(record)))
    assert "8765" not in text
    assert "Jane" not in text
    assert "logarithmofincome" in text
    as_text = replace(record, plan=["income was 8765.43"])
    assert "8765" not in told(Page(render(as_text)))


def test_names_of_groups_of_few_rows_are_their_numbers():
    X, labels = small_group(50.0, 2)
    page = Page(page_of(X, labels, group_names=["one", "two", "Jane and Joe"]))
    assert page.names == ["one", "two", "Group 2"]


@pytest.mark.heavy
@pytest.mark.parametrize("no_rows", [False, True])
@pytest.mark.parametrize("size", [1e308, 1e-300])
def test_values_at_the_ends_of_the_range_have_a_page(size, no_rows):
    X = np.random.default_rng(0).uniform(-1, 1, size=(60, 3)) * size
    made = Fitted(KMeans(2, random_state=0).fit(X), X, no_rows=no_rows, diagnosis=NONE)
    assert Page(render(made)).text


@pytest.mark.heavy
@pytest.mark.parametrize("no_rows", [False, True])
@pytest.mark.parametrize("k", [1, 2, 6])
def test_six_rows_have_a_page(k, no_rows):
    X = np.random.default_rng(0).normal(size=(6, 3))
    made = Fitted(KMeans(k, random_state=0).fit(X), X, no_rows=no_rows)
    assert Page(render(made)).text

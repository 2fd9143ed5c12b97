"""Pages that everyone can read: axe-core finds no violation, in light and dark, wide and narrow."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.browser import IN_BROWSER
from helpers.reports import EVIL, NONE, blobs, wine_report
from sklearn.datasets import load_iris

from partita import KMeans, KMedoids, choose_k, compare_with_fit
from partita.report import Fitted, OtherModel, write_report

pytestmark = [
    *IN_BROWSER,
    pytest.mark.skipif(
        importlib.util.find_spec("axe_playwright_python") is None,
        reason="axe-core is not installed (pip install axe-playwright-python)",
    ),
]


def noise():
    X = np.random.default_rng(0).normal(size=(300, 3))
    sweep = choose_k(X, random_state=0)
    return Fitted(sweep.model(), X, sweep=sweep, source="noise.csv")


def many():
    X = np.random.default_rng(0).normal(size=(3000, 4))
    return Fitted(KMeans(60, random_state=0, max_iter=3).fit(X), X)


def one_feature():
    X = load_iris().data[:, [2]]
    return Fitted(KMeans(3, random_state=0).fit(X), X, names=["petal"])


def matrix():
    X = load_iris().data
    distances = np.sqrt(((X[:, None] - X) ** 2).sum(-1))
    return Fitted(KMedoids(3, metric="precomputed", random_state=0).fit(distances), distances)


def hostile():
    X = np.random.default_rng(0).normal(size=(60, len(EVIL)))
    ids = [EVIL[i % len(EVIL)] + str(i) for i in range(60)]
    return Fitted(KMeans(5, random_state=0).fit(X), X, names=EVIL, ids=ids, source=EVIL[1])


def two_models():
    X = blobs(300)
    model, other = KMeans(3, random_state=0).fit(X), KMeans(4, random_state=0).fit(X)
    new = blobs(200, seed=3)
    return Fitted(
        model,
        new,
        comparison=compare_with_fit(model, new, fitted_to=X),
        other=OtherModel(other.predict(new), [f"other {j}" for j in range(4)]),
        categories={"city": ["Wien", "Graz"] * 100},
        scaling=SimpleNamespace(kind="none"),
        remarks=["the model was made by `partita fit " + "--option value " * 12 + "`"],
    )


def no_rows():
    X = blobs(200, d=6)
    return Fitted(KMeans(3, random_state=0).fit(X), X, no_rows=True, diagnosis=NONE)


REPORTS = {
    "wine": wine_report,
    "noise": noise,
    "many": many,
    "one feature": one_feature,
    "matrix": matrix,
    "hostile": hostile,
    "two models": two_models,
    "no rows": no_rows,
}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    made = {}

    def path_of(name):
        if name not in made:
            made[name] = tmp_path_factory.mktemp("axe") / "report.html"
            write_report(made[name], REPORTS[name]())
        return made[name]

    return path_of


def violations(browser):
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:200]}"
        for rule in browser.axe()
        for node in rule["nodes"][:5]
    ]


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (1200, True), (400, False)])
def test_axe_finds_no_violation(browser, report, name, width, dark):
    browser.open(report(name), width, 900, dark=dark)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    browser.settle()
    assert violations(browser) == []
    assert browser.complaints == []
    assert browser.requests() == []
    assert browser.dialogs == []


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("width", [320, 400, 700, 1200])
def test_nothing_is_wider_than_the_window(browser, report, name, width):
    browser.open(report(name), width, 900)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert browser.run("document.documentElement.scrollWidth") <= width


def test_editing_names_is_accessible_too(browser, report):
    browser.open(report("wine"))
    browser.click("#rename")
    assert violations(browser) == []


@pytest.mark.parametrize("name", REPORTS)
def test_every_control_is_reached_and_seen_by_keys_alone(browser, report, name):
    browser.open(report(name))
    wanted = browser.run(
        "[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex]')]"
        ".filter(e => e.checkVisibility() && e.tabIndex === 0 && !e.disabled && "
        "!e.closest('details:not([open]) > :not(summary)')).length"
    )
    seen = set()
    for _ in range(wanted + 5):
        browser.press("Tab")
        place = browser.run(
            "(e => e === document.body ? '' : [...document.querySelectorAll('*')].indexOf(e) + "
            "' ' + getComputedStyle(e).outlineStyle)(document.activeElement)"
        )
        if not place:
            break
        number, outline = place.split()
        assert outline != "none", number
        seen.add(number)
    assert len(seen) >= wanted

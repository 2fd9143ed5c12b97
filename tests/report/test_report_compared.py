"""The report on new rows compares them with those of the fit."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.reports import EVIL, Page

from partita import KMeans, compare_with_fit
from partita.report import Fitted, render
from partita.tables import Scaling

CENTERS = np.array([[0.0, 100.0], [8.0, 900.0]])


def draw(seed, n=200, share=0.5):
    rng = np.random.default_rng(seed)
    kind = (rng.random(n) < share).astype(int)
    return CENTERS[kind] + rng.normal(0, [1.0, 100.0], (n, 2))


@pytest.fixture(scope="module")
def fit():
    rows = draw(0)
    scaling = Scaling.fit(rows, "standard")
    return KMeans(2, random_state=0).fit(scaling.apply(rows)), scaling, scaling.apply(rows)


def page_of(fit, new, **more):
    model, scaling, rows = fit
    X = scaling.apply(new)
    comparison = compare_with_fit(model, X, fitted_to=rows)
    fitted = Fitted(model, X, original=new, scaling=scaling, comparison=comparison, **more)
    return comparison, Page(render(fitted))


def texts_of(page):
    return " ".join(" ".join(page.texts).split())


def test_shares_means_and_strangers_stand_beside_the_fit(fit):
    new = np.vstack([draw(1, 100, 0.9), [[4.0, 90_000.0]]])
    comparison, page = page_of(fit, new, names=["length", "price"])
    text = texts_of(page)
    assert "Compared with the fit" in text
    assert "The fit had 200 rows" in text
    assert "1 row (1.0 %) is unlike anything in it" in text
    assert "The shares of 2 clusters differ clearly" in text
    assert "row 101" in text
    means = comparison.drift_in_units(fit[1].undo)
    assert {drift.feature for drift in means} == {0, 1}
    assert means[0].mean == pytest.approx(new[:-1, means[0].feature].mean())


def test_rows_like_those_of_the_fit_are_called_so(fit):
    text = texts_of(page_of(fit, draw(2))[1])
    assert "No row is unlike those of the fit" in text
    assert "Shares and means differ no more than chance explains" in text
    assert "Rows unlike anything in the fit" not in text


def test_without_a_comparison_there_is_no_section(fit):
    model, _, rows = fit
    assert "Compared with the fit" not in texts_of(Page(render(Fitted(model, rows))))


def test_names_of_rows_and_features_are_only_text(fit):
    new = np.vstack([draw(3, len(EVIL) - 2), [[4.0, 9e5], [900.0, 4.0]]])
    ids = [*EVIL[2:], *EVIL[:2]]
    _, page = page_of(fit, new, ids=ids, names=[EVIL[0], EVIL[1]])
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == 2
    assert "img" not in tags


def test_long_lists_are_shortened(fit):
    _, page = page_of(fit, np.vstack([draw(4), np.full((300, 2), 1e6)]))
    text = texts_of(page)
    assert "250 more are not listed" in text


def test_a_comparison_of_other_rows_is_refused(fit):
    model, _, rows = fit
    comparison = compare_with_fit(model, rows[:9], fitted_to=rows)
    with pytest.raises(ValueError, match="`comparison` must be 200 integers"):
        render(Fitted(model, rows, comparison=comparison))

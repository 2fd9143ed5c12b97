"""The report on new rows compares them with those of the fit."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.reports import EVIL, NONE, Page

from partita import KMeans, compare_with_fit
from partita.report import Fitted, render, summarise
from partita.report.comparisons.compared_with_fit import compared_with_fit
from partita.report.report_input import check_input
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


def fitted(fit, new, **more):
    model, scaling, rows = fit
    X = scaling.apply(new)
    comparison = compare_with_fit(model, X, fitted_to=rows)
    more = {"original": new, "scaling": scaling, "diagnosis": NONE, **more}
    return Fitted(model, X, comparison=comparison, **more)


def section_of(fit, new, **more):
    return compared_with_fit(check_input(fitted(fit, new, **more)))


def text_of(html):
    return " ".join(re.sub(r"<[^>]+>", "", html).replace("\u202f", " ").split())


def test_shares_means_and_strangers_stand_beside_the_fit(fit):
    new = np.vstack([draw(1, 100, 0.9), [[4.0, 90_000.0]]])
    record = fitted(fit, new, names=["length", "price"], group_names=["Short", "Long"])
    page = Page(render(record))
    assert "Compared with the fit" in page.text
    assert "The fit had 200 rows" in page.text
    assert "row 101" in page.text
    section = compared_with_fit(check_input(record))
    headline = text_of(section.headline)
    assert headline.startswith("101 new rows: 1 is unlike anything in the fit; “Group ")
    assert "(1 other group has changed too)" in headline
    means = record.comparison.drift_in_units(fit[1].undo)
    assert {drift.feature for drift in means} == {0, 1}
    assert means[0].mean == pytest.approx(new[:-1, means[0].feature].mean())
    assert [change.is_clear for change in section.means] == [True, True]


def test_the_names_of_groups_are_marked_for_editing(fit):
    record = fitted(fit, draw(1, 100, 0.9), group_names=["Short", "Long"])
    page = Page(render(record))
    marked = {j["data-name-of"] for tag, j in page.elements if "data-name-of" in j and tag == "bdi"}
    assert marked == {"0", "1"}
    assert "data-name-of" in compared_with_fit(check_input(record)).headline


def test_rows_like_those_of_the_fit_are_called_so(fit):
    section = section_of(fit, draw(2))
    assert text_of(section.headline) == "200 new rows are like those of the fit"
    assert section.advice == ["The groups still fit. There is no need to fit again."]
    assert not section.strangers
    assert not section.clear_means
    named = section_of(fit, draw(2), noun="customers")
    assert text_of(named.headline) == "200 new customers are like those of the fit"


def test_as_few_strangers_as_by_chance_change_nothing(fit):
    new = np.vstack([draw(3, 2000), [[4.0, 9e4]]])
    section = section_of(fit, new)
    assert text_of(section.headline) == (
        "2 001 new rows are like those of the fit (1 is unlike anything in it)"
    )
    assert section.advice[-1] == "The groups still fit. There is no need to fit again."


def test_the_largest_change_comes_first_and_few_groups_are_listed():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(30, 2)) * 100
    rows = centers[rng.integers(0, 30, 3000)] + rng.normal(size=(3000, 2))
    model = KMeans(30, init=centers, n_init=1).fit(rows)
    new = rows[model.labels_ != 7]
    comparison = compare_with_fit(model, new, fitted_to=rows)
    section = compared_with_fit(
        check_input(Fitted(model, new, comparison=comparison, diagnosis=NONE))
    )
    assert section.shares[0].number == 7
    assert section.shares[0].now == "0\u202f%"
    assert len(section.shares) == 20
    assert "And 10 more groups" in section.shares_note


def test_the_advice_depends_on_what_has_changed(fit):
    cases = {
        "Check first that these rows have the units": draw(3) * 1000,
        "Look at the rows that are unlike the fit": np.vstack([draw(3), [[0.0, 9e4]] * 3]),
        "So few are normal": np.vstack([draw(3, 2000), [[0.0, 9e4]]]),
        "The groups still hold": draw(3, 200, 0.9),
        "Ask why these columns have changed": draw(3, 200, 0.9),
        "Fewer than 20 rows are too few": draw(3, 5),
    }
    for words, new in cases.items():
        assert any(text.startswith(words) for text in section_of(fit, new).advice), words


def test_without_a_comparison_there_is_no_section(fit):
    model, _, rows = fit
    assert compared_with_fit(check_input(Fitted(model, rows))) is None
    assert "Compared with the fit" not in Page(render(Fitted(model, rows))).text


def test_names_of_rows_groups_and_features_are_only_text(fit):
    new = np.vstack([draw(3, len(EVIL) - 2), [[4.0, 9e5], [900.0, 4.0]]])
    ids = [*EVIL[2:], *EVIL[:2]]
    plain = Page(render(fitted(fit, new, ids=[str(i) for i in range(len(ids))])))
    hostile = {"ids": ids, "names": EVIL[:2], "group_names": EVIL[:2], "noun": EVIL[2]}
    page = Page(render(fitted(fit, new, **hostile)))
    tags = [[tag for tag, _ in each.elements] for each in (plain, page)]
    for tag in ("script", "img"):
        assert tags[0].count(tag) == tags[1].count(tag)
    assert not any(name.startswith("on") for _, found in page.elements for name in found)


def test_long_lists_are_shortened(fit):
    section = section_of(fit, np.vstack([draw(4), np.full((300, 2), 1e6)]))
    assert len(section.strangers) == 50
    assert [len(part) for part in section.parts_of_strangers] == [5, 45]
    assert "250 more are not listed" in section.strangers_note


def test_without_rows_strangers_are_only_counted(fit):
    new = np.vstack([draw(1, 100), [[4.0, 87_654.0], [5.0, 87_654.0]]])
    ids = [f"SECRET-{i}" for i in range(102)]
    section = section_of(fit, new, ids=ids, no_rows=True)
    assert not section.strangers
    assert section.strangers_note.startswith("2 rows of 102 are unlike the fit.")
    assert "SECRET" not in repr(section)
    few = section_of(fit, new[-3:], no_rows=True)  # whose means would show values
    assert not few.means


def test_a_comparison_of_other_rows_is_refused(fit):
    model, _, rows = fit
    comparison = compare_with_fit(model, rows[:9], fitted_to=rows)
    with pytest.raises(ValueError, match="`comparison` must be 200 integers"):
        render(Fitted(model, rows, comparison=comparison))


def test_a_group_without_new_rows_keeps_its_name_and_is_no_problem(fit):
    new = draw(1, 60, 0.0)  # of one group
    record = fitted(fit, new, group_names=["Short", "Long"], diagnosis=None)
    summary = summarise(record)
    assert sorted(group.name for group in summary.clusters) == ["Long", "Short"]
    assert min(group.size for group in summary.clusters) == 0
    assert "empty-clusters" not in {finding["name"] for finding in summary.findings}
    alone = summarise(replace(record, comparison=None))
    assert "empty-clusters" in {finding["name"] for finding in alone.findings}

"""Names of groups in a browser: edited, shown everywhere, saved as a new file that still works."""

from __future__ import annotations

import csv
import io
import json
import shlex

import numpy as np
import pytest
from helpers.browser import IN_BROWSER
from helpers.reports import NONE, Page, blobs

from partita import KMeans, choose_k
from partita.report import Fitted, write_report

pytestmark = IN_BROWSER
EVIL = "</script><img src=x onerror=alert(1)>&\"'"
NAMES = "[...document.querySelectorAll('[data-name-of=\"1\"]')].map(e => e.textContent)"


def rename(browser, name, group=1):
    browser.click("#rename")
    browser.run(
        f"(f => {{ f.value = {json.dumps(name)}; f.dispatchEvent(new Event('input')) }})"
        f"(document.querySelector('input[data-field=\"{group}\"]'))"
    )


def test_a_new_name_is_shown_wherever_the_group_is(browser, wine_page):
    browser.open(wine_page)
    before = browser.run(NAMES)
    assert len(before) >= 4  # card, tables, legend, …
    assert len(set(before)) == 1
    rename(browser, "Loyal")
    assert set(browser.run(NAMES)) == {"Loyal"}
    browser.click("#done")
    assert browser.run("document.querySelectorAll('.card input').length") == 0
    assert set(browser.run(NAMES)) == {"Loyal"}
    assert browser.complaints == []


def test_names_are_edited_by_keys_alone(browser, wine_page):
    browser.open(wine_page)
    browser.run("document.getElementById('rename').focus()")
    browser.press("Enter")
    assert browser.run("document.activeElement.dataset.field") is not None
    browser.press("Control+a")
    for letter in "Abc":
        browser.press(letter)
    browser.press("Escape")
    assert browser.run("document.getElementById('naming').hidden")
    assert browser.run("document.activeElement.id") == "rename"
    assert browser.run("document.querySelector('.card [data-name-of]').textContent") == "Abc"


@pytest.mark.parametrize("name", ["Loyal", EVIL, "\u05d2\u05d9\u05dc", "a\tb\u202ec", "{{ 7*7 }}"])
def test_the_page_saves_itself_with_the_new_names(browser, wine_page, tmp_path, name):
    browser.open(wine_page)
    rename(browser, name)
    file, content = browser.download("#save")
    assert file == "wine report-named.html"
    saved = tmp_path / file
    saved.write_bytes(content)
    shown = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    before, after = Page(wine_page.read_text()), Page(content.decode())
    assert after.shape == before.shape
    assert after.names[1] == shown
    for part in ("script", "style", "data"):
        assert after.raw[part] == before.raw[part]
    browser.open(saved)  # it works like the first one, from a file
    assert browser.complaints == []
    assert browser.dialogs == []
    assert browser.requests() == []
    assert set(browser.run(NAMES)) == {shown}
    rename(browser, "Again")
    again = browser.download("#save")[1]
    assert Page(again.decode()).names[1] == "Again"


def test_an_empty_name_is_the_number(browser, wine_page):
    browser.open(wine_page)
    rename(browser, "  ")
    assert set(browser.run(NAMES)) == {"Group 1"}


def test_names_for_the_command_line_are_read_by_it(browser, wine_page):
    from partita.cli.group_names import read_names

    browser.open(
        wine_page, before="Object.defineProperty(navigator, 'clipboard', { value: undefined })"
    )
    rename(browser, 'Young, "loyal" & it\'s=5')
    browser.click("#copy")
    words = shlex.split(browser.run("document.getElementById('naming-note').textContent"))
    assert words[0] == "--names"
    assert read_names([words[1]])[1] == 'Young, "loyal" & it\'s=5'


def test_tables_are_saved_as_csv_without_formulas(browser, tmp_path):
    X = blobs(60)
    model = KMeans(3, random_state=0).fit(X)
    names = ["=1+1", "@x", 'quote"comma,', "plain"]
    write_report(tmp_path / "a.html", Fitted(model, X, names=names, diagnosis=NONE))
    browser.open(tmp_path / "a.html")
    file, content = browser.download("button[data-table='profile-table']")
    assert file == "profile.csv"
    rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
    assert {row[0] for row in rows[1:]} == {"'=1+1", "'@x", 'quote"comma,', "plain"}
    assert len({len(row) for row in rows}) == 1
    values = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
    order = [["'=1+1", "'@x", 'quote"comma,', "plain"].index(row[0]) for row in rows[1:]]
    np.testing.assert_allclose(values[:, 0], X.mean(axis=0)[order], rtol=0.05, atol=0.1)
    file, content = browser.download("button[data-table='groups-table']")
    assert file == "groups.csv"
    assert len(list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))) == 4


def test_paper_shows_the_choice_of_k_and_what_the_reader_has_unfolded(browser, wine_page):
    browser.open(wine_page)
    browser.run("document.getElementById('tree').open = true")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    is_open = "['choice', 'tree', 'silhouette'].map(id => document.getElementById(id).open)"
    assert browser.run(is_open) == [True, True, False]
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run(is_open) == [False, True, False]


def test_the_reason_for_no_groups_unfolds_itself(browser, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 3))
    sweep = choose_k(X, random_state=0)
    write_report(tmp_path / "report.html", Fitted(sweep.model(), X, sweep=sweep))
    browser.open(tmp_path / "report.html")
    browser.click("[href='#reasons']")
    assert browser.run("document.getElementById('choice').open")

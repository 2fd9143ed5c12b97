"""The report in a browser: silent, alone, and it does what a reader expects."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest
from helpers.browser import IN_BROWSER, point_at_a_row
from helpers.reports import EVIL

from partita import KMeans
from partita.cli.command_group import app
from partita.report import Fitted, write_report

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    """The report of `partita demo`, with paths that do not depend on the temporary folder."""
    folder = tmp_path_factory.mktemp("report")
    with contextlib.chdir(folder), pytest.raises(SystemExit, match=r"^0$"):
        app(["demo", "demo"])
    return folder / "demo" / "wine.html"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    X = np.random.default_rng(0).normal(size=(60, len(EVIL)))
    path = tmp_path_factory.mktemp("report") / "hostile.html"
    ids = [EVIL[i % len(EVIL)] + str(i) for i in range(60)]
    made = Fitted(
        KMeans(20, random_state=0).fit(X),  # tables wider than the window
        X,
        names=EVIL,
        ids=ids,
        source=EVIL[1],
        command="".join(EVIL),
        left_out=dict.fromkeys(EVIL, EVIL[1]),
    )
    write_report(path, made)
    return path


@pytest.mark.parametrize("width", [400, 1200, 1600])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_opens_in_silence_and_fits_the_window(browser, wine, width, dark):
    browser.open(wine, width, 900, dark=dark)
    point_at_a_row(browser)
    assert browser.complaints == []
    assert browser.requests() == []
    assert browser.run("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [400, 1600])
def test_hostile_text_runs_nothing_and_fits_the_window(browser, hostile, width):
    browser.open(hostile, width, 900)
    point_at_a_row(browser)
    assert browser.complaints == []
    assert browser.requests() == []
    assert browser.dialogs == []
    assert browser.run("document.querySelectorAll('img, iframe, object').length") == 0
    assert browser.run("document.documentElement.scrollWidth") <= width


def test_the_switch_turns_light_into_dark(browser, wine):
    browser.open(wine)
    paper = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(paper)
    browser.click("#theme")
    assert browser.run(paper) != light
    browser.click("#theme")
    assert browser.run(paper) == light


@pytest.mark.parametrize("width", [400, 700])
def test_nothing_overlaps_in_a_narrow_window(browser, many_page, hostile, width):
    for path in (many_page, hostile):
        browser.open(path, width, 800)
        wide = browser.run(
            "[...document.querySelectorAll('.clusters td')].filter(e => "
            "e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"
        )
        assert wide == []
    assert browser.run("getComputedStyle(document.querySelector('nav')).scrollbarWidth") == "none"


def test_the_first_screen_of_a_phone_holds_the_sentence_the_grade_and_the_first_group(
    browser, wine
):
    browser.open(wine, 400, 700)
    for part in ("h1", ".grade", ".card"):
        assert browser.run(f"document.querySelector('{part}').getBoundingClientRect().bottom") < 700


def test_bars_and_facts_of_neighbouring_groups_are_level(browser, wine):
    browser.open(wine)
    for part in (".size .bar", ".facts3"):
        tops = browser.run(
            f"[...document.querySelectorAll('.card {part}')]"
            ".map(e => e.getBoundingClientRect().top)"
        )
        assert len(tops) == 3
        assert max(tops) - min(tops) < 1


PAPER = 700  # pixels between the margins of A4, and of US letter
PAGE = 980  # pixels between the upper and the lower


@pytest.mark.parametrize("name", ["wine", "many_page", "hostile", "flat_page"])
def test_paper_holds_all_of_it(browser, name, request):
    browser.open_as_print(request.getfixturevalue(name), PAPER)
    beyond = browser.run(
        "[...document.querySelectorAll('main *, header *')].filter(e => e.checkVisibility() && "
        f"(e.getBoundingClientRect().right > {PAPER} + 1 || (e.scrollWidth > e.clientWidth + 1 && "
        "getComputedStyle(e).overflowX !== 'visible'))).map(e => e.tagName + e.className)"
    )
    assert beyond == []
    assert browser.run("document.documentElement.scrollWidth") <= PAPER
    assert (
        browser.run("(e => e.scrollHeight - e.clientHeight)(document.querySelector('.legend'))")
        <= 0
    )
    heights = browser.run(
        "[...document.querySelectorAll('main *')].filter(e => e.checkVisibility() && "
        "getComputedStyle(e).breakInside === 'avoid').map(e => e.getBoundingClientRect().height)"
    )
    assert max(heights) < PAGE - 60  # else it leaves a page with a heading and nothing else
    assert browser.run("getComputedStyle(document.querySelector('.legend')).maxHeight") == "none"
    assert "Point at a row" not in browser.run("document.body.innerText")
    traits = browser.run("document.querySelector('td.traits').offsetWidth")
    assert traits > 0.3 * PAPER


@pytest.mark.parametrize(("name", "most"), [("wine", 9), ("many_page", 32), ("flat_page", 6)])
def test_it_prints(browser, name, most, request, tmp_path):
    browser.open(request.getfixturevalue(name), dark=True)
    browser.print_pdf(tmp_path / "report.pdf")
    content = (tmp_path / "report.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", content)) <= most
    assert browser.complaints == []

"""The report in a browser: silent, alone, and it does what a reader expects."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from browser import Browser, program
from sklearn.datasets import load_wine
from test_report import EVIL

from partita import KMeans
from partita.report import Fitted, write_report

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(program() is None, reason="Chromium is not installed (make browser)"),
]
TIP = "document.getElementById('tip')"


@pytest.fixture(scope="module")
def browser():
    opened = Browser()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    """What `partita demo` writes, which is what `make demo` runs."""
    folder = tmp_path_factory.mktemp("report") / "demo"
    command = [sys.executable, "-m", "partita", "demo", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "wine.html"


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


def point_at_a_row(browser):
    """Move the mouse over the map until a row answers; where that was."""
    left, top, wide, high = browser.run(
        "(() => { const c = document.getElementById('canvas');"
        "c.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const b = c.getBoundingClientRect(); return [b.x, b.y, b.width, b.height] })()"
    )
    for v in np.linspace(0.3, 0.7, 9):
        for u in np.linspace(0.3, 0.7, 25):
            x, y = left + u * wide, top + v * high
            browser.mouse("mouseMoved", x, y)
            if not browser.run(f"{TIP}.hidden"):
                return x, y
    raise AssertionError("no row answers")


@pytest.mark.parametrize("width", [400, 1200, 1600])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_opens_in_silence_and_fits_the_window(browser, wine, width, dark):
    browser.open(wine, width, 900, dark)
    point_at_a_row(browser)
    assert browser.complaints() == []
    assert browser.requests() == []
    assert browser.run("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [400, 1600])
def test_hostile_text_runs_nothing_and_fits_the_window(browser, hostile, width):
    browser.open(hostile, width, 900)
    point_at_a_row(browser)
    assert browser.complaints() == []
    assert browser.requests() == []
    assert not any("Dialog" in event.get("method", "") for event in browser.events)
    assert browser.run("document.querySelectorAll('img, iframe, object').length") == 0
    assert browser.run("document.documentElement.scrollWidth") <= width


def test_pointing_at_a_row_shows_its_id_cluster_and_values(browser, wine):
    browser.open(wine)
    assert browser.run(f"{TIP}.hidden")
    point_at_a_row(browser)
    text = browser.run(f"{TIP}.innerText")
    data = load_wine()
    row = int(text.split()[1]) - 1
    assert text.startswith("wine ")
    assert "cluster " in text
    shown = browser.run(f"[...{TIP}.querySelectorAll('dd')].map(e => e.textContent)")
    assert [float(value) for value in shown] == pytest.approx(data.data[row].tolist(), rel=1e-5)
    browser.mouse("mouseMoved", 1, 1)
    assert browser.run(f"{TIP}.hidden")


def test_a_cluster_can_be_hidden_and_shown(browser, wine):
    browser.open(wine)
    pixels = (
        "(() => { const c = document.getElementById('canvas'); const d = c.getContext('2d')"
        ".getImageData(0, 0, c.width, c.height).data; let s = 0;"
        "for (let i = 0; i < d.length; i += 4) s += d[i] * 3 + d[i + 1] * 5 + d[i + 2] * 7;"
        "return s })()"
    )
    count = "document.getElementById('count').textContent"
    before, words = browser.run(pixels), browser.run(count)
    assert words.startswith("178 rows")
    browser.click(".entry[data-cluster='1']")
    assert (
        browser.run("document.querySelector('.entry[data-cluster=\"1\"]').ariaPressed") == "false"
    )
    assert browser.run(pixels) != before
    assert "of 178 rows" in browser.run(count)
    assert int(browser.run(count).split()[0]) < 178
    browser.click("#all")
    assert browser.run(count) == words
    browser.mouse("mouseMoved", 1, 1)
    assert browser.run(pixels) == before


def test_the_keyboard_goes_from_row_to_row(browser, wine):
    browser.open(wine)
    browser.run("document.getElementById('canvas').focus()")
    seen = []
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft"):
        browser.key(key)
        seen.append(browser.run(f"{TIP}.innerText"))
    assert len(set(seen)) >= 3
    browser.key("Escape")
    assert browser.run(f"{TIP}.hidden")
    picture = "document.getElementById('canvas').toDataURL()"
    before = browser.run(picture)
    browser.key("+")
    assert browser.run(picture) != before
    browser.key("-")
    assert browser.run(picture) == before


def test_the_switch_turns_light_into_dark(browser, wine):
    browser.open(wine)
    paper = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(paper)
    browser.click("#theme")
    assert browser.run(paper) != light
    browser.click("#theme")
    assert browser.run(paper) == light


def test_it_zooms_and_comes_home(browser, wine):
    browser.open(wine)
    picture = "document.getElementById('canvas').toDataURL()"
    before = browser.run(picture)
    browser.click("#in")
    assert browser.run(picture) != before
    browser.click("#home")
    assert browser.run(picture) == before


def test_it_prints(browser, wine, tmp_path):
    browser.open(wine)
    browser.pdf(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    assert browser.complaints() == []

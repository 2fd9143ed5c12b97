"""The report in a browser: silent, alone, and it does what a reader expects."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest
from helpers.browser import Browser, why_absent
from helpers.reports import EVIL, NONE
from sklearn.datasets import load_wine

from partita import KMeans
from partita.cli.command_group import app
from partita.report import Fitted, map_data, write_report
from partita.report.page_text import value_text

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(why_absent() is not None, reason=str(why_absent())),
]
TIP = "document.getElementById('tip')"
PICTURE = "document.getElementById('canvas').toDataURL()"


@pytest.fixture(scope="module")
def browser():
    opened = Browser()
    yield opened
    opened.close()


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


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A hundred clusters, more features than a phone is wide."""
    X = np.random.default_rng(0).normal(size=(4000, 16)) * 1e7
    path = tmp_path_factory.mktemp("report") / "many.html"
    ids = [f"a rather long identifier of row number {i}" for i in range(len(X))]
    model = KMeans(100, random_state=0, max_iter=3).fit(X)
    write_report(path, Fitted(model, X, ids=ids, diagnosis=NONE))
    return path


@pytest.fixture(scope="module")
def flat(tmp_path_factory):
    """Two features whose numbers are long."""
    X = np.random.default_rng(0).normal(size=(500, 2)) * 1e6 + 1e8
    path = tmp_path_factory.mktemp("report") / "flat.html"
    model = KMeans(3, random_state=0).fit(X)
    write_report(path, Fitted(model, X, names=["first", "second"], diagnosis=NONE))
    return path


def map_of(browser):
    """Where the map is in the window: left, top, width, height."""
    return browser.run(
        "(() => { const c = document.getElementById('canvas');"
        "c.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const b = c.getBoundingClientRect(); return [b.x, b.y, b.width, b.height] })()"
    )


def point_at_a_row(browser):
    """Move the mouse over the map until a row answers; where that was."""
    left, top, wide, high = map_of(browser)
    for v in np.linspace(0.3, 0.7, 9):
        for u in np.linspace(0.3, 0.7, 25):
            x, y = left + u * wide, top + v * high
            browser.move_mouse(x, y)
            if not browser.run(f"{TIP}.hidden"):
                return x, y
    raise AssertionError("no row answers")


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
    browser.move_mouse(1, 1)
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
    browser.move_mouse(1, 1)
    assert browser.run(pixels) == before


def test_the_keyboard_goes_from_row_to_row(browser, wine):
    browser.open(wine)
    browser.run("document.getElementById('canvas').focus()")
    seen = []
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft"):
        browser.press(key)
        seen.append(browser.run(f"{TIP}.innerText"))
    assert len(set(seen)) >= 3
    browser.press("Escape")
    assert browser.run(f"{TIP}.hidden")
    before = browser.run(PICTURE)
    browser.press("+")
    assert browser.run(PICTURE) != before
    browser.press("-")
    assert browser.run(PICTURE) == before


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
    before = browser.run(PICTURE)
    browser.click("#in")
    assert browser.run(PICTURE) != before
    browser.click("#home")
    assert browser.run(PICTURE) == before


def test_a_narrow_window_shows_few_features_of_a_row(browser, wine):
    browser.open(wine, 400, 800)
    point_at_a_row(browser)
    assert browser.run(f"{TIP}.querySelectorAll('dt').length") == 6
    assert "and 7 more" in browser.run(f"{TIP}.innerText")


def test_values_are_written_as_in_the_tables(browser, wine):
    browser.open(wine)
    numbers = [0.0, -3.0, 1234567.0, -123456789012345.0, 1234567.8, 99999.95, 12345.678, 0.1 + 0.2]
    numbers += [1e15, -2.5e300, 1e-7, 0.000123456789, 0.00001234, 5e-324]
    assert browser.run(f"{numbers}.map(valueText)") == [value_text(x) for x in numbers]
    assert browser.run("[NaN, Infinity].map(valueText)") == ["missing", "∞"]


def test_a_zoomed_map_follows_the_finger_in_all_directions(browser, wine):
    browser.open(wine, 400, 800, has_touch=True)
    browser.click("#in")
    browser.click("#in")
    left, top, wide, high = map_of(browser)
    for dx, dy in ((0, -60), (-60, 0)):
        before = browser.run(f"[scrollY, {PICTURE}]")
        browser.swipe(left + wide / 2, top + high / 2, dx, dy)
        after = browser.run(f"[scrollY, {PICTURE}]")
        assert after[0] == before[0]
        assert after[1] != before[1]
    browser.click("#home")
    assert browser.run("getComputedStyle(canvas).touchAction") == "pan-y"


def test_a_map_cannot_be_moved_off_its_rows(browser, wine):
    browser.open(wine)
    browser.click("#in")
    left, top, wide, high = map_of(browser)
    middle = left + wide / 2, top + high / 2
    for dx, dy in ((0.4 * wide, 0), (0, 0.4 * high), (-0.4 * wide, -0.4 * high)):
        seen = []
        for _ in range(4):
            browser.drag(*middle, dx, dy)
            seen.append(browser.run(PICTURE))
        assert seen[-2] == seen[-1]
    point_at_a_row(browser)


def test_arrows_bring_rows_into_view(browser, wine):
    browser.open(wine)
    browser.run("document.getElementById('canvas').focus()")
    for _ in range(6):
        browser.press("+")
    for key in ["ArrowRight"] * 12 + ["ArrowUp"] * 8 + ["ArrowLeft"] * 20:
        browser.press(key)
    with_ring = browser.run(PICTURE)
    assert not browser.run(f"{TIP}.hidden")
    browser.press("Escape")
    assert browser.run(PICTURE) != with_ring


def watch(browser, path):
    """Open a report and keep what is painted on canvases, call by call."""
    script = """
    window.said = []; window.stamped = [];
    const pen = CanvasRenderingContext2D.prototype, { fillText, drawImage } = pen;
    pen.fillText = function (text, ...rest) {
      const at = this.getTransform().transformPoint(new DOMPoint(rest[0], rest[1]));
      const wide = this.measureText(text).width, fits = wide <= (rest[2] ?? Infinity);
      said.push({ text: String(text), x: at.x, wide, fits, align: this.textAlign });
      return fillText.call(this, text, ...rest);
    };
    pen.drawImage = function (image, ...rest) {
      if (rest.length === 4) stamped.push(rest[2]);
      return drawImage.call(this, image, ...rest);
    };"""
    browser.open(path, before=script)


def test_the_name_of_an_axis_and_its_numbers_have_room(browser, flat):
    watch(browser, flat)
    said = browser.run("said")
    name = next(one for one in said if one["text"] == "second")
    numbers = [one for one in said if one["align"] == "right"]
    assert len(numbers) >= 3
    assert any(len(one["text"]) > 9 for one in numbers)
    assert all(one["fits"] and one["x"] - one["wide"] >= name["x"] + 4 for one in numbers)


def test_marks_of_many_clusters_are_large_enough_to_be_told_apart(browser, many):
    watch(browser, many)
    assert min(browser.run("stamped")) >= 2.6 * 2.2 + 2  # room for pointed marks, and some air


def test_it_paints_once_a_frame(browser, many):
    watch(browser, many)
    browser.click("#in")
    browser.run(
        "(() => { said.length = 0; const at = (kind, x) => canvas.dispatchEvent("
        "new PointerEvent(kind, { clientX: x, clientY: 9, pointerId: 1 }));"
        "canvas.setPointerCapture = () => {}; at('pointerdown', 0);"
        "for (let x = 1; x < 60; x += 1) at('pointermove', x); at('pointercancel', 0) })()"
    )
    browser.settle()
    assert browser.run("said.filter((one) => one.text.startsWith('first principal')).length") == 1


def test_the_legend_begins_with_all_and_says_that_it_goes_on(browser, many, wine):
    legend = "document.querySelector('.legend')"
    browser.open(many)
    assert browser.run(f"{legend}.firstElementChild.id") == "all"
    assert browser.run("document.getElementById('all').offsetHeight") > 0
    assert browser.run(f"{legend}.classList.contains('more')")
    browser.run(f"{legend}.scrollTop = 1e6")
    browser.settle()
    assert not browser.run(f"{legend}.classList.contains('more')")
    top = f"{legend}.getBoundingClientRect().top"
    assert browser.run(f"document.getElementById('all').getBoundingClientRect().top - {top}") < 9
    browser.open(wine)
    assert not browser.run(f"{legend}.classList.contains('more')")


def test_a_sample_of_rows_is_counted_once(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(map_data, "MAX_ROWS", 200)
    X = np.random.default_rng(0).normal(size=(500, 3))
    write_report(tmp_path / "some.html", Fitted(KMeans(2).fit(X), X, diagnosis=NONE))
    browser.open(tmp_path / "some.html")
    section = "document.getElementById('map').parentElement.innerText"
    assert browser.run(section).count("200") == 1
    browser.click(".entry[data-cluster='1']")
    assert " of 200 rows are shown." in browser.run(section)


@pytest.mark.parametrize("width", [400, 700])
def test_nothing_overlaps_in_a_narrow_window(browser, many, hostile, width):
    for path in (many, hostile):
        browser.open(path, width, 800)
        wide = browser.run(
            "[...document.querySelectorAll('.clusters td')].filter(e => "
            "e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"
        )
        assert wide == []
    assert browser.run("getComputedStyle(document.querySelector('nav')).scrollbarWidth") == "none"


PAPER = 700  # pixels between the margins of A4, and of US letter
PAGE = 980  # pixels between the upper and the lower


@pytest.mark.parametrize("name", ["wine", "many", "hostile", "flat"])
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


@pytest.mark.parametrize(("name", "most"), [("wine", 9), ("many", 32), ("flat", 6)])
def test_it_prints(browser, name, most, request, tmp_path):
    browser.open(request.getfixturevalue(name), dark=True)
    browser.print_pdf(tmp_path / "report.pdf")
    content = (tmp_path / "report.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", content)) <= most
    assert browser.complaints == []

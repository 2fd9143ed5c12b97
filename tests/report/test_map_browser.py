"""The map in a browser: mouse, fingers and keys, zoom, the legend, finding a row."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.browser import IN_BROWSER, map_box, point_at_a_row
from helpers.reports import NONE, blobs, saved
from sklearn.datasets import load_wine

from partita import KMeans
from partita._common.number_text import value_text
from partita.report import Fitted, write_report
from partita.report.map import map_data

pytestmark = IN_BROWSER
TIP = "document.getElementById('tip')"
PICTURE = "document.getElementById('canvas').toDataURL()"
COUNT = "document.getElementById('count').textContent"
FOUND = "document.getElementById('found').textContent"
PIXELS = (
    "(() => { const c = document.getElementById('canvas'); const d = c.getContext('2d')"
    ".getImageData(0, 0, c.width, c.height).data; let s = 0;"
    "for (let i = 0; i < d.length; i += 4) s += d[i] * 3 + d[i + 1] * 5 + d[i + 2] * 7;"
    "return s })()"
)


@pytest.fixture(scope="module")
def far(tmp_path_factory):
    """Four groups, and one row very far from them; two rows have the same id."""
    X = blobs(400, k=4, d=3)
    X[7] = 1e6
    ids = [f"c{i}" for i in range(399)] + ["c0"]
    made = Fitted(KMeans(5, random_state=0, n_init=3).fit(X), X, ids=ids, diagnosis=NONE)
    return saved(tmp_path_factory.mktemp("far") / "far.html", made)


# --- rows --------------------------------------------------------------------------------------


def test_pointing_at_a_row_shows_its_id_group_and_values(browser, wine_page):
    browser.open(wine_page)
    assert browser.run(f"{TIP}.hidden")
    point_at_a_row(browser)
    text = browser.run(f"{TIP}.innerText")
    row = int(text.split()[1])
    assert text.startswith("wine ")
    assert "group " in text
    shown = browser.run(f"[...{TIP}.querySelectorAll('dd')].map(e => e.textContent)")
    values = [float(value.replace("\u202f", "")) for value in shown]
    assert values == pytest.approx(load_wine().data[row].tolist(), rel=1e-5)
    browser.move_mouse(1, 1)
    assert browser.run(f"{TIP}.hidden")


def test_the_keyboard_goes_from_row_to_row(browser, wine_page):
    browser.open(wine_page)
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


def test_a_narrow_window_shows_few_features_of_a_row(browser, wine_page):
    browser.open(wine_page, 400, 800)
    point_at_a_row(browser)
    assert browser.run(f"{TIP}.querySelectorAll('dt').length") == 6
    assert "and 7 more" in browser.run(f"{TIP}.innerText")


def test_values_are_written_as_in_the_tables(browser, wine_page):
    browser.open(wine_page)
    numbers = [0.0, -3.0, 1234567.0, -123456789012345.0, 1234567.8, 99999.95, 12345.678, 0.1 + 0.2]
    numbers += [1e15, -2.5e300, 1e-7, 0.000123456789, 0.00001234, 5e-324]
    assert browser.run(f"{numbers}.map(valueText)") == [value_text(x) for x in numbers]
    assert browser.run("[NaN, Infinity].map(valueText)") == ["missing", "∞"]
    assert browser.run("[0, 19000.5, -1].map(dayText)") == [
        "1970-01-01",
        "2022-01-08",
        "1969-12-31",
    ]


def test_arrows_bring_rows_into_view(browser, wine_page):
    browser.open(wine_page)
    browser.run("document.getElementById('canvas').focus()")
    for _ in range(6):
        browser.press("+")
    for key in ["ArrowRight"] * 12 + ["ArrowUp"] * 8 + ["ArrowLeft"] * 20:
        browser.press(key)
    with_ring = browser.run(PICTURE)
    assert not browser.run(f"{TIP}.hidden")
    browser.press("Escape")
    assert browser.run(PICTURE) != with_ring


def test_a_sample_of_rows_is_counted_once(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(map_data, "MAX_ROWS", 200)
    X = np.random.default_rng(0).normal(size=(500, 3))
    write_report(tmp_path / "some.html", Fitted(KMeans(2).fit(X), X, diagnosis=NONE))
    browser.open(tmp_path / "some.html")
    section = "document.getElementById('map').parentElement.innerText"
    assert browser.run(section).count("200") == 1
    browser.click(".entry[data-cluster='1']")
    assert " of 200 rows are shown." in browser.run(section)
    drawn = set(browser.run("[...unpack(JSON.parse(data.textContent).rows, 'u4')]"))
    absent = next(i for i in range(1, 501) if i not in drawn)
    browser.type_text("#find", str(absent))
    assert browser.run(FOUND) == f"Row {absent} is not drawn: the map draws 200 of 500 rows."


# --- zoom --------------------------------------------------------------------------------------


def test_it_zooms_and_comes_home(browser, wine_page):
    browser.open(wine_page)
    before = browser.run(PICTURE)
    browser.click("#in")
    assert browser.run(PICTURE) != before
    browser.click("#home")
    assert browser.run(PICTURE) == before


@pytest.mark.parametrize("how", ["wheel", "double click"])
def test_it_zooms_at_the_pointer(browser, wine_page, how):
    browser.open(wine_page)
    point_at_a_row(browser)
    left, top = map_box(browser)[:2]
    x = left + browser.run(f"parseFloat({TIP}.style.left)") - 16  # the row is left of its tip
    y = top + browser.run(f"parseFloat({TIP}.style.top)") + 20
    name = browser.run(f"{TIP}.innerText")
    before = browser.run("scrollY")
    if how == "wheel":
        browser.wheel(x, y, -100, control=True)
    else:
        browser.double_click(x, y)
    browser.move_mouse(1, 1)
    browser.move_mouse(x, y)
    assert browser.run(f"{TIP}.innerText") == name
    assert browser.run("scrollY") == before
    assert browser.run("canvas.classList.contains('zoomed')")


def test_the_wheel_alone_scrolls_the_page(browser, wine_page):
    browser.open(wine_page)
    left, top, _, high = map_box(browser)
    before = browser.run("scrollY")
    browser.wheel(left + 5, top + high / 2, 100)
    for _ in range(100):  # scrolling takes some frames
        if browser.run("scrollY") > before:
            break
        browser.settle()
    assert browser.run("scrollY") > before
    assert not browser.run("canvas.classList.contains('zoomed')")


def test_a_zoomed_map_follows_the_finger_in_all_directions(browser, wine_page):
    browser.open(wine_page, 400, 800, has_touch=True)
    browser.click("#in")
    browser.click("#in")
    left, top, wide, high = map_box(browser)
    for dx, dy in ((0, -60), (-60, 0)):
        before = browser.run(f"[scrollY, {PICTURE}]")
        browser.swipe(left + wide / 2, top + high / 2, dx, dy)
        after = browser.run(f"[scrollY, {PICTURE}]")
        assert after[0] == before[0]
        assert after[1] != before[1]
    browser.click("#home")
    assert browser.run("getComputedStyle(canvas).touchAction") == "pan-y"


def test_two_fingers_zoom_and_the_page_stays(browser, wine_page):
    browser.open(wine_page, 400, 800, has_touch=True)
    left, top, wide, high = map_box(browser)
    before = browser.run("scrollY")
    browser.pinch(left + wide / 2, top + high / 2, 60, 180)
    assert browser.run("scrollY") == before
    assert browser.run("canvas.classList.contains('zoomed')")
    browser.pinch(left + wide / 2, top + high / 2, 200, 20)
    assert not browser.run("canvas.classList.contains('zoomed')")


def test_a_map_cannot_be_moved_off_its_rows(browser, wine_page):
    browser.open(wine_page)
    browser.click("#in")
    left, top, wide, high = map_box(browser)
    middle = left + wide / 2, top + high / 2
    for dx, dy in ((0.4 * wide, 0), (0, 0.4 * high), (-0.4 * wide, -0.4 * high)):
        seen = []
        for _ in range(4):
            browser.drag(*middle, dx, dy)
            seen.append(browser.run(PICTURE))
        assert seen[-2] == seen[-1]
    point_at_a_row(browser)


# --- groups ------------------------------------------------------------------------------------


def test_a_group_can_be_hidden_and_shown(browser, wine_page):
    browser.open(wine_page)
    before, words = browser.run(PIXELS), browser.run(COUNT)
    assert words.startswith("178 rows")
    browser.click(".entry[data-cluster='1']")
    assert (
        browser.run("document.querySelector('.entry[data-cluster=\"1\"]').ariaPressed") == "false"
    )
    assert browser.run(PIXELS) != before
    assert "of 178 rows" in browser.run(COUNT)
    assert int(browser.run(COUNT).split()[0]) < 178
    browser.click("#all")
    assert browser.run(COUNT) == words
    browser.move_mouse(1, 1)
    browser.settle()
    assert browser.run(PIXELS) == before


@pytest.mark.parametrize("by_key", [False, True], ids=["click", "key"])
def test_one_group_alone_can_be_shown_in_one_action(browser, wine_page, by_key):
    browser.open(wine_page)
    map_box(browser)  # at once: focus would scroll smoothly, and clicks would miss
    rows = int(browser.run(COUNT).split()[0])
    sizes = {}
    for j in range(3):
        if by_key:
            browser.run(f"document.querySelector('[data-only=\"{j}\"]').focus()")
            browser.press("Enter")
        else:
            browser.click(f"[data-only='{j}']")
        sizes[j] = int(browser.run(COUNT).split()[0])
        pressed = browser.run(
            "[...document.querySelectorAll('.entry[aria-pressed=\"true\"]')]"
            ".map(e => Number(e.dataset.cluster))"
        )
        assert pressed == [j]
    assert sum(sizes.values()) == rows
    browser.click("[data-only='2']")  # once more: all of them
    assert int(browser.run(COUNT).split()[0]) == rows


def test_the_legend_begins_with_all_and_says_that_it_goes_on(browser, many_page, wine_page):
    legend = "document.querySelector('.legend')"
    browser.open(many_page)
    assert browser.run(f"{legend}.firstElementChild.id") == "all"
    assert browser.run("document.getElementById('all').offsetHeight") > 0
    assert browser.run(f"{legend}.classList.contains('more')")
    browser.run(f"{legend}.scrollTop = 1e6")
    browser.settle()
    assert not browser.run(f"{legend}.classList.contains('more')")
    top = f"{legend}.getBoundingClientRect().top"
    assert browser.run(f"document.getElementById('all').getBoundingClientRect().top - {top}") < 9
    browser.open(wine_page)
    assert not browser.run(f"{legend}.classList.contains('more')")


def test_pointing_at_a_row_marks_its_group_everywhere(browser, wine_page):
    browser.open(wine_page)
    point_at_a_row(browser)
    j = browser.run(f"{TIP}.innerText").split("group ")[1][0]
    marked = "[...document.querySelectorAll('.pointed')].map(e => e.dataset.group)"
    assert set(browser.run(marked)) == {j}
    places = f"document.querySelectorAll('[data-group=\"{j}\"]').length"
    assert len(browser.run(marked)) == browser.run(places)
    browser.move_mouse(1, 1)
    assert browser.run(marked) == []


def test_pointing_at_a_group_elsewhere_fades_the_others_on_the_map(browser, wine_page):
    browser.open(wine_page)
    map_box(browser)
    browser.settle()
    before = browser.run(PIXELS)
    browser.run(
        "document.querySelector('.entry-pair[data-group=\"1\"]')"
        ".dispatchEvent(new PointerEvent('pointerover', { bubbles: true }))"
    )
    browser.settle()
    assert browser.run(PIXELS) != before
    browser.run("document.body.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }))")
    browser.settle()
    assert browser.run(PIXELS) == before
    browser.run("document.querySelector('.entry[data-cluster=\"0\"]').focus()")
    browser.settle()
    assert browser.run(PIXELS) != before


def test_outliers_are_left_out_counted_and_can_be_shown(browser, far, wine_page):
    browser.open(far)
    assert browser.run("document.getElementById('near').checked")
    assert "1 row lies outside this view" in browser.run(COUNT)
    before = browser.run(PIXELS)
    browser.click("#near")
    assert "outside" not in browser.run(COUNT)
    assert browser.run(PIXELS) != before
    browser.open(wine_page)
    assert browser.run("document.getElementById('far').hidden")
    assert "outside" not in browser.run(COUNT)


# --- finding a row -----------------------------------------------------------------------------


def test_a_row_is_found_by_id_and_by_number(browser, wine_page):
    browser.open(wine_page)
    for text in ("wine 17", "WINE 17 ", "18", "row 18"):
        browser.type_text("#find", "")
        browser.type_text("#find", text)
        assert browser.run(f"{TIP}.innerText").startswith("wine 17\n")
        assert "row 18" in browser.run(f"{TIP}.innerText")
        assert browser.run(FOUND) == "wine 17 is ringed."
    browser.type_text("#find", "nobody")
    assert browser.run(FOUND) == "“nobody” is not on this map."
    assert browser.run(f"{TIP}.hidden")


def test_rows_with_the_same_id_are_shown_one_after_the_other(browser, far):
    browser.open(far)
    browser.type_text("#find", "c0")
    assert "1 of 2 that match" in browser.run(FOUND)
    first = browser.run(f"{TIP}.innerText")
    browser.press("Enter")
    assert "2 of 2 that match" in browser.run(FOUND)
    assert browser.run(f"{TIP}.innerText") != first
    browser.press("Enter")
    assert browser.run(f"{TIP}.innerText") == first


def test_a_row_that_is_hidden_or_far_is_shown_when_it_is_found(browser, far):
    browser.open(far)
    browser.type_text("#find", "c7")
    assert not browser.run("document.getElementById('near').checked")
    assert browser.run(f"{TIP}.innerText").startswith("c7\n")
    j = browser.run(f"{TIP}.innerText").split("group ")[1][0]
    browser.click(f".entry[data-cluster='{j}']")
    browser.move_mouse(1, 1)  # leaving the map would hide the row
    browser.type_text("#find", "")
    browser.type_text("#find", "c7")
    assert browser.run(f"{TIP}.innerText").startswith("c7\n")
    assert browser.run(f"document.querySelector('.entry[data-cluster=\"{j}\"]').ariaPressed")


# --- access ------------------------------------------------------------------------------------


def test_every_control_of_the_map_has_a_name_and_is_seen_in_focus(browser, wine_page):
    browser.open(wine_page)
    nameless = browser.run(
        "[...document.querySelectorAll('#plane button, #plane input, #plane select, canvas')]"
        ".filter(e => e.checkVisibility() && !(e.getAttribute('aria-label') || e.textContent.trim()"
        " || (e.labels && e.labels.length && e.labels[0].textContent.trim()))).map(e => e.id)"
    )
    assert nameless == []
    browser.run("document.getElementById('canvas').focus()")
    browser.press("ArrowRight")
    assert browser.run("getComputedStyle(canvas).outlineStyle") == "solid"
    assert browser.run("document.getElementById('found').getAttribute('role')") == "status"

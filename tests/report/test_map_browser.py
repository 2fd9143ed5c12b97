"""The map in a browser: mouse, fingers and keys, the legend, finding a row, saving a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import combinations

import numpy as np
import pytest
from helpers.browser import Browser, map_box, point_at_a_row, why_absent
from helpers.reports import EVIL, NONE, blobs, wine_report
from sklearn.datasets import load_wine

from partita import KMeans
from partita._common.number_text import value_text
from partita.report import Fitted, write_report
from partita.report.map import map_data

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(why_absent() is not None, reason=str(why_absent())),
]
TIP = "document.getElementById('tip')"
PICTURE = "document.getElementById('canvas').toDataURL()"
COUNT = "document.getElementById('count').textContent"
FOUND = "document.getElementById('found').textContent"
SVG = "{http://www.w3.org/2000/svg}"
PIXELS = (
    "(() => { const c = document.getElementById('canvas'); const d = c.getContext('2d')"
    ".getImageData(0, 0, c.width, c.height).data; let s = 0;"
    "for (let i = 0; i < d.length; i += 4) s += d[i] * 3 + d[i + 1] * 5 + d[i + 2] * 7;"
    "return s })()"
)


@pytest.fixture(scope="module")
def browser():
    opened = Browser()
    yield opened
    opened.close()


def saved(tmp_path_factory, made):
    path = tmp_path_factory.mktemp("map") / "report.html"
    write_report(path, made)
    return path


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    return saved(tmp_path_factory, wine_report())


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A hundred groups, more features than a phone is wide."""
    X = np.random.default_rng(0).normal(size=(4000, 16)) * 1e7
    ids = [f"a rather long identifier of row number {i}" for i in range(len(X))]
    model = KMeans(100, random_state=0, max_iter=3).fit(X)
    return saved(tmp_path_factory, Fitted(model, X, ids=ids, diagnosis=NONE))


@pytest.fixture(scope="module")
def flat(tmp_path_factory):
    """Two features whose numbers are long."""
    X = np.random.default_rng(0).normal(size=(500, 2)) * 1e6 + 1e8
    model = KMeans(3, random_state=0).fit(X)
    names = ["first", "second"]
    return saved(tmp_path_factory, Fitted(model, X, names=names, diagnosis=NONE))


@pytest.fixture(scope="module")
def far(tmp_path_factory):
    """Four groups, and one row very far from them; two rows have the same id."""
    X = blobs(400, k=4, d=3)
    X[7] = 1e6
    ids = [f"c{i}" for i in range(399)] + ["c0"]
    made = Fitted(KMeans(5, random_state=0, n_init=3).fit(X), X, ids=ids, diagnosis=NONE)
    return saved(tmp_path_factory, made)


# --- rows --------------------------------------------------------------------------------------


def test_pointing_at_a_row_shows_its_id_group_and_values(browser, wine):
    browser.open(wine)
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
    assert browser.run("[0, 19000.5, -1].map(dayText)") == [
        "1970-01-01",
        "2022-01-08",
        "1969-12-31",
    ]


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


def test_it_zooms_and_comes_home(browser, wine):
    browser.open(wine)
    before = browser.run(PICTURE)
    browser.click("#in")
    assert browser.run(PICTURE) != before
    browser.click("#home")
    assert browser.run(PICTURE) == before


@pytest.mark.parametrize("how", ["wheel", "double click"])
def test_it_zooms_at_the_pointer(browser, wine, how):
    browser.open(wine)
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


def test_the_wheel_alone_scrolls_the_page(browser, wine):
    browser.open(wine)
    left, top, _, high = map_box(browser)
    before = browser.run("scrollY")
    browser.wheel(left + 5, top + high / 2, 100)
    for _ in range(100):  # scrolling takes some frames
        if browser.run("scrollY") > before:
            break
        browser.settle()
    assert browser.run("scrollY") > before
    assert not browser.run("canvas.classList.contains('zoomed')")


def test_a_zoomed_map_follows_the_finger_in_all_directions(browser, wine):
    browser.open(wine, 400, 800, has_touch=True)
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


def test_two_fingers_zoom_and_the_page_stays(browser, wine):
    browser.open(wine, 400, 800, has_touch=True)
    left, top, wide, high = map_box(browser)
    before = browser.run("scrollY")
    browser.pinch(left + wide / 2, top + high / 2, 60, 180)
    assert browser.run("scrollY") == before
    assert browser.run("canvas.classList.contains('zoomed')")
    browser.pinch(left + wide / 2, top + high / 2, 200, 20)
    assert not browser.run("canvas.classList.contains('zoomed')")


def test_a_map_cannot_be_moved_off_its_rows(browser, wine):
    browser.open(wine)
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


def test_a_group_can_be_hidden_and_shown(browser, wine):
    browser.open(wine)
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
def test_one_group_alone_can_be_shown_in_one_action(browser, wine, by_key):
    browser.open(wine)
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


def test_pointing_at_a_row_marks_its_group_everywhere(browser, wine):
    browser.open(wine)
    point_at_a_row(browser)
    j = browser.run(f"{TIP}.innerText").split("group ")[1][0]
    marked = "[...document.querySelectorAll('.pointed')].map(e => e.dataset.group)"
    assert set(browser.run(marked)) == {j}
    places = f"document.querySelectorAll('[data-group=\"{j}\"]').length"
    assert len(browser.run(marked)) == browser.run(places)
    browser.move_mouse(1, 1)
    assert browser.run(marked) == []


def test_pointing_at_a_group_elsewhere_fades_the_others_on_the_map(browser, wine):
    browser.open(wine)
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


def test_a_new_name_is_painted(browser, wine):
    watch(browser, wine)
    browser.run("said.length = 0")
    browser.run(
        "document.dispatchEvent(new CustomEvent('names', { detail: ['one', '<b>two</b>', 'x'] }))"
    )
    browser.settle()
    assert {"one", "<b>two</b>"} <= {one["text"] for one in browser.run("said")}


# --- axes and outliers -------------------------------------------------------------------------


def test_other_axes_show_their_own_names_and_values(browser, wine):
    watch(browser, wine)
    assert browser.run("said.some(one => one.text.startsWith('→ more '))")
    browser.run("said.length = 0")
    browser.choose("#axis-x", "2")
    browser.choose("#axis-y", "4")
    texts = {one["text"] for one in browser.run("said")}
    assert {"alcohol", "ash"} <= texts
    assert "13" in texts  # a tick of alcohol in per cent
    assert browser.run("document.getElementById('plane-note').hidden")
    browser.choose("#axis-x", "0")
    browser.choose("#axis-y", "1")
    assert not browser.run("document.getElementById('plane-note').hidden")
    assert browser.complaints == []


def test_outliers_are_left_out_counted_and_can_be_shown(browser, far, wine):
    browser.open(far)
    assert browser.run("document.getElementById('near').checked")
    assert "1 row lies outside this view" in browser.run(COUNT)
    before = browser.run(PIXELS)
    browser.click("#near")
    assert "outside" not in browser.run(COUNT)
    assert browser.run(PIXELS) != before
    browser.open(wine)
    assert browser.run("document.getElementById('far').hidden")
    assert "outside" not in browser.run(COUNT)


def watch(browser, path, width=1200):
    """Open a report and keep what is painted on canvases, call by call."""
    script = """
    window.said = []; window.stamped = []; window.pills = [];
    const pen = CanvasRenderingContext2D.prototype, { fillText, drawImage, roundRect } = pen;
    pen.fillText = function (text, ...rest) {
      const at = this.getTransform().transformPoint(new DOMPoint(rest[0], rest[1]));
      const wide = this.measureText(text).width, fits = wide <= (rest[2] ?? Infinity);
      said.push({ text: String(text), x: at.x, wide, fits, align: this.textAlign });
      return fillText.call(this, text, ...rest);
    };
    pen.roundRect = function (...box) { pills.push(box); return roundRect.call(this, ...box); };
    pen.drawImage = function (image, ...rest) {
      if (rest.length === 4) stamped.push(rest[2]);
      return drawImage.call(this, image, ...rest);
    };"""
    browser.open(path, width, before=script)


def test_the_name_of_an_axis_and_its_numbers_have_room(browser, flat):
    watch(browser, flat)
    said = browser.run("said")
    name = next(one for one in said if one["text"] == "second")
    numbers = [one for one in said if one["align"] == "right"]
    assert len(numbers) >= 3
    assert any(len(one["text"]) > 9 for one in numbers)
    assert all(one["fits"] and one["x"] - one["wide"] >= name["x"] + 4 for one in numbers)


@pytest.mark.parametrize("width", [400, 1200])
def test_numbers_of_groups_do_not_overlap_and_none_is_dropped_silently(browser, many, width):
    watch(browser, many, width)
    browser.run("said.length = pills.length = 0")
    browser.run("document.dispatchEvent(new Event('repaint'))")
    pills = browser.run("pills")
    for (a, b, wide, high, _), (c, d, other, tall, _) in combinations(pills, 2):
        assert a + wide <= c or c + other <= a or b + high <= d or d + tall <= b
    crowded = browser.run("document.getElementById('crowded').textContent")
    missing = 100 - len(pills)
    if missing:
        numbers = "1 group number has" if missing == 1 else f"{missing} group numbers have"
        assert crowded == f"{numbers} no room here: zoom in."
    else:
        assert crowded == ""


def test_marks_of_many_groups_are_large_enough_to_be_told_apart(browser, many):
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
    assert browser.run("said.filter((one) => one.text.startsWith('→ ')).length") == 2


def test_many_rows_are_blended_like_few_are_stamped(browser, tmp_path):
    """The two ways to paint rows show the same picture, but for fractions of a pixel."""
    X = np.random.default_rng(0).normal(size=(7000, 3))
    write_report(tmp_path / "rows.html", Fitted(KMeans(2).fit(X), X, diagnosis=NONE))
    watch(browser, tmp_path / "rows.html")
    assert browser.run("stamped.length") < 100  # not one for each row
    point_at_a_row(browser)
    colored = browser.run(
        "(() => { const d = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)"
        ".data; let n = 0; for (let i = 0; i < d.length; i += 4) "
        "n += Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 40;"
        "return n })()"
    )
    assert colored > 7000


# --- finding a row -----------------------------------------------------------------------------


def test_a_row_is_found_by_id_and_by_number(browser, wine):
    browser.open(wine)
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
    browser.type_text("#find", "")
    browser.type_text("#find", "c7")
    assert browser.run(f"{TIP}.innerText").startswith("c7\n")
    assert browser.run(f"document.querySelector('.entry[data-cluster=\"{j}\"]').ariaPressed")


# --- pictures ----------------------------------------------------------------------------------


def test_a_saved_drawing_holds_the_rows_the_axes_and_the_names(browser, wine):
    browser.open(wine, dark=True)
    names = browser.run("JSON.parse(document.getElementById('names').textContent)")
    name, content = browser.download("[data-save=svg]")
    assert name == "map.svg"
    root = ElementTree.fromstring(content)
    texts = [part.text for part in root.iter(f"{SVG}text")]
    assert any(text.startswith("→ more ") for text in texts)
    for j, group in enumerate(names):
        assert f"{j}  {group}" in texts
    rows = [part.get("d").count("M") for part in root.iter(f"{SVG}path") if part.get("d")]
    assert sorted(rows)[-3:] == sorted(load_wine_sizes(browser))
    assert root.find(f"{SVG}path").get("fill") == "#ffffff"  # paper, in the dark too
    assert browser.complaints == []


def load_wine_sizes(browser):
    sizes = []
    for j in range(3):
        browser.click(f"[data-only='{j}']")
        sizes.append(int(browser.run(COUNT).split()[0]))
    browser.click("#all")
    return sizes


def test_a_saved_picture_is_a_png_of_what_is_shown(browser, wine):
    browser.open(wine, dark=True)
    name, whole = browser.download("[data-save=png]")
    assert name == "map.png"
    assert whole.startswith(b"\x89PNG")
    browser.click("#in")
    assert browser.download("[data-save=png]")[1] != whole
    assert browser.complaints == []


def test_hostile_names_are_only_text_in_a_saved_drawing(browser, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, len(EVIL)))
    names = [text or f"feature {t}" for t, text in enumerate(EVIL)]
    model = KMeans(3, random_state=0).fit(X)
    made = Fitted(model, X, names=names, group_names=EVIL[:3], diagnosis=NONE)
    write_report(tmp_path / "evil.html", made)
    browser.open(tmp_path / "evil.html")
    root = ElementTree.fromstring(browser.download("[data-save=svg]")[1])
    kinds = {part.tag.removeprefix(SVG) for part in root.iter()}
    assert kinds <= {"svg", "path", "g", "clipPath", "text", "image"}
    assert browser.complaints == []
    assert browser.dialogs == []


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_drawings_without_a_script_can_be_saved_too(browser, tmp_path, kind):
    X = blobs(90, d=1)
    made = Fitted(KMeans(3, random_state=0).fit(X), X, diagnosis=NONE)
    write_report(tmp_path / "one.html", made)
    browser.open(tmp_path / "one.html", dark=True)
    name, content = browser.download(f"#map ~ * [data-save={kind}]")
    assert name == f"map.{kind}"
    if kind == "svg":
        assert len(list(ElementTree.fromstring(content).iter(f"{SVG}rect"))) > 10
    else:
        assert content.startswith(b"\x89PNG")
    assert browser.complaints == []


# --- access ------------------------------------------------------------------------------------


def test_every_control_of_the_map_has_a_name_and_is_seen_in_focus(browser, wine):
    browser.open(wine)
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


def test_a_page_without_rows_has_bubbles_and_no_search(browser, tmp_path):
    X = blobs(90, d=4)
    ids = [f"secret {i}" for i in range(90)]
    made = Fitted(KMeans(3, random_state=0).fit(X), X, ids=ids, no_rows=True, diagnosis=NONE)
    write_report(tmp_path / "none.html", made)
    browser.open(tmp_path / "none.html")
    assert browser.run("document.querySelectorAll('#drawing .bubble').length") == 3
    assert browser.run("document.querySelectorAll('canvas, #find, #data').length") == 0
    assert "secret" not in (tmp_path / "none.html").read_text()
    assert browser.complaints == []

"""What the map in a browser paints and saves: axes, names, marks of rows, pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import combinations

import numpy as np
import pytest
from helpers.browser import IN_BROWSER, point_at_a_row
from helpers.reports import EVIL, NONE, blobs

from partita import KMeans
from partita.report import Fitted, write_report

pytestmark = IN_BROWSER
COUNT = "document.getElementById('count').textContent"
SVG = "{http://www.w3.org/2000/svg}"


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


# --- axes, names and marks ---------------------------------------------------------------------


def test_other_axes_show_their_own_names_and_values(browser, wine_page):
    watch(browser, wine_page)
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


def test_the_name_of_an_axis_and_its_numbers_have_room(browser, flat_page):
    watch(browser, flat_page)
    said = browser.run("said")
    name = next(one for one in said if one["text"] == "second")
    numbers = [one for one in said if one["align"] == "right"]
    assert len(numbers) >= 3
    assert any(len(one["text"]) > 9 for one in numbers)
    assert all(one["fits"] and one["x"] - one["wide"] >= name["x"] + 4 for one in numbers)


@pytest.mark.parametrize("width", [400, 1200])
def test_numbers_of_groups_do_not_overlap_and_none_is_dropped_silently(browser, many_page, width):
    watch(browser, many_page, width)
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


def test_marks_of_many_groups_are_large_enough_to_be_told_apart(browser, many_page):
    watch(browser, many_page)
    assert min(browser.run("stamped")) >= 2.6 * 2.2 + 2  # room for pointed marks, and some air


def test_it_paints_once_a_frame(browser, many_page):
    watch(browser, many_page)
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


def test_a_new_name_is_painted(browser, wine_page):
    watch(browser, wine_page)
    browser.run("said.length = 0")
    browser.run(
        "document.dispatchEvent(new CustomEvent('names', { detail: ['one', '<b>two</b>', 'x'] }))"
    )
    browser.settle()
    assert {"one", "<b>two</b>"} <= {one["text"] for one in browser.run("said")}


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


# --- pictures ----------------------------------------------------------------------------------


def test_a_saved_drawing_holds_the_rows_the_axes_and_the_names(browser, wine_page):
    browser.open(wine_page, dark=True)
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


def test_a_saved_picture_is_a_png_of_what_is_shown(browser, wine_page):
    browser.open(wine_page, dark=True)
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

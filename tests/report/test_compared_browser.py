"""The comparisons of a report in a browser: on a phone, dark, printed, with long names."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.browser import IN_BROWSER
from helpers.reports import EVIL, NONE

from partita import KMeans, compare_with_fit
from partita.report import Fitted, write_report
from partita.report.report_input import OtherModel

PHONE_PIXELS = 400
NAMES = ["A very long name of sixty characters, all of them in use here", "x" * 60, EVIL[0]]
OUTSIDE = """[...document.querySelectorAll(".compared *")].filter((place) => {
  const box = place.getBoundingClientRect();
  return box.width > 0 && (box.right > innerWidth + 1 || box.left < -1);
}).map((place) => place.outerHTML.slice(0, 80))"""

pytestmark = IN_BROWSER


@pytest.fixture(scope="module", params=[3, 30])
def page(tmp_path_factory, request):
    rng, k = np.random.default_rng(0), request.param
    centers = 20 * rng.normal(size=(k, 4))
    rows, new = (centers[rng.integers(0, k, n)] + rng.normal(size=(n, 4)) for n in (900, 600))
    new[:20] += 1e6
    model = KMeans(k, init=centers, n_init=1).fit(rows)
    other = OtherModel(rng.integers(-1, k, len(new)), NAMES * 10, NAMES[1])
    path = tmp_path_factory.mktemp("report") / "compared.html"
    record = Fitted(
        model,
        new,
        names=[*NAMES, "short"],
        ids=[NAMES[i % 3] + str(i) for i in range(len(new))],
        group_names={j: f"{NAMES[j % 3][:58]}{j}" for j in range(k)},
        comparison=compare_with_fit(model, new, fitted_to=rows),
        other=other,
        diagnosis=NONE,
    )
    write_report(path, record)
    return path


def open_all(browser):
    browser.run('document.querySelectorAll("details").forEach((each) => { each.open = true; })')


def test_both_comparisons_are_on_the_page(browser, page):
    browser.open(page)
    ids = ["compared", "other-model"]
    assert browser.run(f"{ids!r}.filter((id) => document.getElementById(id)).length") == 2
    assert browser.complaints == []
    assert browser.dialogs == []


@pytest.mark.parametrize("width", [PHONE_PIXELS, 700, 1200])
def test_nothing_is_wider_than_the_window(browser, page, width):
    browser.open(page, width=width)
    open_all(browser)
    assert browser.run(OUTSIDE) == []
    assert browser.run("document.documentElement.scrollWidth") <= width


def test_names_in_the_flow_do_not_cover_each_other(browser, page):
    for width in (PHONE_PIXELS, 1200):
        browser.open(page, width=width)
        boxes = browser.run(
            """[...document.querySelectorAll(".flow-name")].map((place) => {
              const box = place.getBoundingClientRect();
              const texts = [...place.children].map((part) => part.getBoundingClientRect());
              return [box.top, box.bottom, Math.min(...texts.map((text) => text.top)),
                Math.max(...texts.map((text) => text.bottom))];
            })"""
        )
        assert boxes
        for top, bottom, first, last in boxes:
            assert first >= top - 1
            assert last <= bottom + 1

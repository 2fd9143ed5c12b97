"""The certificate in a report: words, a picture, and no markup from files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.reports import EVIL, NONE, Page

from partita import Certificate, KMeans
from partita.certificates.certificate import BoundProgress
from partita.chart_layout.bound_steps import bound_steps
from partita.report import Fitted, render, summarise
from partita.report.certificate_section import bound_chart, certificate_section

ROWS = np.random.default_rng(1).normal(size=(40, 2)) + 5.0 * np.arange(40)[:, None] % 3


def history(*bounds):
    return tuple(BoundProgress(0.5 * i, "spectral", b, 100.0) for i, b in enumerate(bounds))


def certificate(bounds=(10.0, 90.0, 97.0), **changes):
    plain = Certificate(
        lower_bound=bounds[-1] if bounds else 0.0,
        objective=100.0,
        kind="rigorous",
        level=None,
        method="semidefinite",
        seconds=2.0,
        history=history(*bounds),
        n_clusters=3,
        n_rows=40,
        n_features=2,
        criterion="the sum of squared distances to the centers",
        version="0.1.0",
    )
    return replace(plain, **changes)


def report(shown):
    model = KMeans(3, random_state=0).fit(ROWS)
    if shown is not None:
        model.certificate_ = shown
    return Fitted(model, ROWS, diagnosis=NONE)


@pytest.fixture(scope="module")
def page():
    return Page(render(report(certificate())))


def test_the_report_says_how_good_a_fit_is(page):
    text = " ".join(" ".join(page.texts).split())
    assert "How good it is: at most 3.1 % above the best possible" in text
    assert "J = " in text.replace("\u00a0", " ")
    assert "The best possible objective is at most 3 % lower. The bound is proven" in text
    assert summarise(report(certificate())).to_dict()["certificate"]["gap"] == pytest.approx(0.03)


def test_a_fit_without_a_certificate_has_no_such_section():
    text = render(report(None))
    assert "How good it is" not in text
    assert summarise(report(None)).to_dict()["certificate"] is None


def test_a_certificate_of_other_rows_is_not_shown():
    shown = report(certificate())
    other = replace(shown, X=2 * ROWS)
    assert "How good it is" not in render(other)
    assert summarise(other).certified is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "confidence", "level": 0.95}, "it holds with 95 % probability"),
        ({"kind": "exact"}, "The best possible value was computed."),
        ({"kind": "exact", "lower_bound": 100.0}, "was computed, and this fit has it"),
        ({"lower_bound": 0.0, "history": ()}, "no bound above 0 is known".capitalize()),
    ],
)
def test_the_kind_is_in_plain_words(changes, words):
    section = certificate_section(certificate(**changes))
    assert words in section.note.replace("\u202f", " ")
    assert bool(section.drawing) == (changes.get("history") != ())


def test_the_picture_shows_the_last_gap():
    """Most of the height is left to the bounds near the end, however weak the first one was."""
    steps = bound_steps(certificate((0.001, 50.0, 97.0)))
    assert steps.low >= 80.0
    drawn = Page(bound_chart(steps))
    (_, path), (_, line) = (
        next((tag, a) for tag, a in drawn.elements if a.get("class") == name)
        for name in ("line", "best")
    )
    heights = [float(point.split()[1]) for point in path["d"][1:].split("L")]
    assert heights == sorted(heights, reverse=True)  # the bound rises
    assert heights[-1] > float(line["y1"]) + 10  # and stays below J, visibly
    assert {"J of this fit", "highest bound so far"} <= set(drawn.texts)


@pytest.mark.parametrize("bounds", [(100.0,), (0.0, 100.0), (99.999999,), (1e-300, 2e-300)])
def test_extreme_bounds_are_drawn(bounds):
    drawing = certificate_section(certificate(bounds)).drawing
    assert "nan" not in drawing
    assert "inf" not in drawing
    assert Page(drawing).elements


@pytest.mark.heavy
@pytest.mark.parametrize("evil", EVIL, ids=lambda text: repr(text[:12]))
def test_the_words_of_a_file_are_no_markup(evil, page):
    hostile = certificate(method=evil, criterion=f"c{evil}"[:9000], version=f"1{evil}"[:9000])
    assert Page(render(report(hostile))).shape == page.shape

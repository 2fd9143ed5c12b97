"""Certificates as records: the gap, its wording, and what is no certificate."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace

import pytest
from helpers.reports import EVIL, Page
from hypothesis import given
from hypothesis import strategies as st

import partita
from partita import Certificate
from partita.certificates.certificate import BoundProgress, relative_gap
from partita.certificates.gap_text import gap_percent

AMOUNTS = st.floats(0, 1e300)
PLAIN = Certificate(
    lower_bound=97.0,
    objective=100.0,
    kind="rigorous",
    level=None,
    method="semidefinite",
    seconds=1.5,
    history=(BoundProgress(0.1, "spectral", 50.0, 100.0),),
    n_clusters=3,
    n_rows=150,
    n_features=4,
    criterion="the sum of squared distances to the centers",
    version="1.2.3",
)
SAMPLED = replace(PLAIN, kind="confidence", level=0.95)
EXACT = replace(PLAIN, kind="exact", method="branch and bound")
OPTIMAL = replace(EXACT, lower_bound=100.0)


@given(objective=AMOUNTS, bound=AMOUNTS)
def test_a_gap_is_a_share(objective, bound):
    assert 0.0 <= relative_gap(objective, bound) <= 1.0
    assert relative_gap(objective, objective) == 0.0


@given(st.floats(0, 1))
def test_a_gap_is_never_worded_lower_than_it_is(gap):
    shown = float(gap_percent(gap).replace("\u202f", "").removesuffix("%"))
    assert shown >= 100 * gap * (1 - 1e-9)
    assert shown <= max(1.1 * 100 * gap, 1e-4)


def test_a_certificate_does_not_change():
    with pytest.raises(FrozenInstanceError):
        PLAIN.objective = 1.0
    assert pytest.approx(0.03) == PLAIN.gap
    assert pytest.approx(0.5) == PLAIN.history[0].gap


@pytest.mark.parametrize(
    ("certificate", "short", "sentence"),
    [
        (PLAIN, "at most 3.1 % above the best possible", "at most 3 % less (rigorous bound, semid"),
        (SAMPLED, "(95 % confidence)", "with 95 % confidence, no partition into 3 clusters has"),
        (
            EXACT,
            "at most 3.1 % above",
            "the lowest possible is 97, which is 3 % less (branch and bound;",
        ),
        (OPTIMAL, "proven to be the best", "proven to be the lowest possible (branch and bound;"),
        (replace(PLAIN, lower_bound=0.0), "not known", "no lower bound above 0 is known"),
    ],
)
def test_the_sentence_has_what_a_paper_needs(certificate, short, sentence):
    assert short in certificate.short.replace("\u202f", " ")
    text = str(certificate)
    assert text == certificate.sentence
    assert sentence in text
    for fact in ("K = 3", "n = 150", "d = 4", "is 100", "partita 1.2.3"):
        assert fact in text
    assert text.endswith(".")
    assert "\n" not in text
    assert certificate.is_optimal == (certificate is OPTIMAL)


def test_an_optimum_up_to_rounding_has_no_gap():
    rounded = replace(OPTIMAL, objective=100.0 * (1 + 1e-15))
    assert rounded.is_optimal
    assert rounded.gap_text == "0\u202f%"
    assert not replace(rounded, kind="confidence", level=0.9).is_optimal


def test_plain_values_go_to_json():
    values = json.loads(json.dumps(SAMPLED.to_dict(), allow_nan=False))
    assert values["gap"] == SAMPLED.gap
    assert values["level"] == 0.95
    assert values["history"][0]["method"] == "spectral"
    assert values["sentence"] == SAMPLED.sentence


@pytest.mark.parametrize("evil", EVIL, ids=lambda text: repr(text[:12]))
def test_hostile_text_stays_text_in_html(evil):
    hostile = replace(PLAIN, method=evil, criterion=f"c{evil}"[:5000], version=evil[:5000])
    page = Page(hostile._repr_html_())
    assert {tag for tag, _ in page.elements} == {"table", "caption", "tr", "th", "td"}
    assert len(page.elements) == len(Page(PLAIN._repr_html_()).elements)


@pytest.mark.parametrize(
    "change",
    [
        {"lower_bound": 101.0},
        {"lower_bound": -1.0},
        {"objective": float("nan")},
        {"seconds": float("inf")},
        {"kind": "sure"},
        {"kind": "confidence"},
        {"level": 0.5},
        {"kind": "confidence", "level": 1.0},
    ],
)
def test_what_is_no_certificate_is_refused(change):
    with pytest.raises(ValueError, match=r"certificate"):
        replace(PLAIN, **change)


def test_the_version_is_that_of_the_library():
    certificate = partita.certify([[0.0], [1.0]], [0, 0])
    assert certificate.version == partita.__version__

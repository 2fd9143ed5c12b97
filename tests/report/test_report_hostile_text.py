"""Text from the data never becomes markup, script or more than one line."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from helpers.reports import EVIL, Page, fitted
from hypothesis import given, settings
from hypothesis import strategies as st

from partita._common.text import JOINERS
from partita.report import (
    render,
    svg,
)
from partita.report.page import template_environment
from partita.report.page_text import safe_line


def with_texts(texts):
    texts = [text or " " for text in texts]  # a fact that is not there has no place
    pick = lambda n: [texts[i % len(texts)] for i in range(n)]  # noqa: E731
    return fitted(
        n=24,
        names=pick(4),
        ids=pick(24),
        source=texts[0],
        command=texts[-1],
        fingerprint=texts[0],
        created=texts[-1],
        versions={"a": texts[0]},
        left_out={"column": texts[0], "other": texts[-1]},
        categories={f"c{texts[0]}": [f"a{texts[-1]}", "x"] * 12},
        title=texts[0],
        author=texts[-1],
        noun=texts[0],
        group_names=[f"{j}{text}"[:150] for j, text in enumerate(pick(3))],
        diagnosis=None,
    )


@pytest.fixture(scope="module")
def plain():
    return Page(render(with_texts(["plain"]))).shape


@pytest.mark.heavy
@pytest.mark.parametrize("evil", EVIL, ids=lambda text: repr(text[:12]))
def test_hostile_text_does_not_change_the_page(evil, plain):
    text = render(with_texts([evil]))
    page = Page(text)
    assert page.shape == plain
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069\u2028\u2029]", text)
    text.encode("utf-8")
    assert page.data["names"] == [safe_line(evil or " ")] * 4
    assert len(text) < 300_000


@pytest.mark.heavy
@settings(max_examples=15)
@given(texts=st.lists(st.text(), min_size=1, max_size=6))
def test_no_text_changes_the_page(plain, texts):
    assert Page(render(with_texts(texts))).shape == plain


@pytest.mark.heavy
@given(data=st.recursive(st.text() | st.integers(), st.lists))
def test_json_in_a_script_comes_back_and_cannot_leave_it(data):
    text = template_environment().from_string("{{ data | tojson }}").render(data=data)
    assert json.loads(text) == data
    assert text.isascii()
    assert not set("<>&") & set(text)


@given(text=st.text(), most=st.integers(6, 60))
def test_shown_text_is_short_and_printable(text, most):
    found = safe_line(text, most)
    assert found.translate(dict.fromkeys(map(ord, JOINERS))).isprintable()
    assert 0 < len(found) <= max(most, len("(no name)"))
    assert not {found[0], found[-1]} & set(JOINERS)


def test_joiners_stay_inside_words_that_need_them():
    for text in ("می\u200cخواهم", "👩\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "क\u200dष"):
        assert safe_line(text) == text
    for text in ("pay\u200dpal", "\u200cم", "م\u200d م", "a\u200b\u202eb"):
        assert not set(safe_line(text)) & set(JOINERS + "\u200b\u202e")
    assert safe_line("ا\u200c" * 60, 9) == "ا\u200cا\u200cا…ا\u200cا"


@pytest.mark.parametrize("words", EVIL[:5])
def test_drawings_escape_their_texts(words):
    plain = Page(svg.text("a", 0, 0) + svg.drawing(1, 1, "a")).shape
    page = Page(svg.text(words, 0, 0) + svg.drawing(1, 1, words))
    assert page.shape == plain
    assert page.elements[1][1]["aria-label"] == words


def test_remarks_come_before_the_tables_and_are_escaped():
    made = replace(fitted(), remarks=["it was <b>interrupted</b>; use --scale none"])
    text = render(made)
    assert "it was &lt;b&gt;interrupted&lt;/b&gt;; use <code>--scale</code> none." in text
    assert text.index("&lt;b&gt;interrupted") < text.index('id="profile"')

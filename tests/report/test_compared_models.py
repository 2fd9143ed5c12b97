"""The report compares two models of the same rows: matched groups, and the rows that move."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers.reports import EVIL, NONE, Page, blobs
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from partita import KMeans
from partita.metrics.criteria import adjusted_rand
from partita.report import Fitted
from partita.report.comparisons.compared_models import compared_models
from partita.report.comparisons.model_flows import NO_GROUP, ModelFlows, crossing_order
from partita.report.comparisons.model_pair import other_names
from partita.report.page import template_environment
from partita.report.report_input import OtherModel, check_input

LABELS = npst.arrays(np.int64, 40, elements=st.integers(-1, 4))
ONES = np.ones(40)


def section_of(labels, names=None, **more):
    X = blobs(len(labels), 3)
    model = KMeans(3, random_state=0).fit(X)
    other = OtherModel(np.asarray(labels), names or (), more.pop("title", "b.partita"))
    fitted = Fitted(model, X, other=other, diagnosis=NONE, **more)
    return compared_models(check_input(fitted))


def own_labels(n=60):
    return KMeans(3, random_state=0).fit(blobs(n, 3)).labels_


def page_of(section):
    page = {"compared": None, "compared_models": section}
    return template_environment().get_template("compared.html").render(page=page)


def text_of(html):
    return " ".join(re.sub(r"<[^>]+>", "", html).replace("\u202f", " ").split())


@given(left=LABELS, right=LABELS)
def test_every_row_stays_or_moves(left, right):
    flows = ModelFlows.of(left, right, ONES, (5, 5))
    assert sum(flow.rows for flow in flows.flows) == 40
    assert flows.moved_rows == pytest.approx(40 * flows.moved_share)
    stays = [flow for flow in flows.flows if not flow.is_move]
    assert len({flow.left for flow in stays}) == len({flow.right for flow in stays}) == len(stays)
    weights = [flow.weight for flow in flows.flows]
    assert weights == sorted(weights, reverse=True)


@given(labels=LABELS, order=st.permutations(range(5)))
def test_other_numbers_of_the_same_groups_move_nothing(labels, order):
    renamed = np.append(order, -1)[labels]
    flows = ModelFlows.of(labels, renamed, ONES, (5, 5))
    assert flows.moved_rows == 0
    assert flows.agreement == pytest.approx(1.0)
    assert flows.unmatched == ([], [])


@given(left=LABELS, right=LABELS, weight=npst.arrays(np.int64, 40, elements=st.integers(1, 4)))
def test_weights_are_repeats(left, right, weight):
    by_weight = ModelFlows.of(left, right, weight.astype(float), (5, 5))
    repeated = [np.repeat(labels, weight) for labels in (left, right)]
    counted = ModelFlows.of(*repeated, np.ones(weight.sum()), (5, 5))
    assert np.array_equal(by_weight.weight, counted.rows)
    assert by_weight.moved_share == pytest.approx(counted.moved_share)


@given(left=LABELS, right=LABELS)
def test_no_exchange_of_two_matches_keeps_more_rows(left, right):
    flows = ModelFlows.of(left, right, ONES, (5, 5))
    kept = np.append(flows.rows[:-1, :-1], np.zeros((5, 1), int), axis=1)
    match = flows.match
    for i in range(5):
        for j in range(5):
            pair = kept[i, match[i]] + kept[j, match[j]]
            assert kept[i, match[j]] + kept[j, match[i]] <= pair or i == j


def test_the_order_at_the_right_avoids_crossings():
    weight = np.array([[0, 9, 0], [0, 0, 9], [9, 0, 0]])
    assert crossing_order(weight, [0, 1, 2], [0, 1, 2]) == [1, 2, 0]
    assert crossing_order(weight, [2, 1, 0], [0, 1, 2]) == [0, 2, 1]


def test_equal_models_are_called_the_same():
    section = section_of(own_labels())
    assert text_of(section.headline).startswith("The same groups: 60 rows are divided as by")
    assert section.lead == ""
    assert section.moves == ()
    assert "Adjusted Rand index: 1.000" in section.agreement


def test_the_headline_counts_the_rows_that_move():
    labels = own_labels()
    moved = np.flatnonzero(labels == 0)[:4]
    labels[moved] = 1
    section = section_of(labels, ["A", "B", "C"], noun="wines", group_names=["a", "b", "c"])
    assert text_of(section.headline) == (
        "Mostly the same groups: 4 of 60 wines (6.7 %) are in another group there"
    )
    assert text_of(section.lead) == "The largest move is 4 wines from “Group 0” to “B”."
    (move,) = section.moves
    assert (move.number, move.there, move.rows) == (0, "B", "4")
    agreement = adjusted_rand(own_labels(), labels)
    assert f"{agreement:.2f}"[:3] in section.agreement


def test_rows_without_a_group_are_told_apart():
    labels = own_labels()
    labels[:6] = NO_GROUP
    section = section_of(labels)
    assert "no group" in section.drawing
    assert {move.there for move in section.moves} == {"no group"}


def test_groups_without_a_counterpart_are_named():
    section = section_of(np.where(own_labels() == 2, 1, own_labels()), ["A", "B"])
    assert "no counterpart there" in text_of(section.lead)
    finer = own_labels() * 2 + np.arange(60) % 2
    assert "no counterpart here" in text_of(section_of(finer).lead)


def test_without_rows_small_moves_are_merged():
    labels = own_labels()
    few, more = np.flatnonzero(labels == 0)[:3], np.flatnonzero(labels == 1)[:7]
    labels[few], labels[more] = 1, 2
    section = section_of(labels, no_rows=True)
    assert [move.rows for move in section.moves] == ["7"]
    assert "fewer than 5 rows each are not listed" in section.moves_note
    assert ": 3 rows" not in section.drawing
    assert ": 3 rows" in section_of(labels).drawing


def test_many_groups_are_drawn_as_the_largest_and_the_others():
    labels = np.arange(60) % 40
    section = section_of(labels)
    assert section.drawing.count("foreignObject") == 2 * (3 + 13)  # opened and closed
    assert "28 other groups" in section.drawing
    assert "12 largest groups" in section.note


def test_the_picture_has_a_ribbon_for_each_flow_and_a_label():
    labels = own_labels()
    labels[np.flatnonzero(labels == 0)[:4]] = 1
    section = section_of(labels, title="old & new")
    assert len(re.findall(r'class="ribbon ', section.drawing)) == 4
    assert section.drawing.count("<title>") == 4
    assert 'role="img"' in section.drawing
    assert "old &amp; new" in section.drawing


@pytest.mark.parametrize("name", EVIL)
def test_names_are_only_text(name):
    labels = own_labels()
    labels[:5] = 0
    plain = Page(page_of(section_of(labels, ["a", "b", "c"])))
    texts = {"group_names": [f"x{name}"[:150], "b", "c"], "noun": name, "title": name}
    page = Page(page_of(section_of(labels, [name, "b", "c"], **texts)))
    assert page.shape == plain.shape


def test_names_are_completed_and_short():
    assert other_names(None, 2) == ("Group 0", "Group 1")
    assert other_names(["a", None], 3) == ("a", "Group 1", "Group 2")
    assert max(map(len, other_names(["x" * 1000], 1))) == 60


@pytest.mark.parametrize("labels", [np.zeros(59, int), np.zeros((60, 1), int), np.zeros(60)])
def test_labels_of_other_rows_are_refused(labels):
    X = blobs(60, 3)
    fitted = Fitted(KMeans(3, random_state=0).fit(X), X, other=OtherModel(labels, ()))
    with pytest.raises(ValueError, match=r"`other.labels` must be 60 integers"):
        compared_models(check_input(fitted))


def test_labels_of_very_many_groups_are_no_memory_error():
    labels = own_labels().astype(np.int64)
    labels[0] = 2**62
    assert "Too many groups" in section_of(labels).headline


def test_a_model_that_has_a_group_for_no_row_is_compared():
    section = section_of(np.full(60, NO_GROUP))
    assert text_of(section.headline).startswith("Different groups: 60 of 60 rows (100 %)")
    assert "no counterpart there" in text_of(section.lead)

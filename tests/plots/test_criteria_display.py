"""Criteria for the number of clusters."""

from __future__ import annotations

import pytest
from helpers.pictures import blobs, check, sweep

from partita import (
    choose_k,
)
from partita.plots import (
    CriteriaDisplay,
    style,
)


@pytest.mark.heavy
def test_every_criterion_has_a_panel_with_its_vote_and_the_best_number():
    display = check(CriteriaDisplay.from_sweep(sweep()))
    assert len(display.axes_) == 9
    titles = [ax.get_title(loc="left") for ax in display.axes_]
    assert titles[0] == "elbow of J: 3"
    assert titles[4] == "Davies-Bouldin ↓: 3"
    assert titles[7] == "prediction strength ↑: no choice"
    for ax in display.axes_:
        assert any(list(line.get_xdata()) == [3, 3] for line in ax.lines)
    assert display.title in display.figure_.get_suptitle()
    assert "the dashed line is the recommended K = 3." in display.caption


@pytest.mark.heavy
def test_a_real_sweep_is_drawn():
    found = choose_k(blobs(4, 200, seed=3), range(2, 8), n_references=2, n_splits=2, random_state=0)
    display = check(CriteriaDisplay.from_sweep(found))
    assert [panel.name for panel in display.panels] == list(found.criteria)
    assert display.best_k == found.best_k
    assert display.title == found.verdict
    voting = {panel.name for panel in display.panels if panel.votes}
    assert voting == set(found.voters)
    colors = [ax._left_title.get_color() for ax in display.axes_]
    assert [color == style.TEXT_COLOR for color in colors] == [p.votes for p in display.panels]


def test_the_ring_lies_on_the_curve_and_errors_are_drawn():
    display = CriteriaDisplay.from_sweep(sweep()).plot()
    ax, panel = display.axes_[6], display.panels[6]
    ring = next(line for line in ax.lines if line.get_markersize() == 8)
    assert ring.get_xydata().tolist() == [[3, panel.values[2]]]
    assert len(ax.containers) == 1


def test_a_criterion_that_is_nowhere_defined_says_so():
    display = CriteriaDisplay.from_sweep(sweep()).plot()
    assert "not defined" in [text.get_text() for text in display.axes_[8].texts]


def test_the_elbow_alone():
    display = check(CriteriaDisplay.from_sweep(sweep(), criteria=("inertia",)))
    assert len(display.axes_) == 1
    assert CriteriaDisplay.from_sweep(sweep(), criteria="bic").panels[0].name == "bic"


@pytest.mark.heavy
@pytest.mark.parametrize("m", [1, 2, 30])
def test_few_and_many_numbers_of_clusters(m):
    check(CriteriaDisplay.from_sweep(sweep(m)))


def test_no_panel_stays_empty():
    names = ("inertia", "bic", "gap", "stability")  # two rows of three
    display = CriteriaDisplay.from_sweep(sweep(), criteria=names).plot()
    assert len(display.figure_.axes) == 4


@pytest.mark.heavy
def test_an_unknown_criterion_and_a_sweep_that_was_ended():
    with pytest.raises(ValueError, match="`criteria` must be names from inertia"):
        CriteriaDisplay.from_sweep(sweep(), criteria=("nothing",))
    assert "interrupted" in CriteriaDisplay.from_sweep(sweep(complete=False)).caption
    check(CriteriaDisplay.from_sweep(sweep(verdict="no structure: " + "because " * 30, best_k=1)))

"""Displays, descriptions and checks of models of tables with numbers, categories and gaps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.pictures import check

from partita import (
    BalancedKMeans,
    BisectingKMeans,
    KMedoids,
    KPrototypes,
    TrimmedKMeans,
    choose_k,
    compare_with_fit,
    describe,
    diagnose,
    merge_tree,
)
from partita.plots import (
    ClusterDisplay,
    IterationsDisplay,
    MergeTreeDisplay,
    ObjectiveDisplay,
    ProfileDisplay,
    SilhouetteDisplay,
)
from partita.report import Fitted, render, summarise

RNG = np.random.default_rng(0)
GROUP = RNG.integers(0, 3, 150)
FRAME = pd.DataFrame({
    "income": RNG.normal(30.0, 4.0, 150) + 20 * (GROUP == 2),
    "age": RNG.normal(40.0, 9.0, 150),
    "plan": np.where(RNG.random(150) < 0.9, np.array(["basic", "plus", "premium"])[GROUP], "none"),
    "member": (RNG.random(150) < 0.9) == (GROUP == 0),
})  # fmt: skip
GAPPY = FRAME.assign(
    age=FRAME["age"].where(np.arange(150) % 9 > 0),
    plan=FRAME["plan"].where(np.arange(150) % 7 > 0, None),
)
MODELS = {
    "gower": (KMedoids(3, metric="gower", random_state=0), GAPPY),
    "prototypes": (KPrototypes(3, gamma=3.0, random_state=0), FRAME),
}
NUMBERS = np.vstack([FRAME[["income", "age"]].to_numpy(), [[900.0, 900.0], [-900.0, 500.0]]])


@pytest.fixture(params=MODELS)
def fit(request):
    model, X = MODELS[request.param]
    return model.fit(X), X


def test_every_display_shows_rows_with_categories_or_says_why_not(fit):
    model, X = fit
    display = check(ClusterDisplay.from_estimator(model, X))
    assert "where the groups differ most" in display.caption
    assert display.names[0].startswith("first axis between groups")
    two = ClusterDisplay.from_estimator(model, X, features=("income", "plan: plus"))
    assert two.names == ("income", "plan: plus")
    profile = check(ProfileDisplay.from_estimator(model, X))
    assert {"income", "age", "plan: plus", "plan: none"} <= set(profile.names)
    silhouettes = check(SilhouetteDisplay.from_estimator(model, X))
    assert silhouettes.mean > 0.1
    tree = check(MergeTreeDisplay.from_estimator(model, X))
    np.testing.assert_array_equal(tree.weight, np.bincount(model.labels_))
    check(ObjectiveDisplay.from_estimator(model))
    with pytest.raises(ValueError, match="categories have no coordinates in which"):
        IterationsDisplay.from_estimator(model, X)


def test_a_profile_has_the_shares_of_categories(fit):
    model, X = fit
    profile = ProfileDisplay.from_estimator(model, X)
    known = X["plan"].notna().to_numpy()
    is_plus = (X["plan"] == "plus").to_numpy()[known].astype(float)
    labels = model.labels_[known]
    row = profile.names.index("plan: plus")
    largest = max(range(3), key=lambda j: is_plus[labels == j].mean())
    assert profile.scores[row].argmax() == largest


def test_groups_are_described_by_their_categories(fit):
    model, X = fit
    found = describe(model, X)
    text = str(found).replace("\u202f", " ")
    assert "plan: " in text
    for group in found.groups:
        for trait in group.categories:
            members = X[trait.column][model.labels_ == group.number].dropna()
            wanted = {"yes": True, "no": False}.get(trait.value, trait.value)
            assert trait.share == pytest.approx((members == wanted).mean())
            assert trait.words in found[group.number].words
    assert {column.column for column in found.leading} == {"plan", "member"}
    assert found.features == ("income", "age")


def test_checks_say_what_does_not_apply_to_categories(fit):
    model, X = fit
    found = diagnose(model, X)
    assert {"equal-rows", "empty-clusters", "unstable"} <= set(found.looked)
    skipped = dict(found.skipped)
    assert {"scale", "elongated-clusters", "not-convex", "local-minimum"} <= set(skipped)
    assert "unstable" not in found.names


def test_the_report_has_bars_of_shares_and_reads_the_same_each_time(fit):
    model, X = fit
    page = render(Fitted(model, X))
    assert page.count('class="shares"') == 2 * (1 + 3)
    assert 'class="tick"' in page
    assert "plan: premium" in page or "plan: plus" in page
    assert page == render(Fitted(model, X))
    hidden = render(Fitted(model, X, no_rows=True))
    assert 'class="shares"' in hidden
    summary = summarise(Fitted(model, X))
    assert summary.features == 4
    assert summary.of_fit


def test_sweeps_merges_and_comparisons_take_rows_with_categories(fit):
    model, X = fit
    sweep = choose_k(X, [2, 3, 4], estimator=model, random_state=0)
    assert sweep.best_k in (2, 3, 4)
    assert len(merge_tree(model, X).prices) == 2
    new = compare_with_fit(model, X, fitted_to=X)
    assert not new.is_stranger.any()
    assert new.mean is None


# --- members that only they can speak of ----------------------------------------------------------


def test_rows_that_are_left_out_are_counted_everywhere():
    model = TrimmedKMeans(2, trim=0.05, random_state=0).fit(NUMBERS)
    out = int((model.labels_ < 0).sum())
    text = f"left out: {out} rows ({100 * out / 152:.0f}\u202f%), the farthest from every center"
    assert describe(model, NUMBERS).left_out == text
    assert f"{text}." in str(describe(model, NUMBERS))
    assert text in describe(model, NUMBERS)._repr_html_()
    assert summarise(Fitted(model, NUMBERS)).left_out == text
    assert f"left out: {out} rows" in diagnose(model, NUMBERS).subject
    for display in (ClusterDisplay, ProfileDisplay, SilhouetteDisplay):
        caption = check(display.from_estimator(model, NUMBERS)).caption
        assert f"eft out: {out} rows" in caption
    page = render(Fitted(model, NUMBERS))
    assert page.count(f"eft out: {out}") >= 2
    assert "dots in grey" in page
    assert "no direction" not in page


def test_no_row_is_left_out_where_none_is():
    model = TrimmedKMeans(2, trim=0, random_state=0).fit(NUMBERS)
    assert describe(model, NUMBERS).left_out == ""
    assert "eft out" not in str(diagnose(model, NUMBERS))


@pytest.mark.parametrize(
    ("model", "name", "text"),
    [
        (BalancedKMeans(3, size_min=40, size_max=60, random_state=0), "Sizes", "at least 40 and"),
        (BisectingKMeans(3, random_state=0), "Splits", "the outer brackets are the first split"),
        (TrimmedKMeans(2, trim=0.1, random_state=0), "Trimming", "10 % of the weight, beyond a"),
    ],
    ids=["balanced", "bisecting", "trimmed"],
)
def test_facts_of_a_member_are_in_its_report(model, name, text):
    model.fit(NUMBERS)
    facts = dict(summarise(Fitted(model, NUMBERS)).facts)
    assert text in facts[name]
    page = render(Fitted(model, NUMBERS))
    assert name in page
    assert text in page


def test_splits_are_nested_as_the_tree_is():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [100.0]])
    model = BisectingKMeans(3, n_init=5, random_state=0).fit(X)
    by_value = np.argsort(np.argsort(model.cluster_centers_.ravel()))
    text = dict(model.__partita_capabilities__().facts())["Splits"]
    far = int(np.flatnonzero(by_value == 2)[0])
    near = sorted(int(j) for j in np.flatnonzero(by_value < 2))
    bracket = f"({near[0]}, {near[1]})"
    assert text.startswith((f"({far}, {bracket})", f"({bracket}, {far})"))

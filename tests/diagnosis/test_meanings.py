"""Every finding has a plain title and a meaning, and tells nothing of single rows in them."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.diagnosis_cases import CORNERS, fit, groups
from sklearn.datasets import make_moons

from partita import Finding, KMeans, diagnose
from partita.diagnosis.diagnose import CHECKS, run_checks
from partita.diagnosis.diagnosis_input import read_fit
from partita.diagnosis.meanings import MEANINGS

MAX_TITLE_CHARACTERS = 90
JARGON = r"\b(face|faces|J|local minim\w+|convex|Rand|cluster\w*|center\w*|feature\w*)\b"
SECRET = 7654.3211  # a value that no other number of a finding contains


def weights_of_all_sizes():
    weight = np.ones(400)
    weight[0] = 1e-12
    return weight


def stripes():
    rng = np.random.default_rng(0)
    return np.c_[rng.uniform(0, 60, 900), rng.normal(0, 0.5, 900)]


def unequal():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(0, 1, (2000, 2)), rng.normal([4, 0], 0.2, (60, 2))])


def redundant():
    rng = np.random.default_rng(0)
    one = rng.normal(size=(500, 1))
    return np.c_[one + 0.01 * rng.normal(size=(500, 4)), rng.normal(size=(500, 2))] + 5


def twin_groups():
    X = groups(8000)
    corner = (X > 5) @ [2, 1]
    by_chance = np.random.default_rng(0).integers(0, 2, 8000) * 4
    return SimpleNamespace(labels_=np.where(corner == 0, by_chance, corner)), X


def with_one_empty():
    X = groups()
    centers = fit(X).cluster_centers_
    return SimpleNamespace(cluster_centers_=np.concatenate([centers, centers[:1]])), X


def fitted(X, k):
    return fit(X, k), X


def stopped_early():
    X = np.random.default_rng(0).uniform(size=(2000, 2))
    return KMeans(20, init="random", n_init=1, max_iter=1, random_state=0).fit(X), X


def stuck():
    X = groups()
    return KMeans(4, init=[[-1, 0], [1, 0], [10, 5], [0, 10]], n_init=1).fit(X), X


def with_gaps():
    X = groups()
    X[::3, 1] = np.nan
    return KMeans(4, random_state=0, missing="partial").fit(X), X


CASES = {
    "not-converged": stopped_early,
    "unequal-magnitudes": lambda: (*fitted(groups(), 4), weights_of_all_sizes()),
    "scale": lambda: fitted(groups() * [1000.0, 1.0], 4),
    "constant-features": lambda: fitted(np.c_[groups(), np.full(400, SECRET)], 4),
    "correlated-features": lambda: fitted(redundant(), 2),
    "missing-values": with_gaps,
    "equal-rows": lambda: fitted(np.full((20, 2), SECRET), 1),
    "few-distinct-rows": lambda: fitted(np.repeat(CORNERS, 20, axis=0), 4),
    "many-clusters": lambda: fitted(groups(60), 25),
    "duplicates": lambda: fitted(np.repeat(CORNERS * SECRET, 20, axis=0), 3),
    "outliers": lambda: fitted(np.concatenate([groups(), [[SECRET, SECRET]]]), 4),
    "coincident-centers": twin_groups,
    "elongated-clusters": lambda: fitted(stripes(), 2),
    "empty-clusters": with_one_empty,
    "near-faces": lambda: fitted(np.random.default_rng(0).normal(size=(800, 2)), 4),
    "split-groups": lambda: fitted(np.random.default_rng(0).normal(size=(800, 2)), 4),
    "unequal-clusters": lambda: fitted(unequal(), 2),
    "not-convex": lambda: fitted(make_moons(500, noise=0.06, random_state=0)[0], 2),
    "unstable": lambda: fitted(np.random.default_rng(0).normal(size=(800, 2)), 4),
    "local-minimum": stuck,
}


@pytest.fixture(scope="module")
def findings():
    """A finding of every name, on rows with distinctive names."""
    found = {}
    for name, case in CASES.items():
        model, X, *weight = case()
        context = read_fit(model, X, *(weight or [None]), 0)
        context = replace(context, row_name=lambda i: f"SECRET-{i}")
        found[name] = run_checks(context)[name]
    return found


def test_every_check_has_a_meaning():
    names = {check.name for check in CHECKS}
    assert names == set(MEANINGS) == set(CASES)
    assert len(set(MEANINGS.values())) == len(MEANINGS)


@pytest.mark.heavy
def test_titles_are_short_plain_sentences(findings):
    for finding in findings.values():
        assert finding.what.endswith("."), finding
        assert finding.what.count(".") == 1, finding
        assert len(finding.what) <= MAX_TITLE_CHARACTERS, finding
    for text in [finding.what for finding in findings.values()] + list(MEANINGS.values()):
        assert not re.search(JARGON, text.replace("feature 0", "")), text


@pytest.mark.heavy
def test_only_the_evidence_tells_of_single_rows(findings):
    assert "SECRET-400" in findings["outliers"].evidence
    for finding in findings.values():
        public = " ".join([finding.what, finding.meaning, finding.advice])
        assert "SECRET" not in public, finding
        assert "7654" not in public.replace(" ", ""), finding


def test_the_meaning_is_shown_wherever_the_finding_is():
    X = np.concatenate([groups(), [[SECRET, SECRET]]])
    found = diagnose(fit(X), X)
    finding, meaning = found["outliers"], MEANINGS["outliers"]
    assert finding.meaning == finding.to_dict()["meaning"] == meaning
    assert list(finding.to_dict())[:4] == ["name", "what", "meaning", "evidence"]
    assert meaning in " ".join(str(found).split())
    assert meaning in found._repr_html_()
    assert found.to_frame("pandas")["meaning"][0] == meaning


def test_a_finding_of_another_name_has_no_meaning():
    other = Finding("other", "This is so.", "1 of 2.", "Do that.")
    assert other.meaning == ""
    assert other.to_dict()["meaning"] == ""


def test_a_long_list_of_columns_is_counted_in_the_title():
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(300, 40)) * np.r_[np.full(3, 1e4), np.ones(37)]
    frame = pandas.DataFrame(X, columns=[f"{'a long name ' * 3}{t}" for t in range(40)])
    assert diagnose(fit(frame, 2), frame)["scale"].what == (
        "3 of 40 columns decide the groups nearly alone."
    )

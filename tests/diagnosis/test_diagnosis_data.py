"""The diagnosis on real data: what a statistician would say of it, and no more."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from partita import KMeans, diagnose

pytestmark = pytest.mark.data


def found(X, k):
    return diagnose(KMeans(k, n_init=20, random_state=0).fit(X), X)


def load(folder, name):
    return np.load(folder / f"{name}.npz")["X"]


@pytest.mark.parametrize(("name", "k"), [("s1", 15), ("a1", 20), ("r15", 15), ("unbalance", 8)])
def test_nothing_is_found_in_groups_that_k_means_separates(data_folder, name, k):
    assert found(load(data_folder, f"gagolews_sipu/{name}"), k).names == ()


@pytest.mark.parametrize(
    ("name", "k"),
    [
        ("kernel/kernlab_spirals", 2),
        ("gagolews_sipu/spiral", 3),
        ("gagolews_sipu/jain", 2),
        ("gagolews_fcps/chainlink", 2),
        ("gagolews_fcps/atom", 2),
    ],
)
def test_groups_that_are_not_convex(data_folder, name, k):
    assert "not-convex" in found(load(data_folder, name), k)


@pytest.mark.parametrize(
    ("name", "feature"), [("gagolews_uci/wine", 12), ("gagolews_uci/wdbc", 23)]
)
def test_scale_before_and_after_scaling(data_folder, name, feature):
    X = load(data_folder, name)
    assert feature in found(X, 3)["scale"].features
    assert "scale" not in found(StandardScaler().fit_transform(X), 3)


def test_the_eruptions_of_the_faithful_geyser_are_outweighed(data_folder):
    assert found(load(data_folder, "r_datasets/faithful"), 2)["scale"].features == (1,)


@pytest.mark.parametrize("name", ["gagolews_fcps/hepta", "gagolews_fcps/tetra"])
def test_no_false_alarm_about_shape_in_round_groups(data_folder, name):
    k = len(np.unique(np.load(data_folder / f"{name}.npz")["labels"]))
    assert "not-convex" not in found(load(data_folder, name), k)


def test_copies_are_counted(data_folder):
    X = load(data_folder, "sossdp/phishing")
    assert "676 distinct rows of 1353" in found(X, 3)["duplicates"].evidence

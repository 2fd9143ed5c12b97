"""Weights and parameters that cannot be used get a clear error."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers.three_groups import (
    CONTAINERS,
    GROUPS,
    START,
    X,
    assert_groups,
    fit,
    frame_with,
    with_value,
)

from partita import EmptyClusterError, KMeans, kmeans_plusplus
from partita._common.errors import ParameterError
from partita.halting import SamePartition

# --- weights -------------------------------------------------------------------------------------

BAD_WEIGHTS = {
    "negative": (
        with_value(-1.0, np.ones(30), 3),
        r"Negative values.*1 of 30 weights.*>= 0",
    ),
    "nan": (
        with_value(np.nan, np.ones(30), 3),
        r"must be finite, got NaN or inf.*in 1 of 30 rows",
    ),
    "inf": (
        with_value(np.inf, np.ones(30), 3),
        r"must be finite, got NaN or inf.*in 1 of 30 rows",
    ),
    "missing": (pd.Series([None, *[1] * 29], dtype="Int64"), r"NaN or inf.*in 1 of 30 rows"),
    "zero": (
        np.zeros(30),
        "must be > 0 for at least one row, got zero for every row",
    ),
    "short": (
        np.ones(29),
        r"must be of shape \(30,\),.* got an array of shape \(29,\)\.",
    ),
    "two-dimensional": (
        np.ones((30, 1)),
        "must be a 1D array or scalar, got a 2D array",
    ),
    "negative-scalar": (-1.0, "Negative values"),
    "text": (["a"] * 30, r"`sample_weight` must be numeric, got \['a', 'a'.*could not convert"),
    "word": ("balanced", "`sample_weight` must be numeric"),
    "complex": (np.ones(30) + 1j, "`sample_weight` must be numeric, got complex numbers"),
    "small": (np.full(30, 1e-310), "`sample_weight` must be .*got 1e-310"),
    "huge": (np.full(30, 1e308), r"`sample_weight` must be .*got 1e\+308"),
}


@pytest.mark.parametrize("method", ["fit", "score", "fit_predict", "fit_transform"])
@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_weights_are_refused_with_the_reason(method, case):
    weight, said = BAD_WEIGHTS[case]
    with pytest.raises(ValueError, match=said):
        getattr(fit(X), method)(X, sample_weight=weight)


@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_kmeans_plusplus_refuses_bad_weights_too(case):
    weight, said = BAD_WEIGHTS[case]
    with pytest.raises(ValueError, match=said):
        kmeans_plusplus(X, 3, sample_weight=weight)


TWOS = np.full(30, 2, dtype=object)


@pytest.mark.parametrize(
    "weight",
    [2, 2.0, np.float32(2), [2] * 30, pd.Series([2] * 30), pl.Series([2] * 30), TWOS],
    ids=lambda weight: type(weight).__name__,
)
def test_weights_may_be_a_scalar_or_any_column_of_numbers(weight):
    model = fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.labels_, GROUPS)
    assert model.inertia_ == pytest.approx(2 * fit(X).inertia_, rel=1e-12)


@pytest.mark.parametrize("size", [1e-280, 1e-20, 1e20, 1e300])
@pytest.mark.parametrize("make", CONTAINERS)
def test_the_size_of_equal_weights_changes_neither_labels_nor_centers(make, size):
    model = fit(make(X), sample_weight=np.full(30, size))
    np.testing.assert_array_equal(model.labels_, GROUPS)
    np.testing.assert_allclose(model.cluster_centers_, fit(X).cluster_centers_, rtol=1e-12)


@pytest.mark.parametrize("make", CONTAINERS)
def test_very_unequal_weights_pull_the_center_to_the_heavy_row(make):
    weight = np.where(np.arange(30) % 10 == 0, 1e200, 1e-200)
    np.testing.assert_array_equal(fit(make(X), sample_weight=weight).cluster_centers_, START)


# --- parameters ----------------------------------------------------------------------------------

WHOLE = "an integer >= 1"
RUNS = "an integer from 1 to 100000 or 'auto'"
TRIALS = "an integer from 1 to 10000 or None"


def must_be(name, wanted, value):
    """Return the pattern of an error about a parameter."""
    return f"`{name}` must be {wanted}, got {re.escape(repr(value))}"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        *[("n_clusters", value, WHOLE) for value in (0, -3, 2.5, 3.0, "3", True, None, [3])],
        *[("n_threads", value, f"{WHOLE} or None") for value in (0, -1, 1.5, "2", True)],
        *[("max_iter", value, WHOLE) for value in (0, -1, 2.5, None, True)],
        *[
            ("n_init", value, "an integer from 1 to 100000 or 'auto'")
            for value in (0, 10**30, 1.5, None, True, "many")
        ],
        *[("tol", value, "a number >= 0") for value in (-1e-4, np.nan, "small", None, True)],
        *[("init", value, "k-means.*random.*box") for value in ("kmeans", "", None, 3)],
        *[("algorithm", value, "'lloyd', 'elkan'") for value in ("full", "fast", None, ["lloyd"])],
        *[("empty", value, "'relocate', 'keep', 'drop' or 'fail'") for value in ("ignore", None)],
        *[("halt", value, r"partita\.halting") for value in (3, "tol", SamePartition)],
        *[("callback", value, "callable") for value in (3, "print")],
        *[
            ("random_state", value, "an integer.*RandomState.*Generator")
            for value in ("abc", 1.5, True)
        ],
        ("random_state", -1, "an integer >= 0"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_bad_parameter_is_shown_with_what_is_expected(name, value, expected):
    with pytest.raises(ParameterError, match=must_be(name, f".*{expected}.*", value)) as caught:
        KMeans(**{name: value}).fit(X)
    assert caught.value.parameter == name


@pytest.mark.parametrize("value", [0, -3, 2.5, "3", True, None])
def test_kmeans_plusplus_refuses_a_bad_number_of_clusters_as_the_estimator_does(value):
    with pytest.raises(ValueError, match=must_be("n_clusters", WHOLE, value)):
        kmeans_plusplus(X, value)


@pytest.mark.parametrize("value", [0, -3, 2.5, "3", True])
def test_kmeans_plusplus_refuses_a_bad_number_of_trials(value):
    with pytest.raises(ValueError, match=must_be("n_local_trials", TRIALS, value)):
        kmeans_plusplus(X, 3, n_local_trials=value)


@pytest.mark.parametrize("value", [np.int8(3), np.uint64(3)])
def test_numpy_integers_are_whole_numbers(value):
    assert_groups(fit(X, n_clusters=value, max_iter=value, n_threads=value, random_state=value))


@pytest.mark.parametrize(
    ("init", "said"),
    [
        (with_value(np.nan, START, (0, 0)), "`init` must be finite, got NaN.*in 1 of 3 centers"),
        (with_value(np.inf, START, (0, 0)), "`init` must be finite, got NaN.*in 1 of 3 centers"),
        (X[:2], r"centers \(2, 3\) does not match the number of clusters 3"),
        (START[:, :2], r"centers \(3, 2\) does not match the number of features of the data 3"),
        (START[0], r"`init` must be centers of shape \(3, 3\), got an array of shape \(3,\)"),
        ([["a", "b", "c"]] * 3, r"`init` must be .*got \[\['a', .*could not convert"),
        (START * 1j, r"`init` must be centers of shape \(3, 3\), got complex numbers"),
        (KMeans(3), "not fitted"),
        (KMeans(2, init=START[:2]).fit(X), r"centers \(2, 3\) does not match.*clusters 3"),
        (lambda rows, k, random_state: X[:2], r"centers \(2, 3\) does not match.*clusters 3"),
        (lambda rows, k, random_state: None, r"init.*\(3, 3\)"),
    ],
    ids=[
        "nan", "inf", "wrong-k", "wrong-d", "1d", "text", "complex",
        "unfitted", "fitted-other-k", "callable-wrong-k", "callable-none",
    ],
)  # fmt: skip
def test_starting_centers_that_do_not_fit_are_refused_with_their_shape(init, said):
    with pytest.raises(ValueError, match=said):
        fit(X, init=init)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (START[:, :2], r"centers of shape \(k, 3\), got \(3, 2\)"),
        (START[0], r"`other` must be centers of shape \(k, 3\), got an array of shape \(3,\)"),
        (None, r"`other` must be centers of shape \(k, 3\), got an array of shape \(\)"),
        (np.full((3, 3), np.nan), "NaN|finite"),
        (
            "KMeans",
            r"`other` must be .*got 'KMeans' \(could not convert",
        ),
        (KMeans(3), "not fitted"),
    ],
    ids=["wrong-d", "1d", "none", "nan", "text", "unfitted"],
)
def test_match_refuses_what_has_no_fitting_centers(other, said):
    with pytest.raises(ValueError, match=said):
        fit(X).match(other)


def raising(progress):
    raise RuntimeError("the callback failed")


@pytest.mark.parametrize(
    ("change", "rows", "error"),
    [
        ({}, with_value(np.nan)[:, :2], ValueError),
        ({}, frame_with("x"), ValueError),
        ({"init": "k-means++", "n_clusters": 31}, X[:, :2], ValueError),
        ({"init": "k-means++", "callback": raising}, X[:, :2], RuntimeError),
        ({"init": np.vstack([X[0], X[10], X[0] + 1e6]), "empty": "fail"}, X, EmptyClusterError),
    ],
    ids=["nan", "text", "too-few-rows", "callback", "empty"],
)
def test_a_fit_that_fails_leaves_the_earlier_fit_as_it_was(change, rows, error):
    model = fit(X)
    with pytest.raises(error):
        model.set_params(**change).fit(rows)
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")
    assert_groups(model)
    np.testing.assert_array_equal(model.predict(X), GROUPS)

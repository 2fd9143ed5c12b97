"""Typical values of groups: laws of means, medians, shares and scores."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from partita.description import group_profile as module
from partita.description.group_profile import MEAN, MEDIAN, PRESENCE, SHARE, group_profile
from partita.description.group_quantiles import group_quantiles


def rows_of(seed, n=60, d=3, k=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, k, n), rng.integers(0, 4, n).astype(float)


@given(st.integers(0, 10**6))
def test_quantiles_are_those_of_repeated_rows(seed):
    X, labels, weight = rows_of(seed)
    times = weight.astype(int)
    shares = (0.1, 0.25, 0.5, 0.9)
    found = group_quantiles(X, labels, weight, 4, shares)
    for j in range(4):
        members = np.repeat(X[labels == j], times[labels == j], axis=0)
        if len(members):
            expected = np.quantile(members, shares, axis=0, method="averaged_inverted_cdf")
            np.testing.assert_allclose(found[:, j], expected)
        else:
            assert np.isnan(found[:, j]).all()
    everyone = np.repeat(X, times, axis=0)
    expected = np.quantile(everyone, shares, axis=0, method="averaged_inverted_cdf")
    np.testing.assert_allclose(found[:, 4], expected)


@given(st.integers(0, 10**6), st.booleans())
def test_means_are_those_of_numpy(seed, gaps):
    X, labels, weight = rows_of(seed)
    weight += 1
    if gaps:
        X[np.random.default_rng(seed).random(X.shape) < 0.2] = np.nan
    profile = group_profile(X, labels, weight, 4)
    for j in range(4):
        members = np.ma.masked_invalid(X[labels == j])
        if len(members):
            mean = np.ma.average(members, axis=0, weights=weight[labels == j])
            np.testing.assert_allclose(profile.mean[j], mean.filled(np.nan), atol=1e-12)


@given(st.integers(0, 10**6), st.floats(1e-3, 1e3), st.floats(-1e6, 1e6))
def test_scores_do_not_depend_on_units(seed, factor, offset):
    X, labels, weight = rows_of(seed)
    weight += 1
    plain = group_profile(X, labels, weight, 4)
    other = group_profile(X * factor + offset, labels, weight, 4)
    np.testing.assert_allclose(other.scores, plain.scores, atol=1e-5)


def test_an_outlier_moves_neither_typical_values_nor_scores():
    X, labels, _ = rows_of(0, n=400)
    X[:, 0] += 3 * labels
    plain = group_profile(X, labels, np.ones(400), 4)
    X[7, 0] = 1e12
    found = group_profile(X, labels, np.ones(400), 4)
    assert found.statistic.tolist() == [MEDIAN, MEAN, MEAN]
    np.testing.assert_allclose(found.typical[:, 0], plain.quartiles[1, :, 0], atol=0.2)
    np.testing.assert_allclose(found.scores[:, 0], plain.scores[:, 0], atol=0.3)


def test_yes_or_no_is_a_share_and_so_is_the_presence_of_a_term():
    X = np.array([[0.0], [1.0], [1.0], [1.0], [0.0], [0.0]])
    labels = np.array([0, 0, 0, 1, 1, 1])
    dense = group_profile(X, labels, np.ones(6), 2)
    sparse = group_profile(sp.csr_array(3 * X), labels, np.ones(6), 2)
    for profile, statistic in ((dense, SHARE), (sparse, PRESENCE)):
        assert profile.statistic.tolist() == [statistic]
        np.testing.assert_allclose(profile.typical[:, 0], [2 / 3, 1 / 3])
        np.testing.assert_allclose(profile.overall, [0.5])
    assert sparse.quartiles is None


def test_rows_without_a_group_count_only_among_all_rows():
    X = np.array([[0.0], [2.0], [100.0]])
    profile = group_profile(X, np.array([0, 0, -1]), np.ones(3), 2)
    assert profile.mean[0, 0] == 1
    assert np.isnan(profile.typical[1, 0])
    assert profile.scores[1, 0] == 0
    assert profile.overall[0] == pytest.approx(34)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_values_at_the_ends_of_the_range_have_profiles(scale):
    X, labels, _ = rows_of(1)
    plain, found = (group_profile(x, labels, np.ones(60), 4) for x in (X, X * scale))
    np.testing.assert_allclose(found.scores, plain.scores, rtol=1e-9)


def test_constant_features_set_nothing_apart():
    profile = group_profile(np.full((6, 1), 7.0), np.repeat([0, 1], 3), np.ones(6), 2)
    assert (profile.scores == 0).all()
    assert (profile.typical == 7).all()


def test_quartiles_of_very_many_rows_come_from_a_sample_of_every_group(monkeypatch):
    X, labels, _ = rows_of(3, n=4000)
    plain = group_profile(X, labels, np.ones(4000), 4)
    monkeypatch.setattr(module, "MAX_SORTED_VALUES", 3000)
    found = group_profile(X, labels, np.ones(4000), 4)
    np.testing.assert_array_equal(found.mean, plain.mean)
    np.testing.assert_allclose(found.quartiles, plain.quartiles, atol=0.25)


def test_features_in_blocks_are_those_at_once(monkeypatch):
    X, labels, weight = rows_of(4, d=5)
    plain = group_profile(X, labels, weight, 4)
    monkeypatch.setattr(module, "MAX_BLOCK_VALUES", 60)
    found = group_profile(X, labels, weight, 4)
    np.testing.assert_allclose(found.scores, plain.scores, rtol=1e-9)
    np.testing.assert_array_equal(found.quartiles, plain.quartiles)

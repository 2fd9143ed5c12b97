"""`MiniBatchKMeans(half_life=…)`: streams that drift."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita import MiniBatchKMeans, load, save
from partita.engine.forgetting import faded, share_left
from partita.stats import ClusterStats

pytestmark = pytest.mark.sanitize


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


START = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])


def drifting(batch, rng, rows=100, step=0.05):
    """Rows of three groups that all move to the right, and where these are."""
    places = START + np.array([step * batch, 0.0])
    return places[rng.integers(3, size=rows)] + rng.normal(scale=0.5, size=(rows, 2)), places


def stream(batches=100, **parameters):
    rng, model = np.random.default_rng(0), MiniBatchKMeans(3, init=START, **parameters)
    for batch in range(batches):
        rows, places = drifting(batch, rng)
        model.partial_fit(rows)
    return model, float(np.abs(model.cluster_centers_ - places).max())


def test_centers_follow_groups_that_move():
    _, lag = stream()
    _, near = stream(half_life=300)
    assert lag > 2
    assert near < lag / 5


@given(st.floats(1e-3, 1e6), st.floats(1e-3, 1e6))
def test_shares_multiply_and_halve(mass, half_life):
    share = share_left(mass, half_life)
    assert share == pytest.approx(2.0 ** (-mass / half_life), rel=1e-12, abs=1e-300)
    assert share_left(half_life, half_life) == 0.5
    assert share_left(8 * half_life, half_life) == 2.0**-8
    assert share_left(mass, math.inf) == 1.0
    assert share_left(1e300, 1e-300) == 0.0


@given(seed=st.integers(0, 10**6), weighted=st.booleans())
def test_a_center_is_the_mean_of_rows_that_fade(seed, weighted):
    """Compared with weights of every row by the weight of the rows after its batch."""
    rng = np.random.default_rng(seed)
    X, half_life = rng.normal(size=(60, 2)), float(rng.uniform(3, 100))
    weight = rng.uniform(0.1, 3, 60) if weighted else np.ones(60)
    model = MiniBatchKMeans(2, init=X[:2], half_life=half_life, reassignment_ratio=0)
    labels, age = np.empty(60, int), np.zeros(60)
    for part in np.split(np.arange(60), 5):
        before = model.cluster_centers_ if len(labels[: part[0]]) else X[:2]
        labels[part] = ((X[part, None] - before) ** 2).sum(axis=2).argmin(axis=1)
        age[: part[0]] += weight[part].sum()
        model.partial_fit(X[part], sample_weight=weight[part])
    left = ClusterStats.of_block(X, labels, k=2, weight=weight * 0.5 ** (age / half_life))
    np.testing.assert_allclose(model.stats_.weight, left.weight, rtol=1e-9)
    np.testing.assert_allclose(model.cluster_centers_, left.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.stats_.sse, left.sse, rtol=1e-7)


def test_after_a_half_life_of_rows_half_the_weight_is_left():
    X = np.concatenate([np.zeros((40, 1)), np.full((40, 1), 9.0)])
    model = MiniBatchKMeans(2, init=[[0.0], [9.0]], half_life=50, reassignment_ratio=0)
    model.partial_fit(X)
    model.partial_fit(np.zeros((50, 1)))
    assert model.stats_.weight.tolist() == [20.0 + 50.0, 20.0]
    model.partial_fit(np.zeros((1, 1)), sample_weight=[100.0])  # weight counts, not rows
    assert model.stats_.weight.tolist() == [70.0 / 4 + 100.0, 5.0]


def test_an_infinite_half_life_is_none():
    never, infinite = stream(20)[0], stream(20, half_life=math.inf)[0]
    assert same_bits(never.cluster_centers_, infinite.cluster_centers_)
    assert same_bits(never.stats_.sse, infinite.stats_.sse)


def test_weights_are_repeats_and_threads_change_no_bit():
    rng = np.random.default_rng(1)
    X, times = rng.normal(size=(300, 2)), rng.integers(1, 4, 300)
    models = [MiniBatchKMeans(3, init=X[:3], half_life=70.0, n_threads=n) for n in (1, 1, 2)]
    for part in np.split(np.arange(300), 3):
        models[0].partial_fit(X[part], sample_weight=times[part])
        models[1].partial_fit(np.repeat(X[part], times[part], axis=0))
        models[2].partial_fit(X[part], sample_weight=times[part])
    for other in models[1:]:
        assert same_bits(models[0].cluster_centers_, other.cluster_centers_)
        assert same_bits(models[0].stats_.weight, other.stats_.weight)


@pytest.mark.parametrize("half_life", [250.0, math.inf])
def test_a_saved_stream_goes_on_alike(tmp_path, half_life):
    model, _ = stream(5, half_life=half_life)
    save(model, tmp_path / "m.partita")
    again = load(tmp_path / "m.partita")
    assert again.half_life == half_life
    rows, _ = drifting(6, np.random.default_rng(7))
    assert same_bits(
        model.partial_fit(rows).cluster_centers_, again.partial_fit(rows).cluster_centers_
    )


def test_a_cluster_that_is_abandoned_stays_or_moves():
    """Its weight fades to nothing; as a light cluster it moves to far rows, if it may."""
    rng = np.random.default_rng(0)
    first = np.concatenate([rng.normal(size=(50, 1)), rng.normal(size=(50, 1)) + 100])
    later = np.concatenate([rng.normal(size=(50, 1)), rng.normal(size=(50, 1)) - 30])
    stays, moves = (
        MiniBatchKMeans(2, init=[[0.0], [100.0]], half_life=1, reassignment_ratio=r, random_state=0)
        for r in (0, 0.01)
    )
    for model in (stays, moves):
        model.partial_fit(first)
        far = model.cluster_centers_[1, 0]
        for _ in range(30):
            model.partial_fit(later)
        assert np.isfinite(model.stats_.sse).all()
        assert np.isfinite(model.cluster_centers_).all()
    assert stays.cluster_centers_[1, 0] == pytest.approx(far)
    assert stays.stats_.weight[1] == stays.stats_.sse[1] == 0
    assert np.sort(moves.cluster_centers_.ravel()) == pytest.approx([-30, 0], abs=2)
    stays.partial_fit([[far]])
    assert stays.predict([[far]]).tolist() == [1]


def test_what_is_too_light_has_no_sse():
    left = faded(ClusterStats(np.array([1.0]), np.zeros((1, 1)), np.array([1e300])), 2.0**-1075)
    assert (left.weight[0], left.sse[0]) == (0.0, 0.0)


def test_a_fit_warns_that_it_forgets_nothing():
    X = np.arange(12.0)[:, None]
    with pytest.warns(UserWarning, match=r"half_life=5 has no effect in fit, .* of partial_fit"):
        model = MiniBatchKMeans(2, half_life=5, random_state=0).fit(X)
    assert same_bits(
        model.cluster_centers_, MiniBatchKMeans(2, random_state=0).fit(X).cluster_centers_
    )
    for wrong in (0, -1, "1 day"):
        with pytest.raises(ValueError, match="`half_life` must be a number > 0 or None, got"):
            MiniBatchKMeans(2, half_life=wrong).partial_fit(X)

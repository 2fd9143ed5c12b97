"""Models of disjoint rows merge into one model of all rows."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita import ClusterStats, KernelKMeans, KMeans, MiniBatchKMeans, SphericalKMeans, load, save

RNG = np.random.default_rng(0)
GROUPS = np.repeat([0, 1, 2], 60)
ROWS = RNG.normal(size=(180, 2)) + np.array([[40.0, 0], [0, 40], [30, 30]])[GROUPS]
MEMBERS = (KMeans, MiniBatchKMeans, SphericalKMeans)


def parts_of(member, rows=ROWS, count=2, k=3):
    return [member(k, random_state=i).fit(rows[i::count]) for i in range(count)]


@pytest.mark.parametrize("member", [KMeans, MiniBatchKMeans])
def test_merging_fits_of_separated_groups_equals_summarising_all_rows(member):
    one, two = parts_of(member)
    both = one.merge(two)
    truth = ClusterStats.of_block(ROWS, both.predict(ROWS), k=3)
    np.testing.assert_allclose(both.stats_.weight, truth.weight)
    np.testing.assert_allclose(both.cluster_centers_, truth.mean)
    np.testing.assert_allclose(both.inertia_, truth.sse.sum())
    np.testing.assert_allclose(both.inertia_, -both.score(ROWS))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 4), other_k=st.integers(1, 4))
def test_merging_commutes_up_to_the_order_of_clusters(seed, k, other_k):
    rows = np.random.default_rng(seed).normal(size=(30, 2))
    one, two = KMeans(k, random_state=0).fit(rows[:15]), KMeans(other_k).fit(rows[15:])
    both, again = one.merge(two), two.merge(one)
    assert both.n_clusters == len(both.cluster_centers_) == max(k, other_k)
    np.testing.assert_allclose(both.inertia_, again.inertia_)
    np.testing.assert_allclose(np.sort(both.stats_.weight), np.sort(again.stats_.weight))
    assert both.inertia_ >= -both.score(rows) * (1 - 1e-12)


@settings(max_examples=20, deadline=None)
@given(order=st.permutations(range(5)), seed=st.integers(0, 10**6))
def test_any_order_of_merges_has_the_same_weight_and_mean(order, seed):
    rows = np.random.default_rng(seed).normal(size=(60, 3))
    parts = parts_of(KMeans, rows, 5)
    stats = reduce(KMeans.merge, [parts[i] for i in order]).stats_
    np.testing.assert_allclose(stats.weight.sum(), 60)
    np.testing.assert_allclose(stats.weight @ stats.mean / 60, rows.mean(axis=0), atol=1e-12)
    total = stats.sse.sum() + stats.weight @ ((stats.mean - rows.mean(axis=0)) ** 2).sum(axis=1)
    np.testing.assert_allclose(total, ((rows - rows.mean(axis=0)) ** 2).sum())


@pytest.mark.parametrize("member", MEMBERS)
def test_a_merged_model_is_new_and_can_be_saved(member, tmp_path):
    one, two = parts_of(member)
    before = one.cluster_centers_.copy(), one.labels_.copy()
    both = one.merge(two)
    assert not any(hasattr(both, name) for name in ("labels_", "trace_", "start_", "n_iter_"))
    np.testing.assert_array_equal(one.cluster_centers_, before[0])
    np.testing.assert_array_equal(one.labels_, before[1])
    save(both, tmp_path / "both.partita")
    again = load(tmp_path / "both.partita")
    np.testing.assert_array_equal(again.predict(ROWS), both.predict(ROWS))
    assert again.inertia_ == both.inertia_


def test_directions_merge_at_their_own_cost():
    one, two = parts_of(SphericalKMeans)
    both = one.merge(two)
    np.testing.assert_allclose(np.linalg.norm(both.cluster_centers_, axis=1), 1)
    np.testing.assert_allclose(both.inertia_, -both.score(ROWS), rtol=1e-9)


def test_a_merged_stream_goes_on():
    one, two = (MiniBatchKMeans(3, random_state=i).partial_fit(ROWS[i:90:2]) for i in (0, 1))
    state = one._rng.bit_generator.state
    both = one.merge(two).partial_fit(ROWS[90:])
    assert both.n_steps_ == 3
    assert one._rng.bit_generator.state == state
    np.testing.assert_allclose(both.stats_.weight.sum(), 180)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_clusters_without_weight_keep_a_center():
    alike = [KMeans(2, empty="keep", init=[[0.0], [9.0]]).fit([[v], [v]]) for v in (0.0, 0.5)]
    both = alike[0].merge(alike[1])
    np.testing.assert_allclose(both.stats_.weight.sum(), 4)
    assert np.isfinite(both.cluster_centers_).all()


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (3, "`other` must be a fitted model like KMeans, got 3"),
        (KMeans(2), "`other` must be fitted, got a KMeans"),
        (KernelKMeans(2).fit(ROWS), "got a KernelKMeans"),
        (SphericalKMeans(2).fit(ROWS), "got a SphericalKMeans"),
        (KMeans(2).fit(ROWS[:, :1]), "`other` must be a model of 2 features, got one of 1"),
    ],
)
def test_other_models_are_refused(other, text):
    with pytest.raises(ValueError, match=text):
        KMeans(2).fit(ROWS).merge(other)


def test_other_feature_names_are_refused():
    pandas = pytest.importorskip("pandas")
    one, two = (
        KMeans(2).fit(pandas.DataFrame(ROWS, columns=list(names))) for names in ("ab", "ac")
    )
    assert list(one.merge(one).feature_names_in_) == ["a", "b"]
    with pytest.raises(ValueError, match="features a, b, got one of a, c"):
        one.merge(two)

"""What every member of the family promises."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from partita import (
    BalancedKMeans,
    BisectingKMeans,
    KernelKMeans,
    KMeans,
    KMedoids,
    KPrototypes,
    MiniBatchKMeans,
    SphericalKMeans,
    TrimmedKMeans,
)

MEMBERS = [
    KMeans(3, random_state=0),
    SphericalKMeans(3, random_state=0),
    MiniBatchKMeans(3, random_state=0, batch_size=500),
    TrimmedKMeans(3, random_state=0),
    BalancedKMeans(3, size_min=40, random_state=0),
    BisectingKMeans(3, random_state=0),
    KMedoids(3, random_state=0),
    KPrototypes(3, random_state=0),
    KernelKMeans(3, random_state=0),
    KernelKMeans(3, random_state=0, approximation="nystrom", n_components=20),
    KernelKMeans(3, random_state=0, kernel="nearest_neighbors"),
]


def ids(member):
    return type(member).__name__


@pytest.fixture(params=MEMBERS, ids=ids)
def member(request):
    return request.param


@pytest.fixture(scope="module")
def X():
    return load_iris().data + 0.1


def test_memberships_add_up_to_one_and_peak_at_the_label(member, X):
    model = member.fit(X)
    for temperature in ("auto", 0, 1e-300, 1e-9, 1.0, 1e9, np.inf):
        share = model.soft_membership(X, temperature)
        assert share.shape == (len(X), 3)
        assert (share >= 0).all()
        labels = model.predict(X)
        inside = labels >= 0  # rows that trimming leaves out have no membership
        np.testing.assert_allclose(share.sum(axis=1), inside, rtol=1e-15)
        np.testing.assert_array_equal(share.argmax(axis=1)[inside], labels[inside])


def test_memberships_are_hard_when_cold_and_even_when_hot(member, X):
    model = member.fit(X)
    cold, warm, hot = (model.soft_membership(X, t) for t in (0, "auto", np.inf))
    labels = model.predict(X)
    np.testing.assert_array_equal(cold, np.eye(4)[labels, :3])  # zeros for label −1
    np.testing.assert_allclose(hot[labels >= 0], 1 / 3)
    assert (
        0.4 < warm[labels >= 0].max(axis=1).min() < 0.9
    )  # some row lies between clusters, and is said to
    assert np.median(warm.max(axis=1)) > 0.8


@pytest.mark.parametrize("wrong", ["warm", -1, np.nan, None, True, [1.0]])
def test_a_temperature_is_a_number(member, X, wrong):
    with pytest.raises(ValueError, match="`temperature` must be a number >= 0 or 'auto'"):
        member.fit(X).soft_membership(X, wrong)


@given(st.integers(0, 10_000), st.sampled_from([1e-160, 1.0, 1e160]), st.booleans())
@settings(max_examples=30, deadline=None)
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_ties_do_not_move_the_peak(seed, scale, even):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, (30, 2)) * scale
    model = KMeans(4, init=rng.integers(-2, 3, (4, 2)) * scale, max_iter=1, empty="keep")
    model.fit(rows)
    share = model.soft_membership(rows, np.inf if even else "auto")
    np.testing.assert_array_equal(share.argmax(axis=1), model.predict(rows))


def test_one_one_in_every_row_of_the_membership_matrix(member, X):
    model = member.fit(X)
    np.testing.assert_array_equal(model.membership_.toarray(), np.eye(4)[model.labels_, :3])


def test_a_pickle_predicts_the_same(member, X):
    model = member.fit(X)
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    np.testing.assert_array_equal(twin.transform(X), model.transform(X))
    np.testing.assert_array_equal(twin.soft_membership(X), model.soft_membership(X))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables_are_read_like_arrays(member, X, library):
    names = [f"c{t}" for t in range(X.shape[1])]
    columns = dict(zip(names, X.T, strict=True))
    module = pytest.importorskip(library)
    table = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    model, plain = member.fit(table), None
    assert model.feature_names_in_.tolist() == names
    labels, away = model.labels_, model.transform(table)
    plain = member.fit(X)
    np.testing.assert_array_equal(labels, plain.labels_)
    np.testing.assert_array_equal(np.asarray(away), plain.transform(X))
    assert not hasattr(plain, "feature_names_in_")


def test_the_trace_falls_and_says_why_it_ended(member, X):
    model = member.fit(X)
    costs = [value for step in model.trace_ for value in (step.cost, step.cost_after)]
    assert all(b <= a * (1 + 1e-14) for a, b in itertools.pairwise(costs))
    assert len(model.trace_) == getattr(model, "n_steps_", model.n_iter_) >= 1
    assert model.stopped_by_


def test_any_number_of_threads_gives_the_same_bits(member, X):
    many = np.tile(X, (40, 1)) + np.random.default_rng(0).normal(scale=0.2, size=(6000, 4))
    found = []
    for threads in (1, 2, 3):
        model = member.set_params(n_threads=threads).fit(many)
        found.append((model.labels_.tobytes(), model.inertia_, model.transform(many).tobytes()))
    member.set_params(n_threads=None)
    assert found[0] == found[1] == found[2]

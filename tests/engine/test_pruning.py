"""Every path gives the labels of the plain pass at every iteration, and the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import adversaries, fit_from, problems, same_bits
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from partita import KMeans
from partita._common.threads import Workers
from partita._kernels import compiled, kernels, reference
from partita.centers import Centers
from partita.engine.paths.bounds_path import RowBounds
from partita.engine.paths.center_groups import CENTERS_PER_TILE, CenterGroups
from partita.engine.paths.choice import PATHS, memory_of, plan_for
from partita.engine.paths.prefix_filter import main_axes, shorten
from partita.estimators.validation import make_source

PRUNED = [path for path in PATHS if path != "plain"]
FLOATS = [np.float32, np.float64]
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.sanitize,
]


def blobs(n=3000, d=6, groups=40, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(groups, d)) * 4
    return (middles[rng.integers(0, groups, n)] + rng.normal(size=(n, d))).astype(dtype)


def starts(rows, k, seed=0):
    return rows[np.random.default_rng(seed).choice(len(rows), k, replace=False)].copy()


def test_the_paths_are_taken_when_asked_for():
    rows = blobs()
    for path in PATHS:
        model = fit_from(rows, starts(rows, 60), algorithm=path)
        assert {p.path for p in model.trace_[2:]} == {path}


@pytest.mark.parametrize("path", PRUNED)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", adversaries(np.float64))
def test_adversaries(path, dtype, name):
    rows, start = adversaries(dtype)[name]
    plain = fit_from(rows, start, algorithm="plain", n_threads=1)
    for threads in (1, 3):
        assert same_bits(plain, fit_from(rows, start, algorithm=path, n_threads=threads))


@pytest.mark.parametrize("path", PRUNED)
@given(problem=problems(), weighted=st.booleans(), seed=st.integers(0, 99))
def test_small_problems_full_of_ties(path, problem, weighted, seed):
    rows, start = problem
    weight = None
    if weighted:
        weight = np.random.default_rng(seed).integers(0, 3, len(rows)).astype(float)
        weight[0] = 1.0
    plain = fit_from(rows, start, algorithm="plain", sample_weight=weight)
    assert same_bits(plain, fit_from(rows, start, algorithm=path, sample_weight=weight))


@pytest.mark.parametrize("path", PRUNED)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("d", "k"), [(1, 30), (2, 200), (3, 50), (7, 64), (20, 100), (90, 150)])
def test_labels_of_every_iteration(path, dtype, d, k):
    rows = blobs(d=d, dtype=dtype)
    start = starts(rows, k)
    for iterations in (1, 2, 3, 5, 9, 300):
        keywords = {"max_iter": iterations, "n_threads": 2}
        plain = fit_from(rows, start, algorithm="plain", **keywords)
        assert same_bits(plain, fit_from(rows, start, algorithm=path, **keywords))


@pytest.mark.parametrize("path", PRUNED)
def test_many_more_centers_than_groups_and_nearly_as_many_as_rows(path):
    rows = np.random.default_rng(1).integers(0, 6, (700, 4)).astype(float)
    distinct = np.unique(rows, axis=0)
    start = distinct[: len(distinct) - 3]
    plain = fit_from(rows, start, algorithm="plain")
    assert same_bits(plain, fit_from(rows, start, algorithm=path))


@pytest.mark.parametrize("path", PRUNED)
@pytest.mark.parametrize("empty", ["relocate", "keep", "drop"])
def test_empty_clusters(path, empty):
    rows = blobs(groups=5)
    start = np.concatenate([starts(rows, 40), np.full((6, rows.shape[1]), 1e3)])
    start[45] += 5.0
    plain = fit_from(rows, start, algorithm="plain", empty=empty)
    assert max(p.empty for p in plain.trace_) > 0
    assert same_bits(plain, fit_from(rows, start, algorithm=path, empty=empty))


@pytest.mark.parametrize("path", PRUNED)
@pytest.mark.parametrize("kind", ["whole", "real", "far apart"])
def test_weights(path, kind):
    rows, rng = blobs(), np.random.default_rng(4)
    weight = {
        "whole": rng.integers(0, 4, len(rows)).astype(float),
        "real": rng.random(len(rows)),
        "far apart": 10.0 ** rng.integers(-12, 12, len(rows)),  # long sums
    }[kind]
    start = starts(rows, 70)
    plain = fit_from(rows, start, algorithm="plain", sample_weight=weight)
    assert same_bits(plain, fit_from(rows, start, algorithm=path, sample_weight=weight))


@pytest.mark.parametrize("path", PRUNED)
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float16])
def test_other_types_and_layouts(path, dtype):
    rows = np.asfortranarray((blobs() * 4 + 60).clip(0, 250).astype(dtype))
    start = starts(rows, 50).astype(float)
    assert same_bits(
        fit_from(rows, start, algorithm="plain"), fit_from(rows, start, algorithm=path)
    )


def test_restarts_and_a_start_of_its_own():
    rows = blobs(d=3)
    for path in PRUNED:
        keywords = {"n_init": 3, "random_state": 5, "tol": 0.0}
        plain = KMeans(30, algorithm="plain", **keywords).fit(rows)
        assert same_bits(plain, KMeans(30, algorithm=path, **keywords).fit(rows))


# --- what the choice of a path says ---------------------------------------------------------------


@pytest.mark.compiled
def test_auto_prunes_and_says_how():
    rows = blobs(n=40_000, d=2)
    model = fit_from(rows, starts(rows, 100))
    assert model.trace_[-1].path == "blocks"
    assert model.trace_[-1].compared < 0.1
    assert "2 features" in model.paths_[0]
    rows = blobs(n=40_000, d=24)
    for k, path in ((20, "panels"), (200, "neighbours"), (1200, "neighbours")):
        model = fit_from(rows, starts(rows, k))
        assert [p.path for p in model.trace_[:1]] == ["plain"]
        assert model.trace_[-1].path == path
        assert model.trace_[-1].compared < 0.3


def test_small_fits_and_sparse_rows_take_the_plain_pass():
    import scipy.sparse as sp

    rows = load_digits().data
    model = fit_from(rows[:100], rows[:4])
    assert {p.path for p in model.trace_} == {"plain"}
    model = fit_from(sp.csr_matrix(rows), rows[:60], algorithm="yinyang")
    assert {p.path for p in model.trace_} == {"plain"}
    assert "sparse" in model.paths_[0]


@pytest.mark.compiled
def test_uniform_rows_in_many_features_are_compared_with_all_centers():
    rows = np.random.default_rng(0).random((4000, 60))
    model = fit_from(rows, starts(rows, 120), max_iter=6)
    assert "yinyang" in model.paths_[0]  # which was tried on some rows, and did not pay
    assert {p.path for p in model.trace_} <= {"plain", "bytes"}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scale", [1e-161, 1e-50, 1e-38, 1e-25, 1e20, 1e38, 1e40, 1e160])
@pytest.mark.parametrize("path", PRUNED)
def test_any_scale(path, scale):
    rows = blobs(d=70) * scale
    start = starts(rows, 70)
    plain = fit_from(rows, start, algorithm="plain", max_iter=12)
    other = fit_from(rows, start, algorithm=path, max_iter=12)
    assert same_bits(plain, other)
    if path not in ("blocks", "bytes", "neighbours", "panels"):  # which have a scale of their own
        assert other.trace_[-1].path == (path if 1e-27 < scale < 1e27 else "plain")


def source_of(rows):
    return make_source(rows, None, Workers(1))


def test_a_limit_on_memory_leads_to_leaner_paths():
    source = source_of(blobs(n=20_000, d=24))
    for k, path in ((200, "neighbours"), (1800, "yinyang")):
        assert plan_for(source, k, "auto", np.inf).path == path
        lean = plan_for(source, k, "auto", memory_of("hamerly", source, k))
        assert lean.path == "hamerly"
        assert "MB" in lean.why
        assert plan_for(source, k, "auto", 0).path == "plain"
    rows = blobs(n=20_000, d=24)
    model = KMeans(50, init=starts(rows, 50), memory_limit=0).fit(rows)
    assert {p.path for p in model.trace_} == {"plain"}


@pytest.mark.parametrize("limit", [-1, "much", True])
def test_a_memory_limit_is_a_number_of_bytes(limit):
    with pytest.raises(ValueError, match=r"`memory_limit` must be .*bytes"):
        KMeans(2, memory_limit=limit).fit(np.eye(4))


def test_bounds_keep_what_they_promise_to_need():
    source = source_of(blobs(n=10_000, d=24))
    for path, most, k in (("hamerly", 1, 448), *(("yinyang", 32, k) for k in (70, 126, 448))):
        groups = CenterGroups.around(np.random.default_rng(0).normal(size=(k, 24)), most)
        bounds = RowBounds(source.n, Centers(np.zeros((k, 24)), np.zeros(24)), groups, 1.0, False)
        held = bounds.upper.nbytes + bounds.other.nbytes + bounds.lower.nbytes
        assert held <= memory_of(path, source, k)
        assert held <= source.n * (20 + 2 * len(groups.sizes))  # the labels are four bytes more


# --- the parts ------------------------------------------------------------------------------------


@given(k=st.integers(1, 300), d=st.integers(1, 9), most=st.integers(1, 32), seed=st.integers(0, 99))
def test_groups_hold_every_center_once(k, d, most, seed):
    rng = np.random.default_rng(seed)
    centers = rng.integers(0, 3, (k, d)).astype(float)
    groups = CenterGroups.around(centers, most)
    assert sorted(groups.members.tolist()) == list(range(k))
    assert groups.sizes.sum() == k
    assert groups.sizes.min() >= 1
    assert len(groups.sizes) <= max(1, min(most, k // CENTERS_PER_TILE))
    assert (groups.members[np.argsort(groups.members)] == np.arange(k)).all()


@given(seed=st.integers(0, 999), d=st.integers(2, 30), same=st.booleans())
def test_shifts_are_upper_bounds(seed, d, same):
    rng = np.random.default_rng(seed)
    origin = rng.normal(size=d) * 1e6
    other = origin if same else origin + rng.normal(size=d)
    before = rng.normal(size=(5, d))
    after = before + rng.normal(size=(5, d)) * 10.0 ** rng.integers(-12, 2)
    gap = after.astype(np.longdouble) - before
    gap = gap + (other.astype(np.longdouble) - origin)
    true = np.sqrt((gap * gap).sum(axis=1))
    one = np.array([5], np.int32)
    quantum, bounds = 2.0**10, [np.zeros(1, t) for t in (np.int32, np.int32, np.uint16)]
    for use in {kernels, reference}:
        motion = use.Motion(np.arange(5, dtype=np.int32), one, before, origin, quantum, 0.0, False)
        motion.follow(after, other, *bounds, np.zeros((1, 1), np.uint16))
        moved = np.array(motion.center_travel, np.longdouble) * quantum
        assert (moved >= true * (1 - np.longdouble(2) ** -50)).all()
        assert (moved <= true * (1 + 2.0**-30) + 1e-6).all()


@given(seed=st.integers(0, 999), length=st.integers(1, 8))
def test_distances_in_a_prefix_are_never_larger(seed, length):
    rng = np.random.default_rng(seed)
    rows, centers = (
        rng.normal(size=(40, 12)) * 10.0 ** rng.integers(-3, 3, 12),
        rng.normal(size=(9, 12)),
    )
    basis = main_axes(rows, length)
    assert np.allclose(basis.T @ basis, np.eye(length), atol=1e-12)
    y, c = shorten(rows, basis), shorten(centers, basis)
    short = np.linalg.norm(y[:, None] - c, axis=2)
    full = np.linalg.norm(rows[:, None] - centers, axis=2)
    assert (short <= full * (1 + 1e-9) + 1e-9).all()


def test_main_axes_hold_the_energy():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 30)) * (np.arange(30) < 4)[None] * 10 + rng.normal(size=(500, 30))
    basis = main_axes(rows - rows.mean(axis=0), 4)
    assert np.abs(basis[:4]).sum() > 0.9 * np.abs(basis).sum()


@pytest.mark.skipif(not compiled(), reason="the twin prunes nothing")
@pytest.mark.parametrize("path", ["blocks", "yinyang", "prefix"])
def test_pruning_leaves_most_pairs_out(path):
    rows = blobs(n=20_000, d=3 if path == "blocks" else 40, groups=200)
    model = fit_from(rows, starts(rows, 300), algorithm=path)
    late = model.trace_[-3:]
    assert max(p.compared for p in late) < 0.2

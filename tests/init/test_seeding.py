"""Starting points: what the sketch leaves out changes nothing, every way gives the same rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.cases import adversaries, same_bits
from hypothesis import given
from hypothesis import strategies as st

from partita import KMeans, kmeans_plusplus
from partita._common.threads import Workers
from partita._kernels import reference
from partita.estimators.validation import make_source
from partita.init.plusplus import parallel, plusplus, run_rounds
from partita.source import plusplus_rounds

pytestmark = pytest.mark.sanitize

FLOATS = [np.float32, np.float64]
NAMES = list(adversaries(np.float64))


def sketch_for(module, rows, scale, step):
    panels = -(-len(rows) // 16)
    data = np.zeros(panels * (-(-rows.shape[1] // 4) * 64 + 192), np.uint8)
    middle = np.median(rows.astype(np.float64) * scale, axis=0)
    sketch = module.Sketch(data, middle, step)
    module.sketch_rows(rows, scale, sketch)
    return sketch


def rounds_of(module, rows, scale, trials=3, rounds=12, weight=None, step=None):
    """Everything that some rounds of seeding write, as bytes."""
    rng = np.random.default_rng(len(rows))
    leaves = -(-len(rows) // 256)
    closest, potential = np.full(len(rows), np.inf, rows.dtype), np.zeros(leaves)
    if weight is not None:
        closest[weight == 0] = 0.0
    sketch = None if step is None else sketch_for(module, rows, scale, step)
    labels, chosen = np.zeros(len(rows), np.int32), np.empty((0, rows.shape[1]), rows.dtype)
    written = []
    for _ in range(rounds):
        marks, gain = np.empty((leaves, trials, 4), np.uint64), np.empty((leaves, trials))
        drawn = rng.integers(0, len(rows), trials)
        candidates = np.ascontiguousarray(rows[drawn] * rows.dtype.type(scale))
        module.seed_gain(rows, scale, candidates, closest, labels, chosen, marks, gain,
                         sketch, weight)  # fmt: skip
        module.seed_choose(rows, scale, candidates, 1, closest, labels, len(chosen), marks,
                           potential, sketch, weight)  # fmt: skip
        chosen = np.concatenate([chosen, candidates[1:2]])
        written += [gain.tobytes(), marks.tobytes(), closest.tobytes(), potential.tobytes()]
    return written


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 8, 17, 255, 256, 257, 1000])
@pytest.mark.parametrize("d", [1, 5, 16, 37])
@pytest.mark.parametrize("trials", [2, 8, 11])
def test_seeding_has_the_bits_of_the_twin(core, dtype, n, d, trials):
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, d)).astype(dtype)
    weight = rng.integers(0, 4, n) * 0.7
    args = {"rows": rows, "scale": 0.5, "trials": trials, "weight": weight, "rounds": 4}
    twin = rounds_of(reference, **args)
    assert rounds_of(core, **args) == twin
    assert rounds_of(core, **args, step=0.02) == twin


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("step", [1e-9, 1e-3, 0.03, 1.0, 1e4])
def test_no_sketch_however_poor_changes_a_bit(core, dtype, name, step):
    rows = adversaries(dtype)[name][0]
    with Workers(1) as workers:
        scale = make_source(rows, None, workers)._seed_scale
    typical = float(np.abs(rows.astype(np.float64)).max()) * scale
    plain = rounds_of(core, rows, scale, rounds=25)
    assert rounds_of(core, rows, scale, rounds=25, step=step * typical) == plain


@pytest.mark.compiled
@given(seed=st.integers(0, 2**32 - 1), step=st.floats(1e-4, 10), d=st.integers(1, 40))
def test_ties_and_duplicates_survive_the_sketch(core, seed, step, d):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, (300, d)).astype(rng.choice([np.float32, np.float64]))
    assert rounds_of(core, rows, 1.0, step=step) == rounds_of(core, rows, 1.0)


def chosen_by(rows, weight, k, trials, threads, monkeypatch=None, **limits):
    uniform = np.random.default_rng(k).random(1 + (k - 1) * trials)
    which = np.empty(k, np.int64)
    for name, value in limits.items():
        monkeypatch.setattr(plusplus_rounds, name, value)
    with Workers(threads) as workers:
        source = make_source(rows, weight, workers)
        state = source.seeding(k, trials)
        run_rounds(source, state, uniform, which)
    return which.tolist()


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (9, 9), (300, 7), (3000, 70)])
def test_at_once_round_by_round_and_the_twin_choose_the_same_rows(
    core, monkeypatch, dtype, weighted, n, k
):
    rng = np.random.default_rng(n)
    rows = rng.integers(0, 5, (n, 3)).astype(dtype)  # duplicates
    weight = rng.integers(0, 3, n) + (np.arange(n) == 0.0) if weighted else None
    found = [
        chosen_by(rows, weight, k, 4, 1),  # at once
        chosen_by(rows, weight, k, 4, 1, monkeypatch, MAX_CALL_WORK=1),  # one round per call
        chosen_by(rows, weight, k, 4, 2, monkeypatch, MAX_ONE_THREAD_NANOSECONDS=0),  # shared
        chosen_by(rows, weight, k, 4, 2, monkeypatch, MAX_SKETCH_FEATURES=0),  # without a sketch
    ]
    twin = np.empty(k, np.int64)
    floats = None if weight is None else weight.astype(float)
    closest = np.full(n, np.inf, dtype)
    if weighted:
        closest[weight == 0] = 0.0
    uniform = np.random.default_rng(k).random(1 + (k - 1) * 4)
    reference.plusplus(rows, 1.0, uniform, 4, (0, k), twin, np.empty((k, 3), dtype), closest,
                       np.zeros(n, np.int32), np.zeros(-(-n // 256)), weight=floats)  # fmt: skip
    assert found == [twin.tolist()] * 4
    if weighted:
        assert (weight[twin] > 0).all()


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_rows_chosen_do_not_depend_on_threads(dtype, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(9000, 20)).astype(dtype)
    found = [
        chosen_by(rows, None, 60, 6, t, monkeypatch, MAX_ONE_THREAD_NANOSECONDS=0)
        for t in (1, 2, 3, 4)
    ]
    assert found == found[:1] * 4


def copy_cases(dtype):
    """Rows whose gains are close, equal, tiny or beyond float32."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 7))
    cases = {
        "normal": rows,
        "mirrored": np.concatenate([rows, -rows]),  # equal gains, but for their rounding
        "lattice": rng.integers(0, 3, (1500, 4)),
        "far from zero": rows + 1e7,
        "one outlier": np.concatenate([rows, np.full((1, 7), 1e9)]),
        "outliers first": np.concatenate([np.full((600, 7), -3e8), rows]),
        "two sizes": np.concatenate([rows, rows * 1e-6]),
        "one feature": rows[:, :1],
        "many features": rng.normal(size=(700, 64)),
        "tiny": rows * 1e-30,
        "large": rows * 1e10,
        "all equal": np.ones((700, 3)),
    }
    return {name: np.ascontiguousarray(case, dtype=dtype) for name, case in cases.items()}


def chosen_with_copies(rows, k, threads, monkeypatch, **limits):
    """The rows that are chosen, and how many copies in float32 there were."""
    made, make = [], plusplus_rounds.DenseSeeding._float_copy
    monkeypatch.setattr(
        plusplus_rounds.DenseSeeding,
        "_float_copy",
        lambda self, k: made.append(make(self, k)) or made[-1],
    )
    found = chosen_by(rows, None, k, 4, threads, monkeypatch, **limits)
    monkeypatch.setattr(plusplus_rounds.DenseSeeding, "_float_copy", make)
    return found, sum(copy is not None for copy in made)


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", list(copy_cases(np.float64)))
@pytest.mark.parametrize("work", [1, 1 << 29])
def test_a_copy_in_float32_changes_no_choice(core, monkeypatch, dtype, name, work):
    rows = copy_cases(dtype)[name]
    monkeypatch.setattr(plusplus_rounds, "MIN_SKETCH_CANDIDATES", 1 << 40)
    monkeypatch.setattr(plusplus_rounds, "MAX_ONE_THREAD_NANOSECONDS", 0)
    monkeypatch.setattr(plusplus_rounds, "MAX_CALL_WORK", work)
    plain, none = chosen_with_copies(rows, 40, 1, monkeypatch, MIN_COPY_LEAVES=1 << 40)
    assert none == 0
    for threads in (1, 2):
        found, copies = chosen_with_copies(rows, 40, threads, monkeypatch, MIN_COPY_LEAVES=0)
        assert found == plain
        assert copies == (name != "tiny")


@pytest.mark.compiled
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 9), k=st.integers(4, 30))
def test_close_gains_are_decided_as_the_twin_decides_them(core, seed, d, k):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, (1100, d)) + rng.normal(size=(1100, d)) * rng.choice([0, 1e-7, 1])
    rows = rows.astype(rng.choice([np.float32, np.float64]))
    uniform, chosen = rng.random(1 + (k - 1) * 3), []
    for module in (core, reference):
        which, leaves = np.empty(k, np.int64), np.zeros(5)
        state = np.empty((k, d), rows.dtype), np.full(1100, np.inf, rows.dtype)
        copy = module.FloatLeaves(1100, d, 0.25)
        module.plusplus(rows, 1.0, uniform, 3, (0, k), which, *state, np.zeros(1100, np.int32),
                        leaves, copy=copy)  # fmt: skip
        chosen.append((which.tolist(), state[1].tobytes(), leaves.tobytes()))
    assert chosen[0] == chosen[1]


def test_a_copy_in_float32_is_made_only_within_the_memory():
    rows = np.random.default_rng(0).random((5000, 10))
    with Workers(1) as workers:
        source = make_source(rows, None, workers)
        needed = plusplus_rounds._copy_bytes(5000, 10)
        assert source.seeding(8, 4, needed)._float_copy(8) is not None
        assert source.seeding(8, 4, needed - 1)._float_copy(8) is None


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.int32])
def test_other_types_choose_what_their_floats_choose(dtype):
    rows = np.random.default_rng(0).integers(0, 200, (5000, 30)).astype(dtype)
    plain = rows.astype(np.float32 if dtype != np.int32 else np.float64)
    for threads in (1, 2):
        assert chosen_by(rows, None, 40, 5, threads) == chosen_by(plain, None, 40, 5, threads)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("distinct", [1, 7, 40])
def test_every_distinct_row_is_chosen_before_any_twice(make, distinct):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(distinct, 3))[rng.permutation(2000) % distinct]
    _, which = kmeans_plusplus(make(rows), 40, random_state=0)
    assert len({row.tobytes() for row in rows[which]}) == distinct


def test_greedy_gains_are_what_the_potential_loses():
    rng = np.random.default_rng(0)
    rows, weight = rng.normal(size=(3000, 6)), rng.random(3000)
    with Workers(1) as workers:
        source = make_source(rows, weight, workers)
        state = source.seeding(20, 5)
        state.gains(rows[:1])
        state.choose(0)
        for j in range(1, 20):
            before = state.potential.sum()
            gains = state.gains(rows[j * 5 : j * 5 + 5])
            state.choose(3)
            assert before - state.potential.sum() == pytest.approx(gains[3], rel=1e-9, abs=1e-9)
        nearest = ((rows[:, None] - rows[[0, *range(8, 100, 5)]]) ** 2).sum(axis=2).min(axis=1)
    np.testing.assert_allclose(state.closest, nearest, rtol=1e-12, atol=1e-12)


def test_seeding_keeps_few_bytes_per_row():
    rows = np.random.default_rng(0).random((40_000, 50))
    with Workers(1) as workers:
        state = make_source(rows, None, workers).seeding(50, 5)
        data = state._sketch[0].nbytes
        plusplus(make_source(rows[:2000], None, workers), 50, np.random.default_rng(0))
    assert data + state.closest.nbytes <= len(rows) * (50 + 2 + 24)


# --- k-means|| ------------------------------------------------------------------------------------


def blobs(n=4000, d=5, groups=20):
    rng = np.random.default_rng(1)
    return rng.uniform(-20, 20, (groups, d))[rng.integers(0, groups, n)] + rng.normal(size=(n, d))


def start(rows, k, seed=0, weight=None, threads=1, init=parallel):
    with Workers(threads) as workers:
        source = make_source(rows, weight, workers)
        return init(source, k, np.random.default_rng(seed))


def cost(rows, centers):
    return ((rows[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum()


def test_few_passes_are_about_as_good_as_one_for_every_center():
    rows, k = blobs(), 20
    few = [cost(rows, start(rows, k, seed)) for seed in range(10)]
    many = [cost(rows, start(rows, k, seed, init=lambda *a: plusplus(*a)[0])) for seed in range(10)]
    assert np.mean(few) <= 1.5 * np.mean(many)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("weighted", [False, True])
def test_few_passes_choose_different_rows_of_weight_whatever_the_threads(make, weighted):
    rows = blobs()
    weight = np.arange(len(rows)) % 3 * 0.5 if weighted else None
    found = [start(make(rows), 30, 5, weight, threads) for threads in (1, 2, 3, 4)]
    assert all(np.array_equal(found[0], other) for other in found[1:])
    which = [int(np.flatnonzero((rows == center).all(axis=1))[0]) for center in found[0]]
    assert len(set(which)) == 30
    assert weight is None or (weight[which] > 0).all()


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    ("n", "distinct", "k"), [(9, 9, 9), (3000, 12, 12), (3000, 1, 3), (40, 40, 2)]
)
def test_few_passes_find_every_different_row(make, n, distinct, k):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(distinct, 3))[rng.permutation(n) % distinct]
    centers = start(make(rows), k)
    assert centers.shape == (k, 3)
    assert len({center.tobytes() for center in centers}) == min(k, distinct)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_few_passes_over_values_whose_squares_are_not_numbers(size):
    rows = blobs() / 40 * size
    centers = start(rows, 20)
    assert len({center.tobytes() for center in centers}) == 20


def test_few_passes_start_a_fit():
    rows = blobs()
    fit = KMeans(20, init="k-means||", random_state=0).fit(rows)
    again = KMeans(20, init="k-means||", random_state=0, n_threads=2).fit(rows)
    assert same_bits(fit, again)

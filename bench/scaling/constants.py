"""Constants of the cost model, in seconds; `measure` takes them from this machine, one thread."""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from harness.generated_data import Array
from scipy.optimize import nnls

from partita import KMeans
from partita._common.threads import Workers
from partita.engine.partitioned_sums import SumsChange
from partita.estimators.validation import make_source
from partita.init.plusplus import plusplus
from partita.moments import Moments

ROUNDS = 5  # of each measurement; the best counts
SPREAD = 6.0  # of the centers of generated clusters over the deviation of a row
PASS_SHAPES = (
    (60_000, 8, 32),
    (60_000, 8, 256),
    (60_000, 32, 32),
    (60_000, 32, 256),
    (30_000, 64, 100),
)
SEED_SHAPES = ((50_000, 8, 50), (50_000, 32, 50), (20_000, 8, 400), (20_000, 32, 400))
PRUNED_SHAPES = ((60_000, 32, 100), (60_000, 64, 50), (60_000, 16, 200))
ONCE_SHAPES = ((100_000, 4, 8), (100_000, 16, 8), (100_000, 48, 8))
PLAIN = ("pair_value", "pair", "row_value", "moved_value", "moved_row")
ITERATIONS = 25
DRIVER_CENTERS = 10_000
READ_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class Decline:
    """One iteration of a fit: the share of pairs that it compares, and of rows that it moves."""

    compared: float
    moved: float


@dataclass(frozen=True, slots=True)
class Compute:
    """What one core takes, by unit of work."""

    pair_value: float  # a row, a center and a feature, in a plain pass
    pair: float  # a row and a center, in a plain pass
    row_value: float  # a row and a feature, in a plain pass
    moved_value: float  # a row that moves from one sum to another, and a feature
    moved_row: float  # a row that moves
    once_value: float  # a row and a feature, once a fit: the survey, and the cost of the labels
    once_row: float  # a row, once a fit
    pruned_factor: float  # of a pair that bounds leave, over one of a plain pass
    pruned_row_value: float  # a row and a feature, in a pass with bounds
    seed_pair: float  # a row and a round of k-means++
    seed_pair_value: float  # a row, a candidate and a feature of k-means++
    sampled_value: float  # a row, a sampled row and a feature of k-means||
    npy_byte: float  # read from a .npy file in the page cache
    parquet_byte: float  # decoded, as a byte of the rows
    added_byte: float  # of integer sums, added up
    packed_byte: float  # pickled and unpickled
    center_value: float  # of the driver: a mean and its distance to the center

    def plain_pass(self, n: float, d: int, k: int, moved: float) -> float:
        """Seconds of a pass over n rows that compares all pairs and moves a share of the rows."""
        pairs = n * k * (self.pair + d * self.pair_value)
        return pairs + n * d * self.row_value + self.moving(n, d, moved)

    def pruned_pass(self, n: float, d: int, k: int, step: Decline) -> float:
        """Seconds of a pass with bounds that compares a share of the pairs."""
        pairs = n * k * (self.pair + d * self.pair_value) * step.compared
        kept = self.pruned_factor * pairs + n * d * self.pruned_row_value
        return min(self.plain_pass(n, d, k, step.moved), kept + self.moving(n, d, step.moved))

    def moving(self, n: float, d: int, moved: float) -> float:
        """Seconds to correct the sums; in the first pass, rows are added and none is taken."""
        share = 0.5 if moved >= 1 else moved
        return n * share * (d * self.moved_value + self.moved_row)

    def plusplus(self, n: float, d: int, k: int) -> float:
        """Seconds of greedy k-means++ over n rows."""
        return n * k * (self.seed_pair + candidates(k) * d * self.seed_pair_value)


def candidates(k: int) -> int:
    """The number of candidates of a round of k-means++."""
    return 2 + int(np.log(k))


def clusters(n: int, d: int, k: int) -> Array:
    """Rows (n, d) of k round clusters that touch, float32."""
    rng = np.random.default_rng([n, d, k])
    centers = SPREAD * rng.normal(size=(k, d)) / np.sqrt(d)
    return (centers[rng.integers(0, k, n)] + rng.standard_normal((n, d))).astype(np.float32)


def best_seconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The shortest time of some work."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def measure() -> tuple[Compute, list[Decline]]:
    """Measure all constants, and how a fit declines."""
    none = dict.fromkeys(Compute.__slots__, 0.0)
    found = dict(zip(PLAIN, _plain_constants(), strict=True))
    plain = Compute(**{**none, **found})
    found |= zip(("once_row", "once_value"), _once_constants(plain), strict=True)
    pruned, decline = _pruned_constants(plain)
    found |= zip(("pruned_factor", "pruned_row_value"), pruned, strict=True)
    found |= zip(("seed_pair", "seed_pair_value"), _seed_constants(), strict=True)
    found |= zip(("npy_byte", "parquet_byte"), _read_constants(), strict=True)
    found |= zip(("added_byte", "packed_byte", "center_value"), _sum_constants(), strict=True)
    return Compute(**found, sampled_value=_sampled_value()), decline


def _fitted(work: Sequence[Sequence[float]], seconds: Sequence[float]) -> list[float]:
    """Coefficients >= 0 with the least squares of relative errors."""
    weight = 1 / np.asarray(seconds)
    return [float(x) for x in nnls(np.asarray(work) * weight[:, None], np.ones(len(weight)))[0]]


def pass_seconds(X: Array, k: int, algorithm: str) -> tuple[Array, list[Decline]]:
    """Seconds of every iteration but the first, best of some fits, and the shares of each."""
    settings = {"init": X[:k], "tol": 0, "max_iter": ITERATIONS, "n_threads": 1}
    fits = [KMeans(k, algorithm=algorithm, **settings).fit(X).trace_ for _ in range(ROUNDS)]
    seconds = np.min([np.diff([step.seconds for step in trace]) for trace in fits], axis=0)
    return seconds, [Decline(step.compared, step.moved_points / len(X)) for step in fits[0]]


def _plain_constants() -> list[float]:
    work, seconds = [], []
    for n, d, k in PASS_SHAPES:
        times, decline = pass_seconds(clusters(n, d, k), k, "plain")
        for one, step in zip(times, decline[1:], strict=True):
            moved = n * step.moved
            work.append((n * k * d, n * k, n * d, moved * d, moved))
            seconds.append(float(one))
    return _fitted(work, seconds)


def _once_constants(plain: Compute) -> list[float]:
    """Of rows in one partition, which this process works on; beyond its two passes."""
    import dask
    import dask.array as da

    work, seconds = [], []
    for n, d, k in ONCE_SHAPES:
        X = clusters(n, d, k)
        rows = da.from_array(X, chunks=X.shape)
        model = KMeans(k, init=X[:k], tol=0, max_iter=1, algorithm="plain")
        with dask.config.set(scheduler="synchronous"):
            whole = best_seconds(lambda model=model, rows=rows: model.fit(rows))
        work.append((n, n * d))
        seconds.append(max(1e-9, whole - 2 * plain.plain_pass(n, d, k, 1.0)))
    return _fitted(work, seconds)


def _pruned_constants(plain: Compute) -> tuple[list[float], list[Decline]]:
    work, times, declines = [], [], []
    for n, d, k in PRUNED_SHAPES:
        seconds, decline = pass_seconds(clusters(n, d, k), k, "auto")
        declines.append(decline)
        for one, step in zip(seconds, decline[1:], strict=True):
            rest = float(one) - plain.moving(n, d, step.moved)
            if step.compared < 1 and rest > 0:
                pairs = n * k * (plain.pair + d * plain.pair_value)
                work.append((pairs * step.compared, n * d))
                times.append(rest)
    shortest = min(map(len, declines))
    middle = [
        Decline(*np.median([(one[i].compared, one[i].moved) for one in declines], axis=0).tolist())
        for i in range(shortest)
    ]
    return _fitted(work, times), middle


def _seed_constants() -> list[float]:
    work, seconds = [], []
    for n, d, k in SEED_SHAPES:
        with Workers(1) as workers:
            source = make_source(clusters(n, d, k), None, workers)
            source.survey()

            def seed(source=source, k=k) -> object:  # type: ignore[no-untyped-def]
                return plusplus(source, k, np.random.default_rng(0))

            seconds.append(best_seconds(seed, 3))
        work.append((n * k, n * k * d * candidates(k)))
    return _fitted(work, seconds)


def _sampled_value() -> float:
    from partita.init.plusplus import RowsInMemory

    n, d, m = 30_000, 32, 200
    X = clusters(n, d, m)
    with Workers(1) as workers:
        source = make_source(X, None, workers)
        source.survey()
        seconds = best_seconds(lambda: RowsInMemory(source).add_values(X[:m].astype(np.float64)))
    return seconds / (n * d * m)


def _read_constants() -> tuple[float, float]:
    import pyarrow as pa
    from pyarrow import parquet

    rows = clusters(READ_ROWS, 16, 20)
    with tempfile.TemporaryDirectory() as folder:
        npy, packed = Path(folder, "rows.npy"), Path(folder, "rows.parquet")
        np.save(npy, rows)
        parquet.write_table(pa.table({f"x{t}": rows[:, t] for t in range(16)}), packed)
        reading = best_seconds(lambda: np.load(npy))

        def decode() -> Array:
            table = parquet.read_table(packed, use_threads=False)
            return np.stack([column.to_numpy() for column in table.columns], axis=1)

        decoding = best_seconds(decode)
    return reading / rows.nbytes, decoding / rows.nbytes


def _sum_constants() -> tuple[float, float, float]:
    k, d = DRIVER_CENTERS, 32
    rows = clusters(2 * k, d, 20)
    with Workers(1) as workers:
        grid = make_source(rows, None, workers).survey().grid
    limbs = np.random.default_rng(0).integers(1, 1 << 40, (2, k, d + 2))
    moments = Moments(grid, *limbs)
    sums = SumsChange.between(None, moments)
    size, centers = sums.hi.nbytes + sums.lo.nbytes, np.zeros((k, d))
    adding = best_seconds(lambda: sums + sums)
    packing = best_seconds(lambda: pickle.loads(pickle.dumps(sums)))
    driver = best_seconds(lambda: moments.stats_about(centers))
    return adding / size, packing / size, driver / (k * d)

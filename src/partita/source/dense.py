"""Dense rows in memory (or mapped into it)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.power_of_two import square_scale
from partita._common.threads import Workers
from partita._kernels import kernels
from partita.centers import Centers
from partita.moments import Moments
from partita.source.blocks import (
    PAIR,
    Assigned,
    Pruned,
    as_kernel_type,
    is_small,
    ordered_stats,
    reduce_blocks,
    stretches,
    tile_work,
)
from partita.source.plusplus_rounds import DenseRows, DenseSeeding
from partita.source.survey import Survey, survey_dense
from partita.stats import ClusterStats
from partita.weights import Weights

WIDE = 1 << 9  # about the least work of a row in a pruned pass
NODE = 1 << 19  # about the work of a node of a tree
FEW = 1 << 14  # values that are packed as quickly as they are looked up
MANY = 256  # centers: with more, packing is little beside them


class MemorySource:
    """An array (n, d): float32 and float64 are read in place, other types block by block."""

    dense = True

    def __init__(self, rows: Array, weights: Weights, workers: Workers) -> None:
        self.rows = rows
        self.weights = weights
        self.workers = workers
        self.n, self.d = rows.shape
        self.dtype = np.dtype(np.float32 if rows.dtype == np.float32 else np.float64)
        self._single = rows.dtype in (np.float32, np.float16, np.uint8)
        self.in_place = rows.dtype in (np.float32, np.float64) and rows.flags.c_contiguous
        self.spare = 0.0
        self._passes = 0  # plain ones in float32 so far
        self._kept: Any = None  # all rows, packed
        self._fine, self._patience = 0, 1  # passes for which float32 scores are too close
        self._extent: tuple[Floats, Floats, Array] | None = None  # asked for more than once
        self._survey: Survey | None = None

    def _block(self, rows: slice) -> Array:
        return as_kernel_type(self.rows[rows])

    @cached_property
    def _whole(self) -> Array:
        return as_kernel_type(self.rows)

    def _pieces(self) -> Iterator[tuple[slice, Any]]:
        """Rows for a look at all of them, and who shares them: of those not in place, a copy."""
        step = self.n if self.in_place else max(1, (1 << 22) // self.d)
        for rows, crew in stretches(self.workers, self.n, 4 * self.d):
            for i in range(rows.start, rows.stop, step):
                yield slice(i, min(rows.stop, i + step)), crew

    def extent(self) -> tuple[Floats, Floats, Array]:
        """Lowest and highest value of each feature over rows of weight; tainted columns."""
        if self._extent is not None:
            return self._extent
        kind = np.float32 if self._single else np.float64
        weight = None if self.weights.alike else self.weights.as_floats(self.n)
        low, high = np.full(self.d, np.inf, kind), np.full(self.d, -np.inf, kind)
        taint = np.zeros(self.d, kind)
        for rows, crew in self._pieces():
            part = None if weight is None else weight[rows]
            kernels.extent(self._block(rows), low, high, taint, part, crew)
        tainted = np.flatnonzero(np.isnan(taint))
        self._extent = low.astype(np.float64), high.astype(np.float64), tainted
        return self._extent

    def box(self) -> tuple[Floats, Floats]:
        """Lowest and highest value of each feature, over rows of weight."""
        return self.extent()[:2]

    def survey(self) -> Survey:
        """Extent, origin and total of the data."""
        if self._survey is None:
            self._look(self._sum_up)
        assert self._survey is not None
        return self._survey

    def survey_from_sample(self, rows: Ints) -> None:
        """A survey that takes the mean and the spread of some rows for those of all."""
        part = MemorySource(self.rows[rows], self.weights.part(rows), self.workers)
        self._look(part._sum_up)

    def _look(self, sum_up: Callable[[Moments], None]) -> None:
        low, high = self.box()
        tally = self._tally if self.weights.alike else None
        self._survey = survey_dense(
            low, high, self.weights, sum_up, self._sample, self._columns, tally
        )

    def _sample(self, most: int, features: Ints | slice) -> Floats:
        """About `most` rows, spread evenly; those that a weight stands for count as rows."""
        times, unit = self.weights.times, 1
        if self.weights.values is None and self.weights.unit < 1 << 20:  # more is no repetition
            unit = max(1, int(self.weights.unit))
        count = unit * (self.n if times is None else int(times.sum()))
        if count <= most:
            each = np.full(self.n, unit) if times is None else unit * times
            rows = np.repeat(np.arange(self.n), each)
        else:
            # multiples of the golden ratio: spread evenly, and in step with no pattern of the rows
            at = np.arange(most) * 0.6180339887498949
            rows = ((at - np.floor(at)) * count).astype(np.intp) // unit
            if times is not None:
                rows = np.searchsorted(np.cumsum(times), rows, side="right")
        return np.asarray(self.rows[rows][:, features], dtype=np.float64)

    def _columns(self, features: Ints) -> Iterator[Floats]:
        step = max(1, (1 << 23) // self.n)  # some at a time: a row is read once for all of them
        for i in range(0, len(features), step):
            block = self.rows[:, features[i : i + step]].T
            for values in block:
                yield values.astype(np.float64)

    def _tally(self, middle: Floats, near: Floats) -> tuple[int, Ints]:
        kind = np.float32 if self._single else np.float64
        counts = np.zeros((3, self.d), np.int64)
        middle, near = middle.astype(kind), near.astype(kind)
        for rows, crew in self._pieces():
            kernels.tally(self._block(rows), middle, near, counts, crew)
        return self.n, counts

    def _sum_up(self, moments: Moments) -> None:
        nowhere, first = np.full(self.n, -1, np.int32), np.zeros(self.n, np.int32)

        def run(rows: slice, own: Moments | None, crew: Any) -> None:
            assert own is not None
            kernels.move_rows(
                own.sums, self._block(rows), nowhere[rows], first[rows],
                **self.weights.of_rows(rows), crew=crew,
            )  # fmt: skip

        self._share(4 * self.d, moments, run)

    def _share(
        self,
        work: int,
        moments: Moments | None,
        run: Callable[[slice, Moments | None, Any], None],
    ) -> None:
        """Call run(rows, sums, crew) for all rows: where they are, or copied block by block."""
        if self.in_place:
            for rows, crew in stretches(self.workers, self.n, work):
                run(rows, moments, crew)
        else:
            reduce_blocks(
                self.workers, self.n, work, moments, lambda rows, own: run(rows, own, None)
            )

    def assign(self, centers: Centers, labels: Ints, moments: Moments | None) -> Assigned:
        """Label every row in place; bring `moments` up to date with the changes."""
        coarse = self._single or self._fine <= 0
        values, crew = np.ascontiguousarray(centers.values), self.workers.crew
        if coarse:
            book = kernels.Codebook32(values, centers.origin, like=self._kept, crew=crew)
            self._keep(book, len(values))
        else:
            book = kernels.Codebook64(values, centers.origin, crew=crew)
        kept = self._kept if coarse else None
        work = tile_work(len(centers.values), self.d)
        counts: list[tuple[int, int]] = []

        def run(rows: slice, own: Moments | None, crew: Any) -> None:
            sums = None if own is None else own.sums
            weights = {} if own is None else self.weights.of_rows(rows)
            block = self._block(rows)
            counts.append(
                kernels.assign(
                    book, block, labels[rows], sums, **weights, crew=crew, kept=kept, at=rows.start
                )
            )  # fmt: skip

        self._share(work, moments, run)
        done = Assigned(sum(moved for moved, _ in counts), sum(again for _, again in counts))
        self._fine -= 1
        self._passes += coarse
        if coarse and not self._single and self._too_close(done, len(values)):
            # float64 for a while, then look again: by a pass that is not worth packing for
            self._fine, self._patience = self._patience, 2 * self._patience
            self._kept, self._passes = None, 0
        return done

    def _too_close(self, done: Assigned, k: int) -> bool:
        """Whether rechecks cost more than scores in float64 would (in nanoseconds, measured)."""
        pair = PAIR[0] + PAIR[1] * self.d
        again = done.rechecked * (300 + 4 * self.d + k * pair)
        return bool(again > self.n * k * (pair + PAIR[0]))

    def _keep(self, book: Any, k: int) -> None:
        """Keep the rows packed from the second pass on, if there is room."""
        wanted = self._kept is None and self._passes > 0 and self.n * self.d > FEW and k <= MANY
        if wanted and self.in_place and 4 * self.n * (self.d + 2) <= self.spare:
            self._kept = kernels.keep_rows(book, self.rows, self.workers.crew)

    # --- passes that leave out what cannot change a label: see engine/pruned.py ---

    def assign_bounded(
        self, centers: Centers, bounds: Any, labels: Ints, moments: Moments | None
    ) -> Pruned:
        """As `assign`, by bounds, which are brought up to date."""
        crew, groups, prefix = self.workers.crew, bounds.groups, bounds.prefix
        motion = bounds.follow(centers, labels, crew)
        seen, at, target = np.ascontiguousarray(centers.values), centers.origin, None
        if prefix is not None:
            target = kernels.Target(seen, at)
            seen = prefix.centers(centers)
            at = np.zeros(seen.shape[1])
        book = kernels.Codebook32(seen, at, groups.members, groups.sizes, crew=crew)
        all_rows = self._whole
        sums = None if moments is None else moments.sums
        counts: list[list[int]] = []
        work = max(WIDE, tile_work(len(seen), seen.shape[1]))
        for rows, crew in stretches(self.workers, self.n, work):
            weights = {} if moments is None else self.weights.of_rows(rows)
            counts.append(
                kernels.bounded(
                    book, target, all_rows[rows], labels[rows], bounds.upper[rows],
                    bounds.other[rows], bounds.lower[rows], motion, bounds.fresh, sums, **weights,
                    filter_rows=None if prefix is None else prefix.rows[rows], crew=crew,
                )
            )  # fmt: skip
        bounds.fresh = False
        return Pruned(*(sum(each) for each in zip(*counts, strict=True)))

    def assign_leaves(
        self, leaves: Any, centers: Centers, moved: Ints, moments: Moments | None
    ) -> Pruned:
        """As `assign`, by the leaves of a tree; labels are those of the leaves."""
        book = leaves.book(centers, moved)
        target = kernels.Target(np.ascontiguousarray(centers.values), centers.origin)
        sums = None if moments is None else moments.sums
        weights = {} if moments is None else self.weights.of_rows(slice(None))
        counts: list[list[int]] = []
        for nodes, crew in stretches(self.workers, leaves.tree.nodes, NODE):
            counts.append(
                kernels.assign_leaves(
                    leaves.tree, nodes.start, nodes.stop, book, target, self._whole, leaves.labels,
                    sums, **weights, crew=crew,
                )
            )  # fmt: skip
        return Pruned(*(sum(each) for each in zip(*counts, strict=True)))

    def plant(self, origin: Floats, scale: float) -> Any:
        """A k-d tree over the rows (x − origin)·scale."""
        return kernels.plant(self._whole, origin, scale, self.workers.crew)

    def project(self, origin: Floats, basis: Floats) -> Floats:
        """(y', ‖y − Qy'‖) of every row y = x − origin, with Q the basis and y' = Qᵀy."""
        out = np.empty((self.n, basis.shape[1] + 1), np.float32)

        def some(rows: slice) -> None:
            y = self.rows[rows] - origin
            short = y @ basis
            rest = np.einsum("nd,nd->n", y, y) - np.einsum("nd,nd->n", short, short)
            out[rows, :-1] = short
            out[rows, -1] = np.sqrt(np.maximum(rest, 0.0))

        def work(numbers: Iterator[int]) -> None:
            for number in numbers:
                some(slice(number * 1024, min(self.n, (number + 1) * 1024)))

        self.workers.share(-(-self.n // 1024), work)
        return out

    def move(self, rows: Ints, to: Ints, labels: Ints, moments: Moments) -> None:
        """Move a few rows to other clusters, in the labels and in the moments."""
        self._move(rows, labels[rows], to, moments)
        labels[rows] = to

    def _move(self, rows: Ints, before: Ints, to: Ints, moments: Moments) -> None:
        weights = {key: part[rows] for key, part in self.weights.of_rows(slice(None)).items()}
        kernels.move_rows(moments.sums, as_kernel_type(self.rows[rows]), before, to, **weights)

    def own_distances(self, centers: Centers, labels: Ints) -> Floats:
        """D64 (n,) of every row to the center of its label."""
        values, out = np.ascontiguousarray(centers.values), np.empty(self.n)

        def run(rows: slice, _: Moments | None, crew: Any) -> None:
            kernels.own_distance(
                self._block(rows), values, centers.origin, labels[rows], out[rows], crew
            )

        self._share(2 * self.d, None, run)
        return out

    def ordered_stats(self, labels: Ints, k: int, origin: Floats) -> ClusterStats:
        """Summaries by float sums in the order of the rows (weights too unequal for a grid)."""

        def blocks() -> Iterator[tuple[slice, Floats]]:
            for i in range(0, self.n, 1 << 16):
                rows = slice(i, min(self.n, i + (1 << 16)))
                yield rows, self.rows[rows].astype(np.float64) - origin

        return ordered_stats(blocks, self.weights.as_floats(self.n), labels, k, self.d)

    def take_rows(self, rows: Ints) -> Floats:
        """Some rows as doubles."""
        return np.asarray(self.rows[rows], dtype=np.float64)

    def subset(self, rows: Ints, weight: Floats | None = None) -> MemorySource:
        """A source of some of the rows, with weights of their own (or none)."""
        return MemorySource(self.rows[rows], Weights.of(weight, len(rows)), self.workers)

    def part(self, rows: Ints) -> MemorySource:
        """A source of some of the rows with their weights, on the grid of all."""
        part = MemorySource(self.rows[rows], self.weights.part(rows), self.workers)
        part._extent, part._survey = self.extent(), self.survey()
        return part

    def seeding(self, k: int, trials: int) -> DenseSeeding:
        """The state of k-means++ before the first row is chosen."""
        native = self.rows.dtype == np.float32 or self.rows.dtype == np.float64
        rows = DenseRows(
            self.n, self.d, self.weights, self.workers, self._block, self._sample,
            whole=native or is_small(self.n, 4 * k * trials * self.d),
        )  # fmt: skip
        return DenseSeeding(rows, self._seed_scale, k, trials)

    @cached_property
    def _seed_scale(self) -> float:
        # Where squares would leave the range of numbers, a power of two; the sampling is unchanged.
        low, high = self.box()
        reach = max(abs(float(low.min())), abs(float(high.max())))
        limit, max_exponent = (2.0**40, 100) if self._single else (2.0**400, 1000)
        return square_scale(reach, limit, max_exponent)

"""The rounds of k-means++ over partitions, with the bits of one array.

A partition keeps the distances of its rows to the nearest chosen one. Draws, candidates, and two
numbers for each leaf of 256 rows travel: its potential, and the gain of every candidate. The driver
adds leaves in their order, as a seeding in memory does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.weighting import weighted
from partita._kernels.weighted_draws import LEAF_ROWS, index_in_cumsum
from partita.source.partition_tasks import SourceOf
from partita.source.partitions import Part, Partitions
from partita.source.plusplus_rounds import DenseSeeding

MAX_SKETCH_SHARE = 1.0  # of the bytes of a partition, that its sketch may take


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows chosen so far, from which the state of a partition follows."""

    run: int  # number of the seeding among those of a fit
    source: SourceOf
    counts: tuple[int, int]  # of rows to choose, and of candidates a round
    rows: Floats  # (j, d) doubles; those before `first` need not be known
    first: int = 0

    def short(self) -> Chosen:
        """Return the last row only, which is enough for a partition that has its state."""
        first = max(0, len(self.rows) - 1)
        return replace(self, rows=self.rows[first:], first=first)

    def seeding(self, part: Part) -> _PartSeeding | None:
        """Return the state of a partition; None if it is lost, and all rows are not known."""
        found: _PartSeeding | None = part.state.pop("seeding", None)
        if found is None or found.run != self.run or found.done > self.first + len(self.rows):
            made = self.source(part).seeding(*self.counts, MAX_SKETCH_SHARE * part.rows.nbytes)
            found = _PartSeeding(self.run, made)
        if found.done < self.first:
            return None
        for row in self.rows[found.done - self.first :]:
            found.choose(row)
        part.state["seeding"] = found
        return found


class _PartSeeding:
    """The state of one partition."""

    def __init__(self, run: int, rounds: DenseSeeding) -> None:
        self.run, self.rounds, self.done = run, rounds, 0
        self._candidates: Floats = np.empty((0, 0))  # whose gains are known

    def gains(self, candidates: Floats) -> Floats:
        self._candidates = candidates
        return self.rounds.leaf_gains(candidates)

    def choose(self, row: Floats) -> None:
        same = [i for i, other in enumerate(self._candidates) if np.array_equal(row, other)]
        if not same:
            self.gains(row[None])
        self.rounds.choose(same[0] if same else 0)
        self._candidates, self.done = np.empty((0, 0)), self.done + 1


@dataclass(frozen=True, slots=True)
class Potentials:
    """Returns the potential of every leaf."""

    chosen: Chosen

    def __call__(self, part: Part) -> Floats | None:
        state = self.chosen.seeding(part)
        return None if state is None else state.rounds.potential.copy()


@dataclass(frozen=True, slots=True)
class DrawInLeaves:
    """Draws a row in each of some leaves; `leaves` and places are numbered among all."""

    chosen: Chosen
    leaves: Ints
    places: Floats  # above the potential of all leaves before

    def __call__(self, part: Part) -> tuple[Ints, Ints] | None:
        state = self.chosen.seeding(part)
        if state is None:
            return None
        seeding = state.rounds
        weight = self.chosen.source(part).weights.unless_equal()
        first = part.start // LEAF_ROWS
        here = np.flatnonzero(
            (self.leaves >= first) & (self.leaves < first + len(seeding.potential))
        )
        drawn = np.empty(len(here), np.intp)
        for i, which in enumerate(here.tolist()):
            leaf = int(self.leaves[which]) - first
            rows = slice(LEAF_ROWS * leaf, LEAF_ROWS * (leaf + 1))
            of_leaf = None if weight is None else weight[rows]
            inside = weighted(seeding.closest[rows].astype(np.float64), of_leaf)
            at = index_in_cumsum(inside.cumsum(), self.places[which])
            drawn[i] = part.start + rows.start + at
        return here, drawn


@dataclass(frozen=True, slots=True)
class Gains:
    """Returns the gain (leaves, candidates) of every candidate in every leaf."""

    chosen: Chosen
    candidates: Floats

    def __call__(self, part: Part) -> Floats | None:
        state = self.chosen.seeding(part)
        return None if state is None else state.gains(self.candidates)


class PartitionedSeeding:
    """The state of k-means++ on the driver: the chosen rows, and the potential of every leaf."""

    def __init__(
        self,
        partitions: Partitions,
        weights: Any,
        source: SourceOf,
        run: int,
        counts: tuple[int, int],
    ) -> None:
        self._partitions, self._weights = partitions, weights
        self._chosen = Chosen(run, source, counts, np.empty((0, partitions.d)))
        self._candidates = self._chosen.rows
        self._leaves = np.zeros(1)  # cumulated potential

    def at_once(self, j: int, uniform: Floats, which: Ints) -> bool:
        return False  # rounds over partitions are long

    def draw(self, uniform: Floats) -> Ints:
        total = self._leaves[-1]
        if not total > 0:  # no row is chosen, or every row equals a chosen one
            return np.asarray(self._weights.draw_any(int(self._partitions.starts[-1]), uniform))
        place = uniform * total
        leaves = index_in_cumsum(self._leaves, place)
        before = np.where(leaves > 0, self._leaves[leaves - 1], 0.0)
        first = self._partitions.starts[:-1] // LEAF_ROWS
        owners = np.unique(np.searchsorted(first, leaves, side="right") - 1)
        out = np.empty(len(uniform), np.intp)
        task = partial(DrawInLeaves, leaves=leaves, places=place - before)
        for places, drawn in self._ask(task, owners.tolist()):
            out[places] = drawn
        return out

    def gains(self, rows: Floats) -> Floats:
        self._candidates = rows
        if len(self._chosen.rows) == 0:
            return np.zeros(len(rows))  # there is no choice
        gain = np.concatenate(self._ask(partial(Gains, candidates=rows)))
        return np.asarray(gain.cumsum(axis=0)[-1])

    def choose(self, which: int) -> None:
        rows = np.concatenate([self._chosen.rows, self._candidates[which][None]])
        self._chosen = replace(self._chosen, rows=rows)
        self._leaves = np.concatenate(self._ask(Potentials)).cumsum()

    def _ask(self, task: Callable[[Chosen], Any], which: Sequence[int] | None = None) -> list[Any]:
        """Run a task beside partitions; those that have lost their state get all chosen rows."""
        numbers = range(len(self._partitions.starts) - 1) if which is None else which
        answers = self._partitions.run(task(self._chosen.short()), numbers)
        lost = [i for i, answer in enumerate(answers) if answer is None]
        if lost:
            again = self._partitions.run(task(self._chosen), [numbers[i] for i in lost])
            for i, answer in zip(lost, again, strict=True):
                answers[i] = answer
        return answers

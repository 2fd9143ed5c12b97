"""Partitions of directions: rows at unit length, without rows of zeros, made of other partitions.

Rows that are left out change the number of every row after them, and partitions begin at multiples
of `LEAF_ROWS` rows. So a partition may borrow up to 255 rows from those after it, as
`aligned_pieces` says. The driver keeps borrowed rows, and sends them again to where they are lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.text import MAX_LISTED
from partita._common.threads import Workers
from partita.source.partitions import Part, Partitions, Task, aligned_pieces
from partita.source.unit_rows import MAX_LENGTH_ERROR, row_lengths, unit_rows


class NoAnswer(Enum):
    """Answers of a partition that has none."""

    LOST = "its rows must be made again, and borrowed ones are missing"
    NOTHING = "all its rows are zeros, or lent"


class NonzeroRows(NamedTuple):
    """The rows of a partition that are not zero, at unit length."""

    rows: Array
    weight: Floats | None


@dataclass(frozen=True, slots=True)
class DirectionFacts:
    """Facts about a partition, for a check of all rows."""

    columns: Array  # (d,) bool: with NaN or infinity, where a row has no finite length
    kept: int  # rows that are not zero
    zero_rows: list[int]  # the first few
    n_zero: int
    wrong: list[tuple[int, float]]  # the first row whose length is neither 0 nor 1, if any
    n_wrong: int


@dataclass(frozen=True, slots=True)
class FindDirections:
    """Scales the rows of a partition to unit length, and keeps them there."""

    normalized: bool  # rows have unit length already

    def __call__(self, part: Part) -> DirectionFacts:
        kept, length = self._scaled(part)
        part.state["kept"] = kept
        columns = np.zeros(part.rows.shape[1], bool)
        if not np.isfinite(length).all():
            columns = np.asarray(~np.isfinite(part.rows).all(axis=0))
        zero = np.flatnonzero(length == 0)
        wrong = np.flatnonzero((np.abs(length - 1) > MAX_LENGTH_ERROR) & (length != 0))
        first = [(part.start + int(i), float(length[i])) for i in wrong[:1]]
        return DirectionFacts(
            columns,
            len(kept.rows),
            [part.start + int(i) for i in zero[:MAX_LISTED]],
            len(zero),
            first,
            len(wrong),
        )

    def kept(self, part: Part) -> NonzeroRows:
        """Return the rows that are not zero, made again if they are lost."""
        found: NonzeroRows | None = part.state.get("kept")
        return self._scaled(part)[0] if found is None else found

    def _scaled(self, part: Part) -> tuple[NonzeroRows, Floats]:
        with Workers(1) as workers:  # an engine runs one task per core
            if self.normalized:
                rows, length = part.rows, row_lengths(part.rows, workers)
            else:
                rows, length = unit_rows(part.rows, workers)
        weight = part.weight
        if not length.all():
            rows = np.ascontiguousarray(rows[length != 0])
            weight = None if weight is None else weight[length != 0]
        return NonzeroRows(rows, weight), length


@dataclass(frozen=True, slots=True)
class Layout:
    """The way in which rows that are kept become partitions again."""

    base: Ints  # (count,) the first row of every partition they are made of
    lent: Ints  # (count,) first rows that the partition before has borrowed
    starts: Ints  # (count,) the new number of the first row; -1: no partition is left here
    borrowed: dict[int, NonzeroRows]  # by the number of the partition

    def of(self, part: Part, kept: NonzeroRows) -> Part | None:
        """Return what is left of a partition, with its borrowed rows and an empty state."""
        i = int(np.searchsorted(self.base, part.start))
        if self.starts[i] < 0:
            return None
        own = _sliced(kept, slice(int(self.lent[i]), None))
        if i in self.borrowed:
            own = _joined([own, self.borrowed[i]])
        return Part(own.rows, own.weight, int(self.starts[i]))


@dataclass(frozen=True, slots=True)
class LendRows:
    """Returns the first rows of a partition that another one borrows."""

    find: FindDirections
    base: Ints
    lent: Ints

    def __call__(self, part: Part) -> NonzeroRows:
        count = int(self.lent[np.searchsorted(self.base, part.start)])
        return _sliced(self.find.kept(part), slice(0, count))


@dataclass(frozen=True, slots=True)
class BesideDirections:
    """Runs a task beside the directions of a partition."""

    task: Any
    find: FindDirections
    moves_rows: bool  # some rows are zeros
    layout: Layout | None = None  # needed if the state is lost and rows move

    def __call__(self, part: Part) -> Any:
        if "directions" not in part.state:
            if self.moves_rows and self.layout is None:
                return NoAnswer.LOST
            part.state["directions"] = self._made(part)
            part.state.pop("kept", None)
        made: Part | None = part.state["directions"]
        return NoAnswer.NOTHING if made is None else self.task(made)

    def _made(self, part: Part) -> Part | None:
        kept = self.find.kept(part)
        if self.layout is not None:
            return self.layout.of(part, kept)
        return Part(kept.rows, kept.weight, part.start)


@dataclass(frozen=True, slots=True)
class AddAnswers:
    """Adds up the answers of partitions that have one; lost is lost."""

    add: Callable[[Any, Any], Any]

    def __call__(self, one: Any, other: Any) -> Any:
        if NoAnswer.LOST in (one_kind := _kind(one), other_kind := _kind(other)):
            return NoAnswer.LOST
        if one_kind is NoAnswer.NOTHING:
            return other
        return one if other_kind is NoAnswer.NOTHING else self.add(one, other)


class UnitPartitions:
    """`Partitions` of the rows of others that are not zero, at unit length."""

    def __init__(self, given: Partitions, normalized: bool) -> None:
        self.given, self._find = given, FindDirections(normalized)
        self.facts = given.run(self._find)
        sizes = [fact.kept for fact in self.facts]
        self.d, self.weighted = given.d, given.weighted
        self.table, self.names = given.table, given.names
        with Workers(1) as workers:
            empty = np.empty((0, given.d), given.dtype)
            self.dtype = given.dtype if normalized else unit_rows(empty, workers)[0].dtype
        pieces = list(aligned_pieces(sizes))
        self._homes = [part[0][0] for part in pieces]
        counts = [sum(rows.stop - rows.start for _, rows in part) for part in pieces]
        self.starts = np.cumsum([0, *counts])
        self._layout: Layout | None = None
        if sum(sizes) < given.starts[-1]:
            self._layout = self._planned(pieces)

    def _planned(self, pieces: list[list[tuple[int, slice]]]) -> Layout:
        base = np.asarray(self.given.starts[:-1])
        lent, starts = np.zeros(len(base), np.int64), np.full(len(base), -1)
        for part, start in zip(pieces, self.starts.tolist(), strict=False):
            starts[part[0][0]] = start
            for block, rows in part[1:]:
                lent[block] = rows.stop
        lenders = np.flatnonzero(lent).tolist()
        given = self.given.run(LendRows(self._find, base, lent), lenders) if lenders else []
        lends = dict(zip(lenders, given, strict=True))
        borrowed = {
            part[0][0]: _joined([lends[block] for block, _ in part[1:]])
            for part in pieces
            if len(part) > 1
        }
        return Layout(base, lent, starts, borrowed)

    def _beside(self, task: Task[Any], layout: Layout | None = None) -> BesideDirections:
        return BesideDirections(task, self._find, self._layout is not None, layout)

    def run(self, task: Task[Any], which: Sequence[int] | None = None) -> list[Any]:
        homes = self._homes if which is None else [self._homes[i] for i in which]
        answers = self.given.run(self._beside(task), homes)
        lost = [i for i, answer in enumerate(answers) if _kind(answer) is NoAnswer.LOST]
        if lost:
            whole = self._beside(task, self._layout)
            again = self.given.run(whole, [homes[i] for i in lost])
            for i, answer in zip(lost, again, strict=True):
                answers[i] = answer
        return answers

    def total(self, task: Task[Any], add: Callable[[Any, Any], Any]) -> Any:
        answer = self.given.total(self._beside(task), AddAnswers(add))
        if _kind(answer) is NoAnswer.LOST:
            answer = self.given.total(self._beside(task, self._layout), AddAnswers(add))
        return answer

    def map_rows(self, function: Callable[[Array], Array], columns: int | None, dtype: Any) -> Any:
        return self.given.map_rows(function, columns, dtype)  # of the rows as they are

    def close(self) -> None:
        self.given.close()


def _kind(answer: Any) -> NoAnswer | None:
    """Return the kind of an answer that is none; comparing arrays would compare their values."""
    return answer if isinstance(answer, NoAnswer) else None


def _sliced(kept: NonzeroRows, rows: slice) -> NonzeroRows:
    return NonzeroRows(kept.rows[rows], None if kept.weight is None else kept.weight[rows])


def _joined(parts: list[NonzeroRows]) -> NonzeroRows:
    weights = [part.weight for part in parts if part.weight is not None]
    rows = np.concatenate([part.rows for part in parts])
    return NonzeroRows(rows, np.concatenate(weights) if weights else None)

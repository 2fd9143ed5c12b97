"""Records of a run: one `Progress` per iteration, and the `Trace` of all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, overload


@dataclass(frozen=True, slots=True)
class Pass:
    """The path of one assignment, and the share of all pairs that it compared."""

    path: str
    compared: float
    candidates: float = 0.0


@dataclass(frozen=True, slots=True)
class Progress:
    """The record of one iteration: assign every point, then move every center to its mean.

    Attributes
    ----------
    iteration : int
        1, 2, …
    cost : float
        J of this assignment at the centers it was made to. A fit's `inertia_` is the cost of one
        more assignment, to the centers it returns.
    cost_after : float
        J of the same assignment at the updated centers: never more.
    shift : float
        ‖centers after − centers before‖, all of them together; of medoids, how many changed.
    moved_points : int
        Points whose label changed.
    empty : int
        Clusters that the assignment left without weight.
    seconds : float
        Since the fit began, restarts before this one included.
    path : str
        The path of the assignment: "plain" (every row against every center), "bytes" (the same in
        bytes), "blocks", "neighbours", "panels", "hamerly", "yinyang" or "prefix"; of medoids, the
        method. Callbacks also receive "search", which no trace has: `iteration` counts local
        searches.
    compared : float
        Share of the n·k pairs of rows and centers that were compared.
    candidates : float
        Centers a row, on average, that bytes left to be compared in double; 0 on other paths.
    """

    iteration: int
    cost: float
    cost_after: float
    shift: float
    moved_points: int
    empty: int
    seconds: float
    path: str = "plain"
    compared: float = 1.0
    candidates: float = 0.0


Callback = Callable[[Progress], object]


@dataclass(frozen=True, slots=True, repr=False)
class Trace(Sequence[Progress]):
    """The iterations of one run, first to last."""

    records: tuple[Progress, ...] = ()

    def __len__(self) -> int:
        return len(self.records)

    @overload
    def __getitem__(self, index: int) -> Progress: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Progress, ...]: ...
    def __getitem__(self, index: int | slice) -> Progress | tuple[Progress, ...]:
        return self.records[index]

    def __iter__(self) -> Iterator[Progress]:
        return iter(self.records)

    def __repr__(self) -> str:
        if not self.records:
            return "Trace of no iterations"
        first, last = self.records[0], self.records[-1]
        return f"Trace of {len(self)} iterations, cost {first.cost:.6g} to {last.cost_after:.6g}"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the records by column, as dataframe libraries accept them."""
        rows = [asdict(record) for record in self.records]
        return {field.name: [row[field.name] for row in rows] for field in fields(Progress)}

    def to_frame(self, library: str | None = None) -> Any:
        """Return a dataframe of pandas, polars or pyarrow: `library`, or the first found."""
        from partita._common.optional_imports import dataframe

        return dataframe(self.to_dict(), library)

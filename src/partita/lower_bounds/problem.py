"""`BoundProblem`: the rows, or their inner products, whose partitions are bounded."""

from __future__ import annotations

from dataclasses import dataclass

from partita._common.array_types import Floats, Ints


@dataclass(frozen=True)
class BoundProblem:
    """Weighted rows and the number of clusters; J = Σ w_i ‖x_i − mean‖²."""

    k: int
    weight: Floats
    labels: Ints
    rows: Floats | None = None
    gram: Floats | None = None

"""Two models of the rows of a report: names of their groups, and the flow between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita._common.number_text import percent_text
from partita._common.text import one_line
from partita.report.comparisons.model_flows import NO_GROUP, Flow, ModelFlows
from partita.report.report_columns import check_numbers
from partita.report.report_input import OtherModel, ReportInput

NO_GROUP_NAME = "no group"
_MAX_NAME = 60  # characters of a group of the other model
_MAX_CELLS = 4_000_000  # pairs of groups that are counted


@dataclass(frozen=True, slots=True, eq=False)
class ModelPair:
    """The groups of a report (here), those of another model (there), and their rows in common."""

    data: ReportInput
    flows: ModelFlows
    names: tuple[str, ...]  # of the groups there

    @classmethod
    def of(cls, data: ReportInput, other: OtherModel) -> ModelPair | None:
        """Cross the labels of two models; None if there are too many groups."""
        labels = check_numbers("other.labels", other.labels, data.n).astype(np.int64)
        m = max(int(labels.max(initial=-1)) + 1, len(_listed(other.group_names)))
        if (data.k + 1) * (m + 1) > _MAX_CELLS:
            return None
        flows = ModelFlows.of(data.labels, labels, data.weight, (data.k, m))
        rows = np.bincount(labels[labels >= 0], minlength=m)
        names = other_names(other.group_names, m)
        told = (name if rows[j] >= data.min_rows else f"Group {j}" for j, name in enumerate(names))
        return cls(data, flows, tuple(told))

    @property
    def weights(self) -> tuple[Floats, Floats]:
        """The weights of the groups here (k,) and there (m,)."""
        weight = self.flows.weight
        return weight[:-1].sum(axis=1), weight[:, :-1].sum(axis=0)

    def name_here(self, j: int) -> str:
        """Return the name of a group of the report."""
        return NO_GROUP_NAME if j == NO_GROUP else self.data.group_name(j)

    def name_there(self, j: int) -> str:
        """Return the name of a group of the other model."""
        return NO_GROUP_NAME if j == NO_GROUP else self.names[j]

    def share_text(self, weight: float) -> str:
        """Return a weight as a share of all rows."""
        total = float(self.flows.weight.sum())
        return percent_text(weight / total if total > 0 else 0.0)

    def is_shown(self, rows: int) -> bool:
        """Return whether a report may tell of so few rows."""
        return rows >= self.data.min_rows

    @property
    def shown_moves(self) -> list[Flow]:
        """The moves that the report may tell of, the heaviest first."""
        return [move for move in self.flows.moves if self.is_shown(move.rows)]


def other_names(names: Any, k: int) -> tuple[str, ...]:
    """Return a name for each of k groups of another model; "Group 3" where none is given."""
    given = [one_line(name or "", _MAX_NAME) for name in _listed(names)[:k]]
    given += [""] * (k - len(given))
    return tuple(name or f"Group {j}" for j, name in enumerate(given))


def _listed(names: Any) -> list[Any]:
    return [] if names is None else list(names)

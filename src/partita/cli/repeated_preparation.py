"""The preparation of a fit, repeated for the rows of another table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita._common.errors import Setting
from partita.cli.column_matching import match_columns
from partita.cli.options import ReadOptions
from partita.cli.prepared_data import PreparedData, compared_by_ranges, mixed_rows, read
from partita.tables import Scaling, Table, TableError, repeated_plan_of, select


def prepare_for_model(
    path: Path,
    options: ReadOptions,
    id: str | None,
    missing: str | None,
    weight: str | None = None,
    read_model: Callable[[Path], Any] | None = None,
) -> tuple[Any, PreparedData]:
    """Return the model in a file, and rows with its columns, scaling and values for gaps."""
    from partita import model_file

    fitted = (read_model or model_file.read_model)(path)
    options = replace(options, na=[*fitted.saved_.na, *(options.na or ())])
    table, names = match_columns(read(options), fitted, path)
    return fitted, RepeatedPreparation.of(fitted, path, names, id, missing, weight).apply(table)


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedPreparation:
    """The preparation of the rows of a model."""

    saved: Any  # what the file keeps beside the model
    names: Sequence[str]  # of the features
    missing: str  # the policy for missing values
    fill: Floats | None
    id: str | None = None
    weight: str | None = None

    @classmethod
    def of(
        cls,
        fitted: Any,
        path: Path,
        names: Sequence[str],
        id: str | None,
        missing: str | None,
        weight: str | None = None,
    ) -> RepeatedPreparation:
        """Return the preparation for tables with these columns; `missing` replaces its policy."""
        saved = fitted.saved_
        vars(fitted).pop("feature_names_in_", None)  # the rows have no names, or those of the file
        fill = saved.fill if saved.pipeline is None else saved.pipeline.fill
        if missing in ("mean", "auto") and fill is None:
            raise TableError(
                f"{path} has no values to fill in. Fit it with {{}}, or leave such rows out with "
                "{}.",
                Setting("missing", missing),
                Setting("missing", "drop"),
            )
        return cls(saved, names, missing or _policy_of(saved, fill), fill, id, weight)

    def apply(self, table: Table) -> PreparedData:
        """Prepare a table, or a block of one."""
        categories = self.saved.categories
        numbers = [name for name in self.names if name not in categories]
        keeps_gaps = self.missing == "partial"
        selection = select(
            table,
            columns=numbers,
            id=self.id,
            weight=self.weight,
            missing=self.missing,
            fill=self.fill if self.missing in ("mean", "auto") else open_gaps(numbers, keeps_gaps),
            days=self.saved.days,
            ways=("drop",) if self.fill is None else ("drop", "mean"),
            categories=categories or None,
        )
        d = len(numbers)
        scaling = self.saved.scaling or Scaling("none", np.zeros(d), np.ones(d))
        plan, pipeline = repeated_plan_of(table, selection, scaling), self.saved.pipeline
        if self.saved.parameters.get("metric") == "gower":
            plan = compared_by_ranges(plan)
        if categories:
            selection = replace(
                selection, categories={n: selection.categories[n] for n in categories}
            )
            rows: Any = mixed_rows(selection, scaling)
        elif pipeline is None:
            rows = scaling.apply(selection.X)
        else:
            rows, gaps = pipeline.apply(selection.X), np.isnan(selection.X)
            if gaps.any() and pipeline.can_undo:  # some steps may fill gaps
                original = np.where(gaps, pipeline.undo(rows), selection.X)
                selection = replace(selection, X=original)
        return PreparedData(table, selection, scaling, rows, plan, pipeline, self.id)


def open_gaps(names: Sequence[str], keeps_gaps: bool) -> Floats | None:
    """Return values that leave gaps open, where the model compares rows by what is known."""
    return np.full(len(names), np.nan) if keeps_gaps else None


def _policy_of(saved: Any, fill: Any) -> str:
    """Return the policy for missing values of the fit; for rows as they come, an error."""
    policy = (saved.plan or {}).get("missing")
    if policy == "partial":
        return "partial"
    if fill is None:
        return "drop" if policy == "drop" else "error"
    return "auto" if policy == "auto" else "mean"

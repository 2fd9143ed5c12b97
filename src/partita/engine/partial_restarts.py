"""Several runs over rows with gaps from different starts; the best is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from partita._common.array_types import Floats
from partita.engine.lloyd import LloydOptions
from partita.engine.partial_step import PartialStep
from partita.engine.restarts import LabelledRun, run_all, summarise_at
from partita.run_record import Fit
from partita.source.partial_rows import PartialSource


def best_partial_fit(
    source: PartialSource, starts: Sequence[Callable[[], Floats]], options: LloydOptions
) -> tuple[Fit, PartialStep]:
    """Return the best run as the loop left it, and its step."""
    return run_all(starts, options, lambda k: PartialStep(source, k), lambda step: None)


def best_partial_run(
    source: PartialSource, starts: Sequence[Callable[[], Floats]], options: LloydOptions
) -> LabelledRun:
    """Run the loop from every start, and label the rows by the best run: `restarts.best_of`."""
    fit, step = best_partial_fit(source, starts, options)
    centers = fit.centers.plain.astype(source.dtype)
    return LabelledRun(centers, *summarise_at(centers, step), fit, step.summary.mass)

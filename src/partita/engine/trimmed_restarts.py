"""Starts of trimmed K-means: many short runs, of which the best are run to the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.centers import Centers
from partita.engine.lloyd import LloydOptions
from partita.engine.paths.path import PathCache
from partita.engine.restarts import best_fit_by
from partita.engine.trimmed_step import TrimmedStep
from partita.halting import MaxIter
from partita.run_record import Fit
from partita.source.protocol import Source
from partita.stats import ClusterStats

SAMPLE_ROWS = 1 << 12  # of more rows, a sample decides between starts; or
SAMPLE_ROWS_PER_CLUSTER = 1 << 6
SHORT_RUN = 3  # iterations, after which starts are compared
MAX_FINALISTS = 4  # runs that go on to the end
STARTS_PER_FINALIST = 3


def sample_of(source: Source, k: int, rng: np.random.Generator) -> tuple[Source, Ints | slice]:
    """The rows on which starts are made and compared: all, or some of those that have weight."""
    weight = source.weights.unless_equal()
    rows = np.arange(source.n) if weight is None else np.flatnonzero(weight)
    most = max(SAMPLE_ROWS, SAMPLE_ROWS_PER_CLUSTER * k)
    if len(rows) <= most:
        return source, slice(None)
    chosen = np.sort(rng.choice(rows, most, replace=False))
    return source.subset(chosen, source.weights.subset(chosen)), chosen


def promising_starts(
    source: Source, sample: Source, starts: Sequence[Floats], options: LloydOptions, trim: float
) -> list[Floats]:
    """Compare starts by short runs on the sample; return those to run to the end.

    Trimming has many local optima: a start near an outlier keeps a center there. So many starts are
    tried, at the price of a few iterations each, and the best few are worth more (Fritz,
    García-Escudero and Mayo-Iscar 2013). If the sample is not all rows, these are run on it, and
    the centers of the best one are the only start for all rows.
    """
    if len(starts) == 1:
        return list(starts)
    short = replace(_quiet(options), halt=MaxIter(SHORT_RUN))
    ranked = sorted((_run(sample, start, short, trim)[0], i) for i, start in enumerate(starts))
    finalists = max(1, min(MAX_FINALISTS, len(starts) // STARTS_PER_FINALIST))
    distinct: dict[float, Floats] = {}
    for cost, i in ranked:
        distinct.setdefault(cost, starts[i])  # starts of the same cost end at the same centers
    best = list(distinct.values())[:finalists]
    if sample is source:
        return best
    runs = [_run(sample, start, _quiet(options), trim) for start in best]
    return [min(runs, key=lambda run: run[0])[1]]


def _quiet(options: LloydOptions) -> LloydOptions:
    return replace(options, callbacks=(), on_run_end=None, path_cache=PathCache())


def _run(source: Source, start: Floats, options: LloydOptions, trim: float) -> tuple[float, Floats]:
    fit, _ = best_trimmed_run(source, [lambda: start], options, trim)
    return fit.trace[-1].cost_after, fit.centers.plain


def best_trimmed_run(
    source: Source, starts: Sequence[Callable[[], Floats]], options: LloydOptions, trim: float
) -> tuple[Fit, TrimmedStep]:
    """Run concentration steps from every start; return the best run, and its step."""
    return best_fit_by(source, starts, options, lambda step: TrimmedStep(step, trim))


def label_and_summarise_trimmed(
    centers: Floats, step: TrimmedStep
) -> tuple[Ints, float, ClusterStats]:
    """Assign to centers as they are returned; labels, cost and summaries of the rows that count."""
    returned = Centers(centers.astype(np.float64), np.zeros(step.source.d))
    step.assign(returned)
    stats, _ = step.stats_about(returned)
    unit = step.source.weights.of_every_row
    return step.labels, unit * step.cost_of_rows(returned), stats.moved(step.origin)

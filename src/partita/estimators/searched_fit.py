"""Fits with `quality="balanced"` or `quality="best"`: the search, and its record."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from partita._common.array_types import Floats
from partita._common.parameters import must_be
from partita.engine.lloyd import LloydOptions
from partita.engine.partial_restarts import best_partial_run
from partita.engine.restarts import best_of
from partita.engine.search.driver import best_by_search
from partita.engine.search.search_options import SearchedRun, SearchOptions
from partita.estimators.gaps import SEARCH_ADVICE
from partita.source.partial_rows import PartialSource
from partita.source.protocol import Source

PARTITIONS_ADVICE = (
    "Fit a part of the rows in memory, or a coreset (partita.coresets), with this quality, and "
    "start from its centers: init=model."
)


def fit_rows(
    source: Source | PartialSource,
    starts: Sequence[Callable[[], Floats]],
    options: LloydOptions,
    search: SearchOptions | None,
    rng: np.random.Generator,
) -> SearchedRun:
    """Fit from the starts; search from the result, if there are options for it.

    `rng` is the generator that those of the starts come from.
    """
    if isinstance(source, PartialSource):
        if search is not None:
            wanted = "'fast' where values are missing (missing='partial')"
            raise must_be("quality", wanted, search.quality, SEARCH_ADVICE)
        return SearchedRun(best_partial_run(source, starts, options), ())
    if search is None:
        return SearchedRun(best_of(source, starts, options), ())
    return best_by_search(source, starts, options, search, rng.spawn(1)[0])


def refuse_search(search: SearchOptions | None) -> None:
    """Raise an error for rows in partitions, which cannot be searched."""
    if search is not None:
        wanted = "'fast' for rows in partitions (Dask, Spark)"
        raise must_be("quality", wanted, search.quality, PARTITIONS_ADVICE)

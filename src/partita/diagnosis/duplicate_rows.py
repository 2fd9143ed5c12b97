"""Checks of how many rows there are: in all, of each kind, and for each cluster."""

from __future__ import annotations

import numpy as np

from partita._common.errors import Setting
from partita.diagnosis.finding import CheckSkipped, Finding, percent
from partita.diagnosis.fit_context import FitContext

MIN_ROWS_PER_CLUSTER = 3  # a mean of two rows is no more than the rows
DUPLICATES_MIN_SHARE = 0.5  # of rows that are copies


def check_equal_rows(fit: FitContext) -> Finding | None:
    """Report if all rows are equal."""
    if fit.n == 1:
        raise CheckSkipped("there is one row only")
    if len(fit.distinct[0]) > 1:
        return None
    return Finding(
        "equal-rows",
        "All rows are equal.",
        f"1 distinct row of {fit.n}.",
        "n_clusters=1 describes them. If they should differ, look at the features that were used.",
        settings=(Setting("n_clusters", 1),),
    )


def check_distinct_rows(fit: FitContext) -> Finding | None:
    """Report if there are as many clusters as distinct rows, or more."""
    distinct = len(fit.distinct[0])
    if fit.k < distinct or distinct == 1:
        return None
    empty = fit.empty_clusters
    return Finding(
        "few-distinct-rows",
        "There are no more different rows than groups.",
        f"{distinct} distinct rows of {fit.n}, {fit.k} clusters"
        f"{f', {len(empty)} of them without rows' if len(empty) else ''}.",
        f"Use n_clusters={distinct - 1} at most, or count the distinct rows (numpy.unique) instead "
        "of clustering them.",
        clusters=tuple(empty.tolist()),
        settings=(Setting("n_clusters", distinct - 1),),
    )


def check_rows_per_cluster(fit: FitContext) -> Finding | None:
    """Report if there are hardly more distinct rows than clusters."""
    distinct = len(fit.distinct[0])
    if not fit.k < distinct < MIN_ROWS_PER_CLUSTER * fit.k:
        return None
    return Finding(
        "many-clusters",
        "There are nearly as many groups as rows.",
        f"{fit.k} clusters of {distinct} distinct rows, {distinct / fit.k:.2g} in each on average.",
        "Reduce n_clusters (choose_k recommends a number), or give more rows.",
    )


def check_duplicates(fit: FitContext) -> Finding | None:
    """Report if most rows are copies of others."""
    first, weight = fit.distinct
    share = 1 - len(first) / fit.n
    if share < DUPLICATES_MIN_SHARE or len(first) <= fit.k:
        return None
    return Finding(
        "duplicates",
        "Most rows are copies of other rows.",
        f"{len(first)} distinct rows of {fit.n} ({percent(share)} are copies); the most frequent "
        f"has {percent(float(weight.max() / fit.total))} of the weight.",
        "If copies have no meaning, keep one of each. If they do, fit the distinct rows with their "
        "counts as sample_weight, which gives the same result in less time. Few distinct values "
        "may also mean categories: KMedoids with metric='hamming' suits them better.",
        "note",
        tuple(int(j) for j in np.unique(fit.labels[first[weight == weight.max()]])),
    )

"""Rows that occur more than once."""

from __future__ import annotations

import numpy as np

from partita.diagnosis.check import Look
from partita.diagnosis.finding import Finding, Skip, percent
from partita.diagnosis.fit_context import View
from partita.diagnosis.model_facts import ROWS

MOSTLY = 0.5  # of the rows are copies of others: what looks like many rows is few


def too_few(view: View) -> Finding | None:
    """As many clusters as there are distinct rows, or more."""
    if view.k == 1:
        raise Skip("there is one cluster only")
    distinct = len(view.distinct[0])
    if view.k < distinct:
        return None
    return Finding(
        "few-distinct-rows",
        "There are not more distinct rows than clusters: nothing is summarised.",
        f"{distinct} distinct rows of {view.n}, {view.k} clusters.",
        f"Lower n_clusters below {distinct}, or count the distinct rows (numpy.unique) in place "
        "of clustering them.",
    )


def duplicates(view: View) -> Finding | None:
    """Most rows are copies of others."""
    first, mass = view.distinct
    share = 1 - len(first) / view.n
    if share < MOSTLY or len(first) <= view.k:
        return None
    return Finding(
        "duplicates",
        "Most rows are copies of others.",
        f"{len(first)} distinct rows of {view.n} ({percent(share)} are copies); the most frequent "
        f"has {percent(float(mass.max() / view.total))} of the weight.",
        "If copies mean nothing, keep one of each; if they count, fit the distinct rows with "
        "their counts as sample_weight, which gives the same in less time. Few distinct values "
        "may also mean categories: KMedoids with metric='hamming' suits them better.",
        "note",
        tuple(int(j) for j in np.unique(view.labels[first[mass == mass.max()]])),
    )


LOOKS = (
    Look("few-distinct-rows", too_few, (ROWS,)),
    Look("duplicates", duplicates, (ROWS,)),
)

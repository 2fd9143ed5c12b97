"""Distances to the own centers, of magnitudes whose squares leave the doubles too."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.row_squares import row_squares
from partita.centers import Centers
from partita.source.protocol import Source
from partita.source.raw_rows import row_slices

MAX_LENGTH = 2.0**500  # squares of longer distances may overflow
MIN_LENGTH = 2.0**-400  # if no distance is longer, squares of some features may underflow


def own_lengths(source: Source, centers: Centers, labels: Ints) -> Floats:
    """The distance (n,) of every row to the center of its label, the square root of D64.

    Where squares overflow, or all of them nearly vanish, rows are scaled by powers of two first:
    the same bits at any magnitude.
    """
    squares = source.own_distances(centers, labels)
    lengths = np.sqrt(squares, out=squares)
    largest = lengths.max(initial=0.0)
    if MIN_LENGTH <= largest <= MAX_LENGTH:
        return lengths
    if largest < MIN_LENGTH:
        doubtful = np.arange(source.n)
    else:
        doubtful = np.flatnonzero(~(lengths <= MAX_LENGTH))
    lengths[doubtful] = scaled_lengths(source, centers, labels, doubtful)
    return lengths


def scaled_lengths(source: Source, centers: Centers, labels: Ints, which: Ints) -> Floats:
    """The same of some rows (m,), each scaled first."""
    lengths = np.empty(len(which))
    for part in row_slices(len(which), source.d):
        rows = which[part]
        lengths[part] = _lengths_of(source.take_rows(rows), centers, labels[rows])
    return lengths


def _lengths_of(rows: Floats, centers: Centers, labels: Ints) -> Floats:
    with np.errstate(over="ignore"):  # of numbers next to the largest double
        gap = (rows - centers.origin) - centers.values[labels]
    exponent = np.frexp(np.abs(gap).max(axis=1))[1]
    return np.ldexp(np.sqrt(row_squares(np.ldexp(gap, -exponent[:, None]))), exponent)

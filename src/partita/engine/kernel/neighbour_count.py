"""The number of neighbours in a graph of rows whose cut shows groups of any shape."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from partita._common.array_types import Ints
from partita._common.exact_sum import exact_totals
from partita._common.threads import Workers
from partita.source.nearest_rows import NearestRows
from partita.source.neighbour_links import DistinctRows, mutual_links

# Measured on moons, rings and blobs of 200 to 20 000 rows: with fewer neighbours, cuts of groups
# that overlap follow the noise of the sample; with more, gaps close.
MIN_NEIGHBOURS, PER_DOUBLING = 10, 1.8  # neighbours: at least, and per binary logarithm of the rows
MIN_TRIED, MAX_TIMES = 5, 4.0  # of what is tried; at most that many times the first number
STEP = 1.25  # from one number that is tried to the next
STEADY = 2  # successive numbers that agree on the pieces: fewer may be chance
PIECE_MIN_SHARE = 0.1  # of the weight of an average cluster: a lighter piece is no group


@dataclass(frozen=True, slots=True)
class LinkedRows:
    """A graph of rows, and its connected pieces."""

    neighbours: int  # of a row, itself included
    links: Any  # (m, m)
    pieces: int
    piece: Ints  # (m,) numbers in the order of the rows
    has_light_pieces: bool

    def is_cut_into(self, k: int) -> bool:
        """Return whether the pieces are k groups."""
        return self.pieces == k and not self.has_light_pieces


class GraphChoice:
    """Graphs of distinct rows for any number of neighbours."""

    def __init__(self, distinct: DistinctRows, k: int, workers: Workers) -> None:
        self._mass, self._k = distinct.mass, k
        self._rows, self._search = distinct.rows, NearestRows(distinct.rows, workers)
        self._known: Ints = np.empty((len(distinct.mass), 0), np.int64)

    @property
    def size(self) -> int:
        """The number of distinct rows."""
        return len(self._mass)

    def of(self, neighbours: int) -> LinkedRows:
        """Return the graph of so many neighbours."""
        if neighbours > self._known.shape[1]:
            wanted = min(self.size, int(STEP * neighbours))  # most of the time is not for these
            self._known = self._search.nearest(self._rows, wanted, np.arange(self.size))
        links = mutual_links(self._known, neighbours)
        pieces, piece = connected_components(links, directed=False)
        weight = exact_totals(self._mass, piece, pieces)
        is_light = weight < PIECE_MIN_SHARE * math.fsum(weight) / self._k
        return LinkedRows(neighbours, links, pieces, piece, bool(is_light.any()))

    def best(self) -> LinkedRows:
        """Return the graph of 1.8·log₂(m) neighbours (at most m/k), or of more or fewer.

        More, until there are at most k pieces and none is light. Fewer, if there are fewer pieces:
        the largest number with which the graph falls into k groups, and with the next one too.
        """
        usual = max(MIN_NEIGHBOURS, round(PER_DOUBLING * math.log2(max(2, self.size))))
        usual = min(usual, max(1, self.size // self._k))
        graph = self.of(usual)
        if graph.pieces > self._k or graph.has_light_pieces:
            return self._grown(graph, min(self.size, round(MAX_TIMES * usual)))
        if graph.pieces == self._k:
            return graph
        return self._separated(usual) or graph

    def _grown(self, graph: LinkedRows, most: int) -> LinkedRows:
        while graph.neighbours < most and (graph.pieces > self._k or graph.has_light_pieces):
            graph = self.of(min(most, int(STEP * graph.neighbours) + 1))
        return graph

    def _separated(self, usual: int) -> LinkedRows | None:
        first, agreeing, neighbours = None, 0, usual
        while neighbours > MIN_TRIED:
            neighbours = max(MIN_TRIED, min(neighbours - 1, int(neighbours / STEP)))
            graph = self.of(neighbours)
            if not graph.is_cut_into(self._k):
                first, agreeing = None, 0
                continue
            first, agreeing = first or graph, agreeing + 1
            if agreeing == STEADY:
                return first
        return None

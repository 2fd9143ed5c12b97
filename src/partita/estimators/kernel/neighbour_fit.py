"""Fits of the graph of nearest neighbours: its normalised cut, as K-means of sparse features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.parameters import must_be
from partita._common.random_state import spawn_generators
from partita._common.spaced_rows import evenly_spaced
from partita._common.threads import Workers
from partita._common.warnings import warn
from partita.engine.kernel.definiteness import DENSE_ROWS, dimension
from partita.engine.kernel.neighbour_count import GraphChoice, LinkedRows
from partita.engine.lloyd import LloydOptions
from partita.engine.restarts import best_of
from partita.estimators import validation
from partita.estimators.kernel.fitting import KernelFit
from partita.estimators.kernel.kernel_input import NEIGHBOURS, KernelParameters
from partita.estimators.kernel.link_space import LinkSpace
from partita.estimators.kernel.starts import Start, starts
from partita.exact_weights import Weights
from partita.init.graph_starts import cut_labels
from partita.init.plusplus import plusplus
from partita.init.random_starts import forgy, means_of, random_partition
from partita.source.gram_matrix import DenseGram
from partita.source.neighbour_links import DistinctRows, LinkFeatures
from partita.source.protocol import Source


def fit_neighbours(
    parameters: KernelParameters, X: Any, weight: Floats | None, workers: Workers
) -> KernelFit:
    """Fit checked rows of features by the graph that links them to their neighbours."""
    _refuse_other_parameters(parameters.model)
    every = starts(parameters, X)
    distinct = DistinctRows.of(X, weight)
    graph = _chosen(parameters, GraphChoice(distinct, parameters.k, workers))
    linked = LinkFeatures.of(distinct, graph.links, graph.neighbours)
    features = linked.of_rows(X, workers)
    source = validation.make_source(features, weight, workers)
    start = GraphStarts(parameters.k, distinct, graph, linked, source, distinct.places(X))
    seeds = spawn_generators(parameters.rng, len(every))
    pairs = zip(every, seeds, strict=True)
    variance = source.survey().spread ** 2 * features.shape[1] if parameters.model.tol else 0.0
    options = LloydOptions(
        parameters.k,
        parameters.halt_at(variance),
        parameters.empty,
        parameters.callbacks,
        parameters.on_run_end,
        memory=parameters.memory,
    )
    result = best_of(source, [partial(start.centers, *pair) for pair in pairs], options)
    note = f"graph of {graph.neighbours} neighbours, in {graph.pieces} connected pieces"
    return KernelFit(
        result.labels,
        result.inertia,
        (min(exact_total(result.stats.sse), result.inertia), result.inertia),
        replace(result.stats, mean=result.stats.mean[:, :0]),
        replace(result.fit, paths=(note, *result.fit.paths)),
        LinkSpace(linked, result.centers),
        _dimension(linked, workers),
        None,
    )


def _refuse_other_parameters(model: Any) -> None:
    wanted = f"with kernel={NEIGHBOURS!r}"
    if model.approximation == "nystrom":
        advice = "The graph is sparse and needs no approximation."
        raise must_be("approximation", f"'exact' or 'auto' {wanted}", "nystrom", advice)
    if model.diagonal_shift is not None:
        advice = "Its affinities are positive semidefinite."
        raise must_be("diagonal_shift", f"None {wanted}", model.diagonal_shift, advice)
    if model.kernel_params:
        raise must_be("kernel_params", f"None {wanted}", model.kernel_params, "Use n_neighbors.")


def _chosen(parameters: KernelParameters, choice: GraphChoice) -> LinkedRows:
    count, k = parameters.model.n_neighbors, parameters.k
    if count == "auto":
        graph = choice.best()
    elif count > choice.size:
        wanted = f"at most the number of distinct rows ({choice.size})"
        raise must_be("n_neighbors", wanted, count, "Lower n_neighbors or give more rows.")
    else:
        graph = choice.of(int(count))
    if graph.pieces > k:
        warn(
            f"The graph of {graph.neighbours} neighbours has {graph.pieces} connected pieces, more "
            f"than n_clusters={k}: no cut tells which of them belong together, so near ones are "
            "joined. A larger n_neighbors may link them.",
            UserWarning,
        )
    return graph


@dataclass(frozen=True, slots=True)
class GraphStarts:
    """Centers (k, m) among the features of links, from any start."""

    k: int
    distinct: DistinctRows
    graph: LinkedRows
    linked: LinkFeatures
    source: Source  # of the features (n, m)
    place: Ints  # (n,) of each row among the distinct ones

    def centers(self, start: Start, rng: np.random.Generator) -> Floats:
        """Return the centers of `start(rng)`."""
        chosen, source = start(rng), self.source
        if chosen.kind == "spectral":
            rows, links = self.distinct, self.linked.features
            cut = cut_labels(
                links, rows.mass, self.graph.piece, self.k, rows.rows, source.workers, rng
            )
            return means_of(source, cut[self.place], self.k, rng, self.linked.count)
        if chosen.kind == "labels":
            return means_of(source, chosen.values, self.k, rng, self.linked.count)
        if chosen.kind == "rows":
            return source.take_rows(chosen.values)
        if chosen.kind == "points":
            points = chosen.values.astype(self.distinct.rows.dtype)
            return np.asarray(self.linked.of_rows(points, source.workers).toarray())
        if chosen.kind == "random-partition":
            return random_partition(source, self.k, rng, self.linked.count)
        if chosen.kind == "k-means++":
            return plusplus(source, self.k, rng)[0]
        return forgy(source, self.k, rng)


def _dimension(linked: LinkFeatures, workers: Workers) -> float:
    """The effective dimension of a sample of the rows."""
    rows = evenly_spaced(len(linked.root), DENSE_ROWS)
    inner = (linked.features[rows] @ linked.features[rows].T).toarray()
    weights = Weights.of(linked.distinct.mass[rows], len(rows))
    return dimension(DenseGram(inner, None, weights, workers))

"""Good partitions: one to begin an exact search with, and those that moves of points improve."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.engine.search.search_problem import SearchProblem
from partita.estimators.kmeans import KMeans
from partita.stats import ClusterStats


def good_solution(rows: Floats, weight: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Return the labels (n,) of a good partition of distinct rows into k clusters, 1 < k < n."""
    model = KMeans(k, quality="best", random_state=int(rng.integers(2**31)))
    return np.asarray(model.fit(rows, sample_weight=weight).labels_, dtype=np.int64)


def improved_by_moves(rows: Floats, weight: Floats, labels: Ints) -> Ints:
    """Return labels (n,) from those of a partition by moves of single rows that lower J."""
    home = np.unique(labels, return_inverse=True)[1].reshape(-1)
    k, origin = int(home.max()) + 1, np.zeros(rows.shape[1])
    means = ClusterStats.of_block(rows, home, k=k, weight=weight).mean
    problem = SearchProblem(rows, weight, k, origin, 1.0, 1.0, is_sample=False)
    (best,) = problem.descend(means[None])
    return np.asarray(problem.nearest_two(best.centers).labels, dtype=np.int64)

"""`k_means` and `kmeans_plusplus`: functions of scikit-learn, next to the estimator."""

from __future__ import annotations

from typing import Any

from partita._common.array_types import Array, Floats
from partita._common.parameters import FLAG, check, check_integer, integer, optional
from partita._common.random_state import generator
from partita._common.threads import Workers
from partita.estimators import validation
from partita.estimators.kmeans import KMeans
from partita.init.plusplus import plusplus
from partita.source.dataframes import is_frame, names_of

MAX_TRIALS = 10_000  # of a round of k-means++


def k_means(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    init: Any = "k-means++",
    n_init: Any = "auto",
    max_iter: int = 300,
    verbose: bool = False,
    tol: float = 1e-4,
    random_state: Any = None,
    copy_x: bool = True,
    algorithm: str = "lloyd",
    return_n_iter: bool = False,
    quality: str = "fast",
    time_budget: float | None = None,
) -> tuple[Any, ...]:
    """Cluster X; return (centers, labels, inertia), and n_iter with `return_n_iter=True`.

    >>> from partita import k_means
    >>> centers, labels, inertia = k_means([[1.0], [2.0], [9.0]], 2, random_state=0)
    >>> inertia
    0.5
    """
    check("return_n_iter", return_n_iter, FLAG)
    model = KMeans(
        n_clusters,
        init=init,
        n_init=n_init,
        max_iter=max_iter,
        verbose=verbose,
        tol=tol,
        random_state=random_state,
        copy_x=copy_x,
        algorithm=algorithm,
        quality=quality,
        time_budget=time_budget,
    ).fit(X, sample_weight=sample_weight)
    result = model.cluster_centers_, model.labels_, model.inertia_
    return (*result, model.n_iter_) if return_n_iter else result


def kmeans_plusplus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    x_squared_norms: Any = None,
    random_state: Any = None,
    n_local_trials: int | None = None,
    n_threads: int | None = None,
) -> tuple[Floats, Array]:
    """Choose starting centers by greedy k-means++; return (centers, indices of rows).

    `x_squared_norms` is accepted for compatibility and not needed.

    >>> from partita import kmeans_plusplus
    >>> centers, indices = kmeans_plusplus([[1.0], [1.0], [9.0]], 2, random_state=0)
    >>> sorted(centers.ravel())
    [np.float64(1.0), np.float64(9.0)]
    """
    del x_squared_norms
    k = check_integer("n_clusters", n_clusters)
    check("n_local_trials", n_local_trials, optional(integer(1, MAX_TRIALS)))
    names = names_of(X) if is_frame(X) else None
    X = validation.as_rows(X, "kmeans_plusplus")
    weight = validation.check_weights(sample_weight, X.shape[0])
    validation.check_row_count(X.shape[0], k)
    with Workers(validation.check_threads(n_threads)) as workers:
        source = validation.make_source(X, weight, workers)
        validation.check_finite(source, X, names)
        rng = generator(random_state)
        centers, indices = plusplus(source, k, rng, n_local_trials)
    return centers.astype(source.dtype), indices

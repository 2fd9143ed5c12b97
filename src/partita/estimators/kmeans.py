"""`KMeans`: a drop-in for scikit-learn's, with a trace, a reason for stopping, and exact labels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from partita.estimators.center_clusterer import EuclideanClusterer, LloydClusterer
from partita.halting import Halt
from partita.trace import Callback


@dataclass(eq=False, repr=False)
class KMeans(LloydClusterer, EuclideanClusterer):
    """K-means clustering by Lloyd's algorithm.

    Every parameter, method and attribute of `sklearn.cluster.KMeans` is here with the same meaning
    (a seed does not reproduce scikit-learn's random choices). Additions are marked with a plus.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters, and of centers.
    init : {"k-means++", "k-means||", "mini-batch", "random", "box", "random-partition"}, \
callable, array or model, default="k-means++"
        The starting centers. "k-means++" is the greedy variant; + "k-means||" selects from many
        rows sampled in a few passes; + "mini-batch" starts from the result of `MiniBatchKMeans`,
        which saves most of the time if there are very many rows; "random" (also "forgy") selects
        rows of the data; + "box" draws vectors from the bounding box; + "random-partition" averages
        a random partition; an array holds the centers; a callable is called as
        init(X, n_clusters, random_state=…); + of a fitted model, its `cluster_centers_` are used.
    n_init : "auto" or int, default="auto"
        Number of starts, of which the best result is kept: 1 for "k-means++", "k-means||",
        "mini-batch" and given centers, 10 for the others. At most 100000. With another quality than
        "fast" as many independent searches follow, and "auto" means 1.
    max_iter : int, default=300
        Maximum number of iterations of a single run.
    tol : float, default=1e-4
        Stop when the squared shift of the centers is at most `tol` times the mean variance of the
        features (weighted if there are weights).
    verbose : int, default=0
        Whether to print the progress.
    random_state : int, RandomState, Generator or None, default=None
        The source of randomness. The same int gives the same bits, for any number of threads.
    copy_x : bool, default=True
        Accepted for compatibility; X is never changed.
    algorithm : str, default="lloyd"
        "lloyd", "elkan" and "auto" all mean Lloyd's algorithm by the fastest path. "plain",
        "bytes", "blocks", "neighbours", "panels", "hamerly", "yinyang" and "prefix" force a path,
        for tests and experiments: the result has the same bits, only the time differs.
    halt : Halt or None, default=None
        + A criterion from `partita.halting` that replaces `tol`, for example
        `RelDecrease(1e-3) | Deadline(60)`; `max_iter` and "no label changed" always apply.
    callback : callable or None, default=None
        + Called with the `Progress` of every iteration; returning True stops the fit.
          `progress_bar()` shows the time left.
    quality : {"fast", "balanced", "best"}, default="fast"
        + How far to search beyond the local minimum that a start leads to. "fast" does not;
        "balanced" adds, removes and swaps centers and moves single rows, for a small multiple of
        the time; "best" also crosses the solutions of a population until they no longer improve.
        The result is never above that of "fast" with the same seed. One feature is solved exactly.
    time_budget : float or None, default=None
        + Seconds after which the search (of "fast": the iterations) ends with the best so far.
        The result then depends on the machine.
    empty : {"relocate", "keep", "drop", "fail"}, default="relocate"
        + What to do with an empty cluster: move it to the farthest row, keep its center, continue
        without it, or raise an error.
    n_threads : int or None, default=None
        + Number of threads; None means PARTITA_NUM_THREADS, OMP_NUM_THREADS, or all cores. No more
        than 1024 are used.
    memory_limit : float or None, default=None
        + Bytes of working memory beyond the data, the results and what every fit needs: 32 bytes a
        row (80 with weights), 160 for each value of a center, 4 MB, and for each thread 2 MB (or
        256 rows of numbers) and 16 bytes for each value of a center. What does not fit is not made
        (copies, bounds, trees, sketches), which takes time but changes no bit. Sparse rows, and
        data frames until they are one array, are not counted. None means a quarter of the free
        memory.
    missing : {"error", "partial"}, default="error"
        + What NaN (or None, or a masked value) in X means. "error" refuses it. "partial" counts
        only the values that are there (k-POD: Chi, Chi and Baraniuk 2016): J is the sum of
        w_i·(x_it − c_kt)² over them, a row belongs to the center that is nearest in its own
        features, and centers are means over the values that the rows of a cluster have. Nothing is
        imputed. Without gaps in X, it is plain K-means to the last bit. X must be an array or a
        data frame in memory, and `quality` "fast".

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centers, in the dtype of X.
    labels_ : ndarray of shape (n_samples,)
        The nearest of `cluster_centers_` for every row, the lower index on ties.
        + Of a dask array, a lazy one; of a Spark dataframe, that with a column "prediction".
    inertia_ : float
        The weighted sum of squared distances to them.
    n_iter_ : int
        Iterations of the best run.
    start_ : ndarray of shape (n_clusters, n_features)
        + The centers that the best run started from: `init=model.start_` repeats it bit by bit.
    trace_ : Trace
        + One record per iteration of the best run (of a search, of the last run): cost, shift,
        moved points, seconds, and the path of the assignment.
    stopped_by_ : StopReason
        + Why the best run stopped, or the search: a sentence (str) with a `kind`.
    paths_ : tuple of str
        + Which paths the best run took, and why; how many local searches a search took.
    search_ : tuple of SearchRecord
        + What a search reached when: `seconds` since the fit began, the `phase` that found it, the
        `cost`, and the `evaluations` (local searches) so far. Empty for "fast".
    stats_ : ClusterStats
        + Weight, mean and sse of each cluster of `labels_`. (Means differ from the centers by
        one further update.) With missing="partial" means and sse are those of the values that are
        there; summaries of rows with gaps do not merge.
    observed_weight_ : ndarray of shape (n_clusters, n_features)
        + With missing="partial": the weight of the values behind each value of a center. Where it
        is 0, no row of the cluster has a value, and the center keeps the one it started with.
    membership_ : csr_array of shape (n_samples, n_clusters)
        + One 1 per row, at the row's cluster.
    n_features_in_, feature_names_in_
        Number and names of the features seen by `fit`.

    Examples
    --------
    >>> from partita import KMeans
    >>> model = KMeans(n_clusters=2, random_state=0).fit([[1, 2], [1, 4], [10, 2], [10, 4]])
    >>> model.inertia_
    4.0
    >>> model.stopped_by_
    'no point changed its cluster'
    """

    n_clusters: int = 8
    _: KW_ONLY
    init: Any = "k-means++"
    n_init: Any = "auto"
    max_iter: int = 300
    tol: float = 1e-4
    verbose: int = 0
    random_state: Any = None
    copy_x: bool = True
    algorithm: str = "lloyd"
    halt: Halt | None = None
    callback: Callback | None = None
    quality: str = "fast"
    time_budget: float | None = None
    empty: str = "relocate"
    n_threads: int | None = None
    memory_limit: float | None = None
    missing: str = "error"

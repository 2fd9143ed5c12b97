"""`KernelKMeans`: K-means in the feature space of a kernel, for clusters that are not convex."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from partita._common.array_types import Array, Floats
from partita._common.exact_sum import exact_total
from partita._common.number_arrays import as_float_array
from partita._common.parameters import Got, Rule, must_be
from partita._common.threads import Workers
from partita.estimators import validation
from partita.estimators.base import Clusterer
from partita.estimators.kernel import kernel_capabilities, kernel_input, matrices
from partita.estimators.kernel.fitting import fit_matrix, fit_rows
from partita.estimators.kernel.neighbour_fit import fit_neighbours
from partita.estimators.lazy_blocks import distances_by_blocks, labels_by_blocks
from partita.halting import Halt
from partita.trace import Callback


@dataclass(eq=False, repr=False)
class KernelKMeans(Clusterer):
    """K-means in the feature space of a kernel.

    Named kernels are computed in double precision, by distances, so that rows far from the origin
    lose no digits, and the result has the same bits on any machine. This does not hold for a
    callable, a polynomial of a degree that is not whole or above 64, "nystrom", "spectral" (also
    as the default start of graphs) and diagonal_shift="auto".

    After a fit to a matrix, `transform` and `score` are not available, because K(new, training)
    does not contain k(x, x); use `predict`, `soft_membership` or `distances(K, diagonal)`.

    Parameters
    ----------
    n_clusters, max_iter, verbose, random_state, halt, callback, empty, n_threads
        As in `KMeans`.
    kernel : str or callable, default="rbf"
        "rbf", "laplacian", "polynomial" (also "poly"), "sigmoid", "linear", "cosine" or another
        name of `sklearn.metrics.pairwise.pairwise_kernels`; a callable of two rows that
        returns a number; "precomputed": X is the Gram matrix, dense or sparse; "normalized-cut":
        X is the affinity matrix of a graph, dense or sparse, and the objective is its normalized
        cut (up to a constant); "nearest_neighbors": the normalized cut of the graph that links
        every row to its neighbours, for groups of any shape, like moons and rings.
    gamma : float, "scale" or "auto", default="scale"
        Of rbf, laplacian, polynomial and sigmoid. "scale" is 1 / (n_features · variance), so the
        unit of the data does not matter (by the deviation for laplacian). "auto" is
        1 / n_features, scikit-learn's default, with which all rows of unscaled data may be
        equally far apart.
    degree, coef0 : float, default=3, 1
        Of polynomial, and coef0 of sigmoid.
    kernel_params : dict or None, default=None
        Further parameters of the kernel, or those of a callable.
    approximation : {"auto", "exact", "nystrom"}, default="auto"
        "exact" keeps the n × n Gram matrix if `memory_limit` allows, else recomputes its rows
        whenever they are needed. "nystrom" approximates it by few of its columns, chosen by
        randomly pivoted Cholesky. "auto" is exact where the matrix fits, else "nystrom", with a
        warning. `paths_` shows the choice.
    n_components : int or "auto", default="auto"
        The number of columns for "nystrom". "auto" adds columns until the error of the objective
        is at most 5 %, up to 1024.
    n_neighbors : int or "auto", default="auto"
        Of "nearest_neighbors": how many rows, itself included, are neighbours of a row; equal rows
        count as one. Rows are linked if each is a neighbour of the other, and to the nearest.
        "auto" is 1.8·log₂(n), at least 10: more while the graph falls into more than n_clusters
        pieces or into small ones, fewer if it then falls into n_clusters groups. `paths_` shows
        the choice.
    diagonal_shift : float, "auto" or None, default=None
        A number that is added to the diagonal of the Gram matrix, divided by the weight of the
        row; it adds the same to the objective of every partition. "auto" is the least shift that
        makes an indefinite kernel positive semidefinite, so that no iteration raises the
        objective. None adds nothing, and warns if a kernel is indefinite; the normalized cut
        treats it as "auto". The shift brings a row of the fit nearer to its own cluster; `predict`
        treats every row as new, and may find it nearer to another. A shift that is far larger than
        any kernel needs is refused, since it takes digits from all distances.
    init : {"auto", "k-means++", "random", "random-partition", "spectral"}, array or callable, \
default="auto"
        The start. "k-means++": rows far apart in feature space; "random": random rows;
        "random-partition"; "spectral": K-means of the leading directions in feature space, the
        relaxed solution; "auto" is "spectral" for the normalized cut and for "nearest_neighbors",
        where few nodes are near a single one, else "k-means++". An array of points (n_clusters,
        n_features); or integers: one label for every row, or the numbers of n_clusters rows. A
        callable is called as init(X, n_clusters, random_state=…) and returns such an array.
    n_init : "auto" or int, default="auto"
        The number of starts, of which the best result is kept. "auto" is 10 (they cost little
        compared with the Gram matrix), and 1 for "spectral" and given starts.
    tol : float, default=0
        Stop when the squared shift of the centers is at most `tol` times the variance in feature
        space. At 0 a run continues until no label changes: late iterations are cheap, since
        only rows that moved are read.
    memory_limit : float or None, default=None
        The maximum number of bytes of the Gram matrix (8 per entry, for rows of any type), or its
        approximation. None means half of the free memory. A matrix that is kept and rows that are
        recomputed give the same bits. The graph of "nearest_neighbors" is not limited: it takes
        about 100 bytes per row and neighbour.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The nearest mean in feature space for every row, the lower index on ties.
    inertia_ : float
        The weighted sum of squared distances to these means, in the space that was used: with
        "nystrom" that of the approximation, with a shift that of the shifted kernel.
    objective_interval_ : tuple of float
        Lower and upper bound of the sum of squares of the partition `labels_` about its own means,
        by the true kernel. It contains `inertia_` if the kernel is positive semidefinite and not
        shifted. The bounds are equal unless "nystrom" was used or the search stopped before it
        converged.
    n_iter_, trace_, stopped_by_, paths_, membership_, n_features_in_, feature_names_in_
        As in `KMeans`.
    stats_ : ClusterStats
        Weight and sse of each cluster of `labels_`; means have no coordinates.
    diagonal_shift_ : float
        The shift of the diagonal, before its division by weights.
    kernel_ : KernelFunction or None
        The kernel with the parameters that were used; None if the matrix was given.

    Examples
    --------
    >>> from sklearn.datasets import make_circles, make_moons
    >>> from partita import KernelKMeans
    >>> X, ring = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    >>> model = KernelKMeans(2, random_state=0).fit(X)
    >>> len({(a, b) for a, b in zip(model.labels_.tolist(), ring.tolist())})
    2
    >>> X, moon = make_moons(300, noise=0.05, random_state=0)
    >>> model = KernelKMeans(2, kernel="nearest_neighbors", random_state=0).fit(X)
    >>> len({(a, b) for a, b in zip(model.labels_.tolist(), moon.tolist())})
    2
    """

    n_clusters: int = 8
    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: float = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    approximation: str = "auto"
    n_components: Any = "auto"
    n_neighbors: Any = "auto"
    diagonal_shift: Any = None
    init: Any = "auto"
    n_init: Any = "auto"
    max_iter: int = 300
    tol: float = 0.0
    verbose: int = 0
    random_state: Any = None
    halt: Halt | None = None
    callback: Callback | None = None
    empty: str = "relocate"
    n_threads: int | None = None
    memory_limit: float | None = None

    _saved_attributes = ("objective_interval", "diagonal_shift")
    _covered_attributes = frozenset({"kernel_", "_space", "_dimension", "_degree"})
    _needed_parameters = frozenset({"kernel", "kernel_params"})

    __partita_capabilities__ = kernel_capabilities.declare
    _own_state = kernel_capabilities.own_state
    _restore_own = kernel_capabilities.restore

    def _rules(self) -> Mapping[str, Rule]:
        return kernel_input.KernelParameters.rules

    # --- fitting ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute the clustering of X, with one weight per row if given."""
        del y  # scikit-learn's pipelines pass it
        parameters = kernel_input.KernelParameters(self)
        X, features = validation.check_fit_rows(self, X)
        weight = validation.check_weights(sample_weight, X.shape[0])
        validation.check_row_count(X.shape[0], parameters.k)
        X = _as_floats(X)
        _check_range(weight)
        with Workers(parameters.threads) as workers:
            if self._given():
                fit = fit_matrix(parameters, X, weight, workers)
            else:
                source = validation.make_source(X, weight, workers)
                validation.check_finite(source, X, features.get("feature_names_in_"))
                if isinstance(self.kernel, str) and self.kernel == kernel_input.NEIGHBOURS:
                    fit = fit_neighbours(parameters, X, weight, workers)
                else:
                    fit = fit_rows(parameters, X, weight, source)
        self._warn_if_empty(np.bincount(fit.labels), len(fit.stats.weight), parameters.k)
        self._keep_features(features)
        self._keep_run(fit.run)
        self.labels_ = fit.labels
        self.inertia_ = fit.inertia
        self.objective_interval_ = fit.interval
        self.stats_ = fit.stats
        self.diagonal_shift_ = fit.sigma
        self.kernel_ = fit.kernel
        self._space = fit.space
        self._dimension = fit.dimension
        self._degree = fit.degree
        self._n_features_out = len(fit.stats.weight)
        return self

    # --- using a fit ------------------------------------------------------------------------------

    @labels_by_blocks
    def predict(self, X: Any) -> Array:
        """Return the nearest mean of each row, the lower index on ties.

        After a fit to a matrix, X is K(new, training), or the affinities of new nodes.
        """
        check_is_fitted(self)
        with Workers(validation.check_threads(self.n_threads)) as workers:
            return self._space.labels(self._new(X, workers)[0], workers)

    def distances(self, X: Any, diagonal: Any = None) -> Floats:
        """Return the distance (n, k) of each row to every mean in feature space, as doubles.

        After a fit to a matrix, X is K(new, training), and `diagonal` is k(x, x) of every new row.
        With "nystrom" it is the distance in the space of the pivots.
        """
        return np.asarray(np.sqrt(self._squares(X, diagonal)[0]))

    @distances_by_blocks
    def transform(self, X: Any) -> Any:
        """Return the distance (n, k) of each row to every mean, in the dtype of X."""
        check_is_fitted(self)
        squares, kind = self._squares(X, None)
        return np.sqrt(squares).astype(np.float32 if kind == np.float32 else np.float64, copy=False)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and return the distance of each row to every mean in feature space."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the objective of X at the means."""
        check_is_fitted(self)
        nearest = self._squares(X, None)[0].min(axis=1)
        return -exact_total(nearest, validation.check_weights(sample_weight, len(nearest)))

    def _squares(self, X: Any, diagonal: Any) -> tuple[Floats, Any]:
        """Return squared distances (n, k), and the dtype of X."""
        check_is_fitted(self)
        with Workers(validation.check_threads(self.n_threads)) as workers:
            X, kind = self._new(X, workers)
            if self._given() or diagonal is not None:
                diagonal = _check_diagonal(diagonal, X.shape[0], self.kernel)
            return np.maximum(self._space.squares(X, diagonal, workers), 0.0), kind

    def _new(self, X: Any, workers: Workers) -> tuple[Any, Any]:
        """Return new rows in the form of the space, and their dtype."""
        X = validation.check_new_rows(self, X)
        kind, X = X.dtype, _as_floats(X)
        validation.check_finite(validation.make_source(X, None, workers), X, self._names())
        if self._degree is not None:
            return matrices.cut_rows(X, self._degree), kind
        return (X if self.kernel_ is None else self.kernel_.place(X, self._space.kept_rows)), kind

    def _costs(self, X: Any) -> tuple[Array, Floats]:
        with Workers(validation.check_threads(self.n_threads)) as workers:
            cost = self._space.scores(self._new(X, workers)[0], workers)
        return np.asarray(cost.argmin(axis=1), dtype=np.int32), cost

    def _temperature(self) -> float:
        # as in KMeans, with the number of directions that the data fills
        return max(0.0, float(2 * self.inertia_ / (self.stats_.weight.sum() * self._dimension)))

    def _given(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel in kernel_input.GIVEN

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._given()
        return tags


def _check_range(weight: Floats | None) -> None:  # of squares of weights
    if weight is not None and not 1e-100 < weight.max() < 1e100:
        advice = "Only ratios of weights matter: divide all of them by one number."
        wanted = "between 1e-100 and 1e100 at its largest"
        raise must_be("sample_weight", wanted, Got(f"{weight.max():.3g}"), advice)


def _as_floats(X: Any) -> Any:
    return X if X.dtype in validation.FLOAT_DTYPES else X.astype(np.float32)


def _check_diagonal(diagonal: Any, n: int, kernel: str) -> Floats:
    if diagonal is None:
        wanted = f"k(x, x) of every new row with kernel={kernel!r}"
        raise must_be("diagonal", wanted, None, "K(new, training) does not contain it.")
    wanted = f"one finite number for each of {n} rows"
    values = as_float_array("diagonal", diagonal, wanted)
    if values.shape != (n,) or not np.isfinite(values).all():
        got = Got(f"an array of shape {values.shape} with values up to {values.max(initial=0):g}")
        raise must_be("diagonal", wanted, got)
    return values


def _knows_distances(model: KernelKMeans) -> bool:
    if model._given():
        raise AttributeError(
            f"transform and score are not available with kernel={model.kernel!r}: K(new, training) "
            "does not contain k(x, x). Use distances(K, diagonal)."
        )
    return True


# Not as decorators: scikit-learn wraps `transform` when the class is created, and hides them.
for _name in ("transform", "fit_transform", "score"):
    setattr(KernelKMeans, _name, available_if(_knows_distances)(getattr(KernelKMeans, _name)))

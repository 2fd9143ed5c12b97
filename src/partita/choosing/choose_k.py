"""`choose_k`: the number of clusters, by one sweep over all numbers and several criteria."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import squareform
from sklearn.base import clone

from partita._common.array_types import Floats, Ints
from partita._common.cluster_numbers import numbers_to_try
from partita._common.errors import ParameterError
from partita._common.parameters import (
    CALLABLE,
    VERBOSITY,
    Got,
    check,
    check_integer,
    check_names,
    is_integer,
    must_be,
    optional,
)
from partita._common.random_state import generator
from partita._common.threads import Workers
from partita.choosing.criterion_kinds import CRITERION_KINDS
from partita.choosing.ladder import Ladder, SessionLadder, ladder_of
from partita.choosing.sweep import Sweep, SweepFits
from partita.choosing.sweep_problem import SweepProblem
from partita.choosing.sweep_run import SweepProgress, SweepRun
from partita.estimators import validation
from partita.estimators.capabilities import DISSIMILARITIES, SWEEP
from partita.estimators.fitted_models import capabilities_of, is_pipeline, unwrap_pipeline
from partita.estimators.fitted_steps import FittedSteps, fit_steps
from partita.estimators.kmeans import KMeans
from partita.estimators.table_rows import rows_for
from partita.exact_weights import as_repeats
from partita.observers import WatchedTask, watching

TASK = WatchedTask("sweep", "choose_k", keeps_result=True)
DEFAULT_MAX_K = (10, 60)  # the largest number tried by default is √n within these limits
MAX_REPEATS = 10_000  # references, and splits into halves
MAX_MAGNITUDE = 1e140  # of X: squares and their sums must stay within the doubles


def choose_k(
    X: Any,
    ks: Iterable[int] | int | str | None = None,
    *,
    estimator: Any = None,
    sample_weight: Any = None,
    criteria: Iterable[str] | None = None,
    n_references: int = 10,
    n_splits: int = 5,
    sample_size: int = 1000,
    feature_names: Sequence[str] | None = None,
    random_state: Any = None,
    verbose: int = 0,
    callback: Callable[[SweepProgress], object] | None = None,
) -> Sweep:
    """Recommend a number of clusters, with reasons.

    A number above the largest is fitted first. Then the two clusters that are cheapest to merge
    become one, the fit continues from there, and so on down; few clusters are also fitted from
    other starts. All fits together cost about as much as a few. Several criteria vote. If the data
    has no more structure than a cloud without groups, `best_k` is 1 and `reasons` shows the
    comparison.

    Parameters
    ----------
    X : rows, or any other input of the estimator.
    ks : iterable of int, int, str or None, default=None
        The numbers to try: a range, a list, a text such as "2:20" (both ends included, as on the
        command line), or an int n for 2 to n. None or "auto": 2 to √n, at least 10 and at most 60.
    estimator : a clusterer, a pipeline or None, default=None
        `KMeans`, `SphericalKMeans`, `MiniBatchKMeans`, `KernelKMeans`, `KMedoids`, or one of
        scikit-learn with `init` and `cluster_centers_`; its parameters are kept. None: `KMeans`.
        The steps of a pipeline before its last are fitted once, to all rows; the sweep compares the
        rows that they give, and `model(k)` is a pipeline that takes rows like those of X.
    sample_weight : one for each row, or None.
        The steps of a pipeline do not use weights.
    criteria : iterable of str or None, default=None
        Names of columns; None: all that apply to the estimator. "gap" also tests whether there is
        structure. "prediction_strength" and "stability" need several sweeps.
    n_references, n_splits : int, default=10 and 5
        Number of uniform tables for "gap" (and, if the data beats these, of tables that are one
        cloud with features like its own), and of random splits of the data into halves; each is a
        sweep of its own. Tables with categories are compared with tables whose categories are
        shuffled. At most 10000.
    sample_size : int, default=1000
        Rows of a sample, if all of them would take too long: for the gap statistic, for halves of
        the data (twice as many), and for silhouettes. For the gap statistic, rows of more than 100
        features are placed on their first 100 principal axes, if the sample has 4096 rows or fewer.
    feature_names : sequence of str or None, default=None
        Names of the features that the clusterer sees, for the reasons; None: those that a table or
        the steps of a pipeline give, else numbers.
    random_state : int, RandomState, Generator or None, default=None
        The source of randomness; an int is also the `random_state` of an estimator without one.
        `partita choose-k --seed` gives the same bits for the same rows.
    verbose : int, default=0
        Whether to print the progress.
    callback : callable or None, default=None
        Called with a `SweepProgress` after every fit, reference and split; returning True stops.
        `progress_bar()` shows how far it is.

    Returns
    -------
    Sweep
        The table (`print` it), `best_k`, `verdict`, `reasons`, and the fits, `model(k)`, for which
        it keeps a reference to X. After Ctrl-C, or a stop by `callback`, it has the
        results so far, and `complete` is False.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(300, centers=4, cluster_std=0.5, random_state=3)
    >>> sweep = choose_k(X, range(2, 9), random_state=0)
    >>> sweep.best_k
    4
    """
    if _is_estimator(X):
        wanted = "a table of numbers with one row per sample"
        raise must_be("X", wanted, X, f"Pass the rows first: {_call_with(X)}.")
    rng = generator(random_state)
    estimator, X, steps = _fit_steps(estimator, X)
    model = _estimator(estimator, random_state, rng)
    names = _checked_names(criteria)
    sizes = (
        check_integer("n_references", n_references, 2, MAX_REPEATS),
        check_integer("n_splits", n_splits, 1, MAX_REPEATS),
        check_integer("sample_size", sample_size, 2),
    )
    with Workers(validation.check_threads(getattr(model, "n_threads", None))) as workers:
        ladder, problem = _open(model, X, sample_weight, workers)
        numbers = _checked_ks(ks, problem.n)
        features = steps.names if feature_names is None else feature_names
        fits = SweepFits(model, X, sample_weight, feature_names=features, steps=steps)
        check("callback", callback, optional(CALLABLE))
        check("verbose", verbose, VERBOSITY)
        printer = _print_progress if verbose else None
        callbacks = [one for one in (callback, printer) if one is not None]
        run = SweepRun(problem, numbers, names, fits, rng, workers, callbacks)
        with watching(TASK, callback, model.get_params().get("callback")):
            return run.run(ladder, *sizes)


def _open(model: Any, X: Any, sample_weight: Any, workers: Workers) -> tuple[Ladder, SweepProblem]:
    """The ladder of fits, and the problem that criteria measure."""
    if capabilities_of(model).open_session is not None:
        ladder = ladder_of(model, X, sample_weight, workers)
        assert isinstance(ladder, SessionLadder)
        data = ladder.session.data
        survey = data.source.survey()
        _check_range(survey.low, survey.high)
        weight, unit = _in_rows(data.weight)
        return ladder, SweepProblem(model, data.rows, weight, unit=unit)
    if capabilities_of(model).input == DISSIMILARITIES and np.ndim(X) == 1:
        X = squareform(np.asarray(X, dtype=np.float64))
    rows = rows_for(model, X, "choose_k")
    weight = validation.check_weights(sample_weight, rows.shape[0])
    ladder = SweepProblem.of(model, rows, weight).ladder(workers)
    return ladder, SweepProblem.of(model, rows, *_in_rows(weight))


def _in_rows(weight: Floats | None) -> tuple[Floats | None, float]:
    """Weights as criteria count them, in rows, and the value of one unit of the user's weights."""
    if weight is None:
        return None, 1.0
    counted = as_repeats(weight, len(weight))
    heaviest = int(weight.argmax())
    return counted, float(counted[heaviest] / weight[heaviest])


def _check_range(low: Floats, high: Floats) -> None:
    largest = max(float(np.abs(low).max()), float(np.abs(high).max()))
    if largest > MAX_MAGNITUDE or 0 < largest < 1 / MAX_MAGNITUDE:
        raise must_be(
            "X",
            "of a magnitude whose square a double can hold",
            Got(f"values up to {largest:.3g}"),
            "Multiply X by one number: only ratios of distances matter for the clustering.",
        )


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "fit") and hasattr(value, "get_params")


def _call_with(estimator: Any) -> str:
    """The call that takes an estimator, without its parameters."""
    if is_pipeline(estimator):
        return "choose_k(X, estimator=pipeline)"
    kind = estimator if isinstance(estimator, type) else type(estimator)
    return f"choose_k(X, estimator={kind.__name__}())"


def _fit_steps(estimator: Any, X: Any) -> tuple[Any, Any, FittedSteps]:
    """The last step of a pipeline, the rows it sees, and the fitted steps; the model is checked."""
    if is_pipeline(estimator):
        _checked(unwrap_pipeline(estimator)[0])  # before work is spent on steps
    return fit_steps(estimator, X)


def _estimator(estimator: Any, random_state: Any, rng: np.random.Generator) -> Any:
    """A copy of the estimator with a seed, and without `k_range`."""
    model = KMeans() if estimator is None else clone(_checked(estimator))
    parameters = model.get_params()
    if parameters.get("random_state", 0) is None:
        seed = random_state if is_integer(random_state) else rng.integers(2**31)
        model.set_params(random_state=int(seed))
    if parameters.get("k_range") is not None:
        model.set_params(k_range=None)
    return model


def _checked(estimator: Any) -> Any:
    ready = hasattr(estimator, "get_params") and not isinstance(estimator, type)
    if not ready or not {"n_clusters", "init"} <= set(estimator.get_params()):
        wanted = "a clusterer with the parameters n_clusters and init"
        raise must_be("estimator", wanted, estimator, "Use for example partita.KMeans(n_init=3).")
    if not (estimator.init is None or isinstance(estimator.init, str) or callable(estimator.init)):
        wanted = "the name of a start or a callable, for any number of clusters"
        raise must_be("init", wanted, estimator.init)
    lacks = capabilities_of(estimator).lacks
    if SWEEP in lacks:
        name = type(estimator).__name__
        raise ParameterError(
            f"choose_k() is not available for this `estimator`, a {name}: {lacks[SWEEP]}. Choose "
            f"with partita.KMeans(), then fit {name} with that number.",
            parameter="estimator",
        )
    return estimator


def _checked_names(criteria: Iterable[str] | None) -> tuple[str, ...]:
    if criteria is None:
        return tuple(CRITERION_KINDS)
    chosen = check_names("criteria", criteria, CRITERION_KINDS)
    return tuple(name for name in CRITERION_KINDS if name in chosen or name == "inertia")


def _checked_ks(ks: Iterable[int] | int | str | None, n: int) -> Ints:
    if n < 2:
        raise must_be("X", "a table of at least two rows", Got("one row"))
    if ks is None or (isinstance(ks, str) and ks == "auto"):
        low, high = DEFAULT_MAX_K
        largest = min(high, max(low, math.ceil(math.sqrt(n))), n - 1)
        ks = range(2, max(2, largest) + 1)
    elif _is_estimator(ks):
        advice = f"Name the argument: {_call_with(ks)}."
        raise must_be("ks", "numbers of clusters", Got("an estimator"), advice)
    numbers = numbers_to_try("ks", ks, rows=n)
    if numbers[-1] < 2:
        raise must_be("ks", "numbers of clusters, at least one of them above 1", ks)
    return np.array(numbers)


def _print_progress(progress: SweepProgress) -> None:
    k = "" if progress.k is None else f", K = {progress.k}"
    print(f"{progress.stage}: {progress.done} of {progress.total}{k}, {progress.seconds:.1f} s")

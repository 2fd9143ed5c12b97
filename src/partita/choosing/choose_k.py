"""`choose_k`: how many clusters, by one sweep over all numbers and several criteria."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import squareform
from sklearn.base import clone

from partita._common.array_types import Floats, Ints
from partita._common.parameters import check_integer
from partita._common.random_state import generator
from partita._common.threads import Workers
from partita.choosing.criterion_kinds import CRITERION_KINDS
from partita.choosing.ladder import Ladder, SessionLadder, ladder_of
from partita.choosing.sweep import Sweep, SweepFits
from partita.choosing.sweep_problem import SweepProblem
from partita.choosing.sweep_run import SweepProgress, SweepRun
from partita.estimators import validation
from partita.estimators.capabilities import DISSIMILARITIES
from partita.estimators.fitted_models import capabilities_of
from partita.estimators.kmeans import KMeans
from partita.weights import as_repeats

MOST, FEWEST = 60, 10  # clusters to try up to, if it is not said, between these


def choose_k(
    X: Any,
    ks: Iterable[int] | int | None = None,
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
    """Recommend a number of clusters, and say why.

    The largest number is fitted first. Then the two clusters that cost least to fuse become one,
    the fit goes on from there, and so on down: all fits together cost about as much as four.
    Several criteria vote. Data that do not beat uniform rows in the box of the data have no cluster
    structure, and get the answer 1.

    Parameters
    ----------
    X : rows, or what else the estimator is fitted to.
    ks : iterable of int, int or None, default=None
        The numbers to try; an int means 2 to that. None: 2 to √n, at least 10 and at most 60.
    estimator : a clusterer or None, default=None
        Which member of the family, with its parameters: `KMeans`, `SphericalKMeans`,
        `MiniBatchKMeans`, `KernelKMeans`, `KMedoids`, or one of scikit-learn that has `init` and
        `cluster_centers_`. None: `KMeans`.
    sample_weight : one for each row, or None.
    criteria : iterable of str or None, default=None
        Names of columns; None: all that the member has. "gap" tests whether there is structure;
        without it that is not known. "prediction_strength" and "stability" need several sweeps.
    n_references, n_splits : int, default=10 and 5
        How many tables of uniform rows "gap" takes, and how often data are cut into halves.
    sample_size : int, default=1000
        Rows of a sample, where all of them would take long: for the gap statistic, for halves of
        the data (twice as many), and for silhouettes.
    feature_names : sequence of str or None, default=None
        What the reasons call the features; None: the columns of a table, else their numbers.
    random_state : int, RandomState, Generator or None, default=None
        The source of randomness.
    verbose : int, default=0
        Whether to print the progress.
    callback : callable or None, default=None
        Called with a `SweepProgress` after every fit, reference and split; returning True stops.

    Returns
    -------
    Sweep
        The table (`print` it), `best_k`, `verdict`, `reasons`, and `model(k)`, the fits. It keeps a
        reference to X for these. After Ctrl-C, or if `callback` asked to stop, what there is by
        then, with `complete` False.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(300, centers=4, cluster_std=0.5, random_state=3)
    >>> sweep = choose_k(X, range(2, 9), random_state=0)
    >>> sweep.best_k
    4
    """
    rng = generator(random_state)
    model = _estimator(estimator, rng)
    names = _checked_names(criteria)
    sizes = [
        check_integer(name, value, least)
        for name, value, least in (
            ("n_references", n_references, 2),
            ("n_splits", n_splits, 1),
            ("sample_size", sample_size, 2),
        )
    ]
    with Workers(validation.check_threads(getattr(model, "n_threads", None))) as workers:
        ladder, subject = _open(model, X, sample_weight, workers)
        numbers = _checked_ks(ks, subject.n)
        fits = SweepFits(model, X, sample_weight, feature_names=feature_names)
        tellers = _tellers(verbose, callback)
        return SweepRun(subject, numbers, names, fits, rng, workers, tellers).run(ladder, *sizes)


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
    rows = validation.as_rows(X, "choose_k")
    weight = validation.check_weights(sample_weight, rows.shape[0])
    ladder = SweepProblem.of(model, rows, weight).ladder(workers)
    return ladder, SweepProblem.of(model, rows, *_in_rows(weight))


def _in_rows(weight: Floats | None) -> tuple[Floats | None, float]:
    """Weights as criteria count them, and what one of the user's is worth in that."""
    if weight is None:
        return None, 1.0
    counted = as_repeats(weight, len(weight))
    heaviest = int(weight.argmax())
    return counted, float(counted[heaviest] / weight[heaviest])


def _check_range(low: Floats, high: Floats) -> None:
    reach = max(float(np.abs(low).max()), float(np.abs(high).max()))
    if reach > 1e140 or 0 < reach < 1e-140:
        raise ValueError(
            f"X reaches {reach:.3g}, whose square no number holds; only ratios of distances matter "
            "for the clustering, so multiply X by one number"
        )


def _estimator(given: Any, rng: np.random.Generator) -> Any:
    """A copy of the estimator, seeded if it is not, without a choice of K of its own."""
    model = KMeans() if given is None else clone(_checked(given))
    parameters = model.get_params()
    if parameters.get("random_state", 0) is None:
        model.set_params(random_state=int(rng.integers(2**31)))
    if parameters.get("k_range") is not None:
        model.set_params(k_range=None)
    return model


def _checked(estimator: Any) -> Any:
    ready = hasattr(estimator, "get_params") and not isinstance(estimator, type)
    if not ready or not {"n_clusters", "init"} <= set(estimator.get_params()):
        raise ValueError(
            f"estimator={estimator!r} was given; a clusterer with the parameters n_clusters and "
            "init is expected, for example partita.KMeans(n_init=3)"
        )
    if not (isinstance(estimator.init, str) or callable(estimator.init)):
        raise ValueError(
            "estimator has an init that is good for one number of clusters only; give the name of "
            "a start, or a callable"
        )
    return estimator


def _checked_names(criteria: Iterable[str] | None) -> tuple[str, ...]:
    if criteria is None:
        return tuple(CRITERION_KINDS)
    given = (criteria,) if isinstance(criteria, str) else tuple(criteria)
    unknown = [name for name in given if name not in CRITERION_KINDS]
    if unknown or not given:
        raise ValueError(
            f"criteria={criteria!r} was given; some of {', '.join(CRITERION_KINDS)} are expected"
        )
    return tuple(name for name in CRITERION_KINDS if name in given or name == "inertia")


def _checked_ks(ks: Iterable[int] | int | None, n: int) -> Ints:
    if n < 2:
        raise ValueError("X has one row; at least two are needed for a choice of clusters")
    if ks is None:
        most = min(MOST, max(FEWEST, math.ceil(math.sqrt(n))), n - 1)
        ks = range(2, max(2, most) + 1)
    elif isinstance(ks, (int, np.integer)) and not isinstance(ks, bool):
        ks = range(2, int(ks) + 1) if ks > 1 else [ks]
    given = list(ks) if isinstance(ks, Iterable) else [ks]
    numbers = np.unique([check_integer("ks", k) for k in given])
    if not len(numbers) or numbers[-1] < 2:
        raise ValueError(
            f"ks={ks!r} was given; at least one number of clusters above 1 is expected"
        )
    if numbers[-1] > n:
        raise ValueError(
            f"ks reaches {numbers[-1]}, but there are {n} rows; try up to {max(2, n - 1)} clusters"
        )
    return numbers


def _tellers(
    verbose: int, callback: Callable[[SweepProgress], object] | None
) -> list[Callable[[SweepProgress], object]]:
    if callback is not None and not callable(callback):
        raise ValueError(f"callback={callback!r} was given; a callable is expected")
    heard = [] if callback is None else [callback]
    return [*heard, _print_progress] if verbose else heard


def _print_progress(progress: SweepProgress) -> None:
    which = "" if progress.k is None else f", K = {progress.k}"
    print(f"{progress.stage}: {progress.done} of {progress.total}{which}, {progress.seconds:.1f} s")

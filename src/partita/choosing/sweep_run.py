"""One run of `choose_k`: fits, references and halves. An interruption keeps the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.threads import Workers
from partita._common.warnings import warn
from partita.choosing.criterion_kinds import CRITERION_KINDS
from partita.choosing.fit_measures import FitMeasures, Measurement
from partita.choosing.gap_reference import (
    GapComparison,
    compare_with_cloud,
    compare_with_uniform,
    sample_problem,
)
from partita.choosing.ladder import Ladder, Rung, climb_down
from partita.choosing.principal_axes import on_principal_axes
from partita.choosing.recommendation import (
    PREFERS_LARGEST,
    StructureTest,
    compare_structure,
    recommend,
    voters,
)
from partita.choosing.remarks import remarks
from partita.choosing.stability import SplitAgreement, compare_halves, mean_and_error
from partita.choosing.sweep import Criterion, Sweep, SweepFits
from partita.choosing.sweep_problem import SweepProblem
from partita.choosing.value_grid import MIN_ROWS_PER_VALUE, count_comparable
from partita.metrics.criteria import elbow
from partita.observers import requested_stop

SAMPLED = ("gap", "prediction_strength", "stability")  # by sweeps of references or of halves


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """The progress of `choose_k`."""

    stage: str  # "fits", "references", "clouds" or "halves"
    done: int
    total: int
    k: int | None  # of the last fit
    seconds: float


class _Stopped(Exception):
    """A callback requested a stop."""


class SweepRun:
    """A sweep in progress: everything known so far about the numbers of clusters."""

    def __init__(
        self,
        problem: SweepProblem,
        ks: Ints,
        names: Sequence[str],
        fits: SweepFits,
        rng: np.random.Generator,
        workers: Workers,
        callbacks: Sequence[Callable[[SweepProgress], object]],
    ) -> None:
        self._problem, self._ks, self._names, self._fits = problem, ks, names, fits
        self._rng, self._workers, self._callbacks = rng, workers, callbacks
        self._start = time.perf_counter()
        self._values: dict[int, dict[str, Measurement]] = {}
        self._comparison: GapComparison | None = None
        self._structure: StructureTest | None = None
        self._agreement: SplitAgreement | None = None
        self._complete = True

    def run(self, ladder: Ladder, n_references: int, n_splits: int, sample_size: int) -> Sweep:
        """Run all stages, or those before an interruption."""
        try:
            self._fit(ladder, sample_size)
            self._compare(n_references, n_splits, sample_size)
        except (KeyboardInterrupt, _Stopped):
            if not any(k > 1 for k in self._fits.models):
                raise
            self._complete = False
            fits = len(self._values)
            text = f"choose_k was interrupted after {fits} fits. The recommendation uses "
            warn(text + "the results so far.", UserWarning)
        return self._sweep()

    def _compare(self, n_references: int, n_splits: int, sample_size: int) -> None:
        """Run the sweeps of references and of halves of the data."""
        if "gap" in self._names:
            sample = on_principal_axes(sample_problem(self._problem, sample_size, self._rng))
            callback = self._counter("references", n_references + 1)
            rest = n_references, self._rng, self._workers, callback
            self._comparison = compare_with_uniform(sample, self._ks, *rest)
            if self._comparison is not None:
                self._structure = self._test_structure(sample, self._comparison, n_references)
        if {"prediction_strength", "stability"} & set(self._names):
            sample = sample_problem(self._problem, 2 * sample_size, self._rng)
            rest = n_splits, self._rng, self._workers, self._counter("halves", n_splits)
            self._agreement = compare_halves(sample, self._ks, *rest)

    def _test_structure(
        self, sample: SweepProblem, uniform: GapComparison, n_references: int
    ) -> StructureTest:
        """Compare the data with uniform references, then with the more demanding ones."""
        test = compare_structure(uniform)
        if not test.found:
            return test
        rest = n_references, self._rng, self._workers, self._counter("clouds", n_references)
        cloud = compare_with_cloud(sample, uniform, *rest)
        return test if cloud is None else compare_structure(cloud)

    def _fit(self, ladder: Ladder, sample_size: int) -> None:
        wanted = sorted({1, *self._ks.tolist()})
        measures = FitMeasures(self._problem, len(wanted), sample_size, self._rng, self._workers)

        def record(rung: Rung) -> None:
            self._values[rung.k] = measures.of(rung, self._names)
            self._fits.models[rung.k] = rung.model
            self._report("fits", len(self._values), len(wanted), rung.k)

        climb_down(ladder, wanted, self._problem.n, record)

    def _counter(self, stage: str, total: int) -> Callable[[], None]:
        done = iter(range(1, total + 1))
        return lambda: self._report(stage, next(done), total, None)

    def _report(self, stage: str, done: int, total: int, k: int | None) -> None:
        progress = SweepProgress(stage, done, total, k, time.perf_counter() - self._start)
        answers = [callback(progress) for callback in self._callbacks]  # all of them are called
        if any(requested_stop(answer) for answer in answers):
            raise _Stopped

    def _sweep(self) -> Sweep:
        ks = np.array([k for k in self._ks.tolist() if k in self._fits.models])
        table = {c.name: c for name in self._names if (c := self._column(name, ks)) is not None}
        structure = self._structure
        choice = recommend(ks, table, structure, self._missing(ks), self._max_comparable)
        notes = remarks(self._problem, self._fits, choice.best)
        return Sweep(
            tuple(ks.tolist()),
            table,
            choice.best,
            choice.ranking,
            None if structure is None else structure.found,
            choice.sentence,
            (*choice.reasons, *notes),
            self._complete,
            tuple(voters(table)),
            self._fits,
        )

    def _missing(self, ks: Ints) -> str:
        """Describe what an interruption left out."""
        if self._complete:
            return ""
        if len(ks) < len(self._ks):
            return f"the sweep was interrupted, and no K below {ks.min()} was tried"
        return "the sweep was interrupted before all criteria were known"

    @property
    def _max_comparable(self) -> float:
        """The largest K whose clusters are neither finer than a grid nor the distinct rows."""
        known = np.array(sorted(k for k in self._values if k > 1))
        costs = np.array([self._values[k]["inertia"].value for k in known.tolist()])
        count = count_comparable(costs / self._problem.mass, self._problem.grid_variance)
        are_rows = (costs == 0) & (known * MIN_ROWS_PER_VALUE > self._problem.n)
        below_rows = int(np.append(np.flatnonzero(are_rows), len(known))[0])
        count = min(count, max(below_rows, 1))
        return int(known[count - 1]) if count < len(known) else np.inf

    def _column(self, name: str, ks: Ints) -> Criterion | None:
        kind = CRITERION_KINDS[name]
        known, pick = self._known(name, ks)
        if not known:
            return None
        missing = Measurement(np.nan, np.nan)
        values, errors = np.array([known.get(k, missing) for k in ks.tolist()]).T
        sampled = name in SAMPLED or (errors > 0).any()
        if kind.better == "elbow":
            pick = elbow(ks, values)
        elif kind.better != "rule" and not np.isnan(values).all():
            comparable = np.where(ks <= self._max_comparable, values, np.nan)
            extreme = np.nanmax if kind.better == "high" else np.nanmin
            best = ks[comparable == extreme(comparable)]
            pick = int(best[-1 if name == PREFERS_LARGEST else 0])
        return Criterion(name, values, errors if sampled else None, pick, kind.better, kind.about)

    def _known(self, name: str, ks: Ints) -> tuple[dict[int, Measurement], int | None]:
        """The values of a criterion by number of clusters, and the pick of its rule, if any."""
        gaps, halves = self._comparison, self._agreement
        if name not in SAMPLED:
            return {k: self._values[k][name] for k in ks.tolist() if name in self._values[k]}, None
        if name == "gap":
            measured = {} if gaps is None else _by_k(gaps.ks, gaps.gap, gaps.error)
            return measured, None if gaps is None else gaps.pick(ks)
        if halves is None:
            return {}, None
        if name == "stability":
            return _by_k(halves.ks, *mean_and_error(halves.rand)), None
        strength = _by_k(halves.ks, *mean_and_error(halves.strength))
        return strength, halves.pick(self._max_comparable)


def _by_k(ks: Ints, values: Floats, errors: Floats) -> dict[int, Measurement]:
    measured = map(Measurement, values.tolist(), errors.tolist())
    return dict(zip(ks.tolist(), measured, strict=True))

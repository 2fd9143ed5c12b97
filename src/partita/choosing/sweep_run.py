"""The sweep itself: fits, references, halves; what is known when it is interrupted counts too."""

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
from partita.choosing.gap_reference import GapComparison, compare_with_uniform, sample_problem
from partita.choosing.ladder import Ladder, Rung, climb_down
from partita.choosing.recommendation import LARGEST, compare_structure, recommend, voters
from partita.choosing.remarks import remarks
from partita.choosing.stability import SplitAgreement, compare_halves, mean_and_error
from partita.choosing.sweep import Criterion, Sweep, SweepFits
from partita.choosing.sweep_problem import SweepProblem
from partita.metrics.criteria import elbow


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """How far `choose_k` has come."""

    stage: str  # "fits", "references" or "halves"
    done: int
    total: int
    k: int | None  # of the last fit
    seconds: float


class _Stopped(Exception):
    """A callback asked to stop."""


class SweepRun:
    """Everything that is known about the numbers of clusters so far."""

    def __init__(
        self,
        subject: SweepProblem,
        ks: Ints,
        names: Sequence[str],
        fits: SweepFits,
        rng: np.random.Generator,
        workers: Workers,
        tellers: Sequence[Callable[[SweepProgress], object]],
    ) -> None:
        self._subject, self._ks, self._names, self._fits = subject, ks, names, fits
        self._rng, self._workers, self._tellers = rng, workers, tellers
        self._begin = time.perf_counter()
        self._rungs: dict[int, Rung] = {}
        self._values: dict[int, dict[str, Measurement]] = {}
        self._references: GapComparison | None = None
        self._agreement: SplitAgreement | None = None
        self._complete = True

    def run(self, ladder: Ladder, n_references: int, n_splits: int, size: int) -> Sweep:
        """All that was asked for, or what an interruption leaves of it."""
        try:
            self._fit(ladder, size)
            self._look_further(n_references, n_splits, size)
        except (KeyboardInterrupt, _Stopped):
            if not any(k > 1 for k in self._rungs):
                raise
            self._complete = False
            warn(
                f"choose_k was interrupted after {len(self._rungs)} fits; the recommendation rests "
                "on what was known by then",
                UserWarning,
            )
        return self._sweep()

    def _look_further(self, n_references: int, n_splits: int, size: int) -> None:
        """What takes sweeps of other rows."""
        if "gap" in self._names:
            sample = sample_problem(self._subject, size, self._rng)
            tell = self._counter("references", n_references + 1)
            rest = n_references, self._rng, self._workers, tell
            self._references = compare_with_uniform(sample, self._ks, *rest)
        if {"prediction_strength", "stability"} & set(self._names):
            sample = sample_problem(self._subject, 2 * size, self._rng)
            rest = n_splits, self._rng, self._workers, self._counter("halves", n_splits)
            self._agreement = compare_halves(sample, self._ks, *rest)

    def _fit(self, ladder: Ladder, size: int) -> None:
        wanted = sorted({1, *self._ks.tolist()})
        measures = FitMeasures(self._subject, len(wanted), size, self._rng, self._workers)

        def hear(rung: Rung) -> None:
            self._values[rung.k] = measures.of(rung, self._names)
            self._rungs[rung.k] = rung
            self._fits.models[rung.k] = rung.model
            self._tell("fits", len(self._rungs), len(wanted), rung.k)

        climb_down(ladder, wanted, self._subject.n, hear)

    def _counter(self, stage: str, total: int) -> Callable[[], None]:
        done = iter(range(1, total + 1))
        return lambda: self._tell(stage, next(done), total, None)

    def _tell(self, stage: str, done: int, total: int, k: int | None) -> None:
        progress = SweepProgress(stage, done, total, k, time.perf_counter() - self._begin)
        answers = [teller(progress) for teller in self._tellers]  # all of them hear of it
        if any(isinstance(answer, (int, np.bool_)) and answer for answer in answers):
            raise _Stopped

    # --- what it comes to -------------------------------------------------------------------------

    def _sweep(self) -> Sweep:
        ks = np.array([k for k in self._ks.tolist() if k in self._rungs])
        table = {c.name: c for name in self._names if (c := self._column(name, ks)) is not None}
        structure = None if self._references is None else compare_structure(self._references)
        verdict = recommend(ks, table, structure, self._missing(ks))
        worries = remarks(self._subject, self._fits, self._rungs[verdict.best])
        return Sweep(
            tuple(ks.tolist()),
            table,
            verdict.best,
            verdict.ranking,
            None if structure is None else structure.found,
            verdict.sentence,
            (*verdict.reasons, *worries),
            self._complete,
            tuple(voters(table)),
            self._fits,
        )

    def _missing(self, ks: Ints) -> str:
        """What an interruption left out."""
        if self._complete:
            return ""
        if len(ks) < len(self._ks):
            return f"the sweep was interrupted, and no K below {ks.min()} was tried"
        return "the sweep was interrupted before all criteria were known"

    def _column(self, name: str, ks: Ints) -> Criterion | None:
        kind = CRITERION_KINDS[name]
        better = kind.better
        spread: Floats | None = None
        pick: int | None = None
        if name in ("gap", "prediction_strength", "stability"):
            found = self._sampled(name, ks)
            if found is None:
                return None
            at, values, spread, pick = found
            values, spread = _placed(ks, at, values), _placed(ks, at, spread)
        else:
            rows = [self._values[k].get(name) for k in ks.tolist()]
            if not any(rows):
                return None
            values = np.array([np.nan if value is None else value.value for value in rows])
            errors = np.array([np.nan if value is None else value.error for value in rows])
            spread = errors if (errors > 0).any() else None
        if better == "elbow":
            pick = elbow(ks, values)
        elif better != "rule" and not np.isnan(values).all():
            best = np.nanmax(values) if better == "high" else np.nanmin(values)
            at_best = ks[values == best]
            pick = int(at_best[-1 if name == LARGEST else 0])
        return Criterion(name, values, spread, pick, better, kind.about)

    def _sampled(self, name: str, ks: Ints) -> tuple[Ints, Floats, Floats, int | None] | None:
        """The numbers, values, errors and pick of a criterion that was sampled."""
        if name == "gap":
            found = self._references
            return None if found is None else (found.ks, found.gap, found.error, found.pick(ks))
        if self._agreement is None:
            return None
        strength = name == "prediction_strength"
        values = self._agreement.strength if strength else self._agreement.rand
        pick = self._agreement.pick if strength else None
        return self._agreement.ks, *mean_and_error(values), pick


def _placed(ks: Ints, at: Ints, values: Floats) -> Floats:
    """Values of some numbers of clusters among all; NaN for the others."""
    known = dict(zip(at.tolist(), values.tolist(), strict=True))
    return np.array([known.get(k, np.nan) for k in ks.tolist()])

"""Predicted and measured seconds of real fits."""

from __future__ import annotations

from dataclasses import dataclass

from harness.environment import load

from partita import KMeans
from scaling.constants import Compute, Decline, best_seconds, clusters
from scaling.fit_model import Problem, predicted_fit
from scaling.probes import Engine, dask_engine, dask_rows

SHAPES = (  # rows, features, centers, partitions
    (150_000, 32, 100, 4),
    (200_000, 16, 50, 4),
    (80_000, 64, 200, 8),
    (200_000, 8, 20, 4),
)
ALGORITHMS = ("plain", "auto")
ITERATIONS = 15
ROUNDS = 3
MEMORY_LIMIT = "2GiB"  # without it, partitions have no room for the bounds of these shapes


@dataclass(frozen=True, slots=True)
class Comparison:
    """A fit, as the model has it and as it was."""

    engine: str
    shape: tuple[int, int, int, int]
    algorithm: str
    iterations: int
    predicted: float
    measured: float
    load: float  # of the machine, after the fits

    @property
    def error(self) -> float:
        """Predicted minus measured, as a share of measured."""
        return self.predicted / self.measured - 1


def validate(
    compute: Compute, engine: Engine, shape: tuple[int, int, int, int]
) -> list[Comparison]:
    """Fit rows of one shape by an engine."""
    n, d, k, count = shape
    X, made = clusters(n, d, k), []
    with dask_engine(engine.name):
        rows = dask_rows(X, count)
        for algorithm in ALGORITHMS:
            settings = {"tol": 0, "max_iter": ITERATIONS, "algorithm": algorithm}
            model = KMeans(k, init=X[:k], memory_limit=MEMORY_LIMIT, **settings)
            measured = best_seconds(lambda model=model: model.fit(rows), ROUNDS)
            # which pairs are compared depends on the data: the trace says it
            decline = [Decline(step.compared, step.moved_points / n) for step in model.trace_]
            problem = Problem(n, d, k, rows.numblocks[0], decline)
            predicted = predicted_fit(compute, engine, problem)
            made.append(
                Comparison(
                    engine.name,
                    (n, d, k, problem.partitions),
                    algorithm,
                    model.n_iter_,
                    predicted,
                    measured,
                    load(),
                )
            )
    return made

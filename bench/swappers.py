"""Libraries that search medoids by FasterPAM in a given matrix of dissimilarities."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from choosers import Chooser
from contestants import Card, Contestant
from shapes import Array

OURS, THEIRS, ALONE = "partita medoids", "kmedoids", ", 1 thread"


class Swapper(Chooser):
    """A call (matrix, k, seed) -> (medoids, passes) from random rows."""

    def fit(self, rows: Array, start: Array, most: int) -> tuple[Array, int]:
        """`rows` is the matrix, `start` says how many medoids, `most` is the seed."""
        return self.call(rows, len(start), most)


def ours(threads: int) -> Contestant:
    import partita

    def call(matrix: Array, k: int, seed: int) -> tuple[Array, int]:
        model = partita.KMedoids(
            k, metric="precomputed", init="random", random_state=seed, n_threads=threads
        ).fit(matrix)
        return model.medoid_indices_, model.n_iter_

    return Swapper(Card(partita.__version__), call)


def theirs(threads: int) -> Contestant:
    import kmedoids

    def call(matrix: Array, k: int, seed: int) -> tuple[Array, int]:
        found = kmedoids.fasterpam(matrix, k, init="random", random_state=seed, n_cpu=threads)
        return found.medoids.astype(int), found.n_iter

    return Swapper(Card(version("kmedoids")), call)


SWAPPERS: dict[str, Callable[[int], Contestant]] = {
    OURS: ours,
    THEIRS: theirs,
    OURS + ALONE: lambda threads: ours(1),
    THEIRS + ALONE: lambda threads: theirs(1),
}

"""Libraries that compute the silhouette of every row."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from choosers import Chooser
from contestants import Card, Contestant
from shapes import Array

OURS, THEIRS = "partita silhouette", "sklearn silhouette"


class Assessor(Chooser):
    """A call (rows, labels) -> (silhouettes, 0)."""

    def fit(self, rows: Array, start: Array, most: int) -> tuple[Array, int]:
        """`start` holds the labels."""
        return self.call(rows, start)


def ours(threads: int) -> Contestant:
    import partita

    def call(rows: Array, labels: Array) -> tuple[Array, int]:
        return partita.silhouette_samples(rows, labels, n_threads=threads), 0

    return Assessor(Card(partita.__version__), call)


def theirs(threads: int) -> Contestant:
    from sklearn.metrics import silhouette_samples

    def call(rows: Array, labels: Array) -> tuple[Array, int]:
        return silhouette_samples(rows, labels), 0

    return Assessor(Card(version("scikit-learn")), call)


ASSESSORS: dict[str, Callable[[int], Contestant]] = {OURS: ours, THEIRS: theirs}

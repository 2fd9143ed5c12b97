"""`KMedoids` and what only it needs."""

from partita.estimators.medoids.estimator import KMedoids

__all__ = ["KMedoids"]

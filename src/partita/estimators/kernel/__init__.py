"""`KernelKMeans` and what only it needs."""

from partita.estimators.kernel.estimator import KernelKMeans

__all__ = ["KernelKMeans"]

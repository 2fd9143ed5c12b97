"""Randomness is an argument: one Generator per call, children by spawning."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np


def generator(random_state: Any) -> np.random.Generator:
    """A Generator from what scikit-learn calls a random state, or from a Generator itself.

    An int gives the same stream every time; None draws from NumPy's global state, as scikit-learn
    does, so that `np.random.seed` keeps its meaning.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state={random_state} was given; a seed is not negative")
        return np.random.default_rng(int(random_state))
    if random_state is None or random_state is np.random:
        random_state = np.random.mtrand._rand
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    raise ValueError(
        f"random_state={random_state!r} was given; an int, a RandomState, a Generator or None "
        "is expected"
    )


def family(rng: np.random.Generator, runs: int) -> list[np.random.Generator]:
    """A generator for every run: itself, so that the first is the run of n_init=1, and children."""
    return [rng, *rng.spawn(runs - 1)]


def legacy(rng: np.random.Generator) -> np.random.RandomState:
    """A RandomState drawn from `rng`, for callables that expect what scikit-learn passes them."""
    return np.random.RandomState(rng.integers(0, 2**32, size=4, dtype=np.uint32))

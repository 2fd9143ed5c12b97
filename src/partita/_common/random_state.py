"""Randomness is an argument: one Generator per call, children by spawning."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.parameters import is_integer, must_be


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator for a random state of scikit-learn, or the Generator that was given.

    An int gives the same stream every time. None draws from NumPy's global state, as scikit-learn
    does, so that `np.random.seed` keeps its meaning.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if is_integer(random_state) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    if random_state is None:
        random_state = np.random  # its functions draw from the global state
    if random_state is np.random or isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    wanted = "an integer >= 0, a RandomState, a Generator or None"
    raise must_be("random_state", wanted, random_state)


def spawn_generators(rng: np.random.Generator, runs: int) -> list[np.random.Generator]:
    """Return one generator per run: first `rng` itself, as for a single run, then its children."""
    return [rng, *rng.spawn(runs - 1)] if runs > 1 else [rng]


def as_random_state(rng: np.random.Generator) -> np.random.RandomState:
    """Return a RandomState drawn from `rng`, for callables that expect scikit-learn's type."""
    return np.random.RandomState(rng.integers(0, 2**32, size=4, dtype=np.uint32))

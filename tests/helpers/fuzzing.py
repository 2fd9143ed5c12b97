"""What the fuzzers share: the bits of fits of many random cases, here and on other machines.

A module of cases has a function `fits(seed)` that yields (name, fitted model or error, *arrays) of
one random case.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import warnings

import numpy as np
import scipy.sparse as sp

from helpers.other_machines import text_on

ATTRIBUTES = (
    "cluster_centers_", "labels_", "inertia_", "n_iter_", "start_", "medoid_indices_",
    "objective_interval_", "diagonal_shift_",
)  # fmt: skip


def digest_of(*values):
    """A digest of arrays and numbers."""
    digest = hashlib.sha256()
    for value in values:
        digest.update(np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()[:16]


def model_digest(model, *more):
    """The bits of all that a model learned, and of more arrays; the text of an error."""
    if isinstance(model, Exception):
        return f"{type(model).__name__}: {model}"
    learned = [getattr(model, name, None) for name in ATTRIBUTES]
    learned = [value.toarray() if sp.issparse(value) else value for value in learned]
    costs = [(step.cost, step.cost_after, step.shift) for step in getattr(model, "trace_", ())]
    stats = getattr(model, "stats_", None)
    sums = () if stats is None else (stats.weight, stats.mean, stats.sse)
    given = [value for value in learned if value is not None and not isinstance(value, str)]
    return digest_of(*given, *sums, np.array(costs), *more)


def attempt(function, *errors):
    """The result of a call, or the error if it is one of these."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function()
        except errors as error:
            return error


def case_digests(module, first, last):
    """One line for each fit of the seeds from `first` to `last` − 1: seed, name, digest."""
    fits = importlib.import_module(module).fits
    return "\n".join(
        f"{seed} {name} {model_digest(model, *more)}"
        for seed in range(first, last)
        for name, model, *more in fits(seed)
    )


@functools.cache
def usual_digests(module, first, last):
    """The lines of `case_digests` with the instruction set that this machine takes by itself."""
    return case_digests(module, first, last).splitlines()


def different_cases(module, first, last, machine):
    """The lines of `case_digests` here that are others on another machine."""
    here = usual_digests(module, first, last)
    there = text_on(machine, case_digests, module, first, last).splitlines()
    assert len(here) == len(there) >= last - first
    return [line for line, other in zip(here, there, strict=True) if line != other]

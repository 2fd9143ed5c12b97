"""Fits that an observer watches, and the warning about those that Ctrl-C ended."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any, TypeVar

from partita._common.parameters import is_number
from partita._common.text import plural
from partita._common.warnings import InterruptedFitWarning, warn
from partita.observers import WatchedTask, is_interrupt, watching

F = TypeVar("F", bound=Callable[..., Any])


def watched(fit: F) -> F:
    """Let the callback of the estimator watch its `fit`, if it is an observer."""

    @wraps(fit)
    def fit_watched(self: Any, *args: Any, **options: Any) -> Any:
        callback = getattr(self, "callback", None)
        with nullcontext() if callback is None else watching(task_of(self), callback):
            model = fit(self, *args, **options)
        if is_interrupt(getattr(model, "stopped_by_", None)):
            warn_of_interrupt(model)
        return model

    return fit_watched  # type: ignore[return-value]


def task_of(model: Any, is_open_ended: bool = False) -> WatchedTask:
    """Return the fit of an estimator, as observers hear of it; parameters are not checked yet."""
    quality, budget = getattr(model, "quality", None), _time_budget(model)
    searches = isinstance(quality, str) and quality != "fast"
    return WatchedTask(
        "fit",
        type(model).__name__,
        budget if searches else None,  # else it is a deadline of the runs
        is_open_ended=is_open_ended or searches or getattr(model, "k_range", None) is not None,
    )


def _time_budget(model: Any) -> float | None:
    """Return the seconds that a search may take, if there is a limit."""
    budget: Any = getattr(model, "time_budget", None)
    return float(budget) if is_number(budget) else None


def warn_of_interrupt(model: Any) -> None:
    """Warn that a model is the best so far."""
    done = plural(len(model.trace_), "iteration")
    warn(
        f"An interrupt from the keyboard ended the fit of {type(model).__name__}. The model is the "
        f"best so far: J = {model.inertia_:.6g} after {done}.",
        InterruptedFitWarning,
    )

"""How a fit was made: what anyone needs to make it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from partita.report.fitted import Case
from partita.report.summary import Summary
from partita.report.text import number, plural, shown

_COLUMNS = 40  # columns that were left out, before it says "and more"
_LONG = 4000  # letters of a command


@dataclass(frozen=True, slots=True)
class Fact:
    """One line: what it is, its value, and whether it is code."""

    name: str
    value: str
    code: bool = False


def facts_of(case: Case, summary: Summary) -> tuple[tuple[Fact, ...], Any, int]:
    """The facts, the columns that were left out with the reasons, and how many more there are."""
    fitted = case.fitted
    rows = plural(summary.rows, "row")
    if summary.rows_total > summary.rows:
        rows += f" of {number(summary.rows_total)}; the others have missing values"
    facts = [
        Fact("Command", shown(fitted.command, _LONG) if fitted.command else "", True),
        Fact("Source", shown(fitted.source, 300) if fitted.source else ""),
        Fact(
            "Data fingerprint", shown(fitted.fingerprint, 120) if fitted.fingerprint else "", True
        ),
        Fact("Rows", rows),
        Fact("Features", _features(case)),
        Fact("Scaling", summary.scale),
        Fact("Weights", "none" if fitted.weight is None else f"{number(case.weight.sum())} in all"),
        Fact("Model", shown(_model(case.model), 600), True),
        Fact("Seed", "" if fitted.seed is None else shown(fitted.seed)),
        Fact("Time", "" if fitted.seconds is None else f"{fitted.seconds:.3g} seconds"),
        Fact("Made", shown(fitted.created) if fitted.created else ""),
        Fact("Versions", _versions(fitted.versions)),
    ]
    left = dict(fitted.left_out or {})
    some = tuple((shown(name), shown(why, 200)) for name, why in list(left.items())[:_COLUMNS])
    return tuple(fact for fact in facts if fact.value), some, len(left) - len(some)


def _features(case: Case) -> str:
    if case.is_matrix:
        return "none: a matrix was given in place of rows"
    more = len(case.names) - _COLUMNS
    text = ", ".join(case.names[:_COLUMNS])
    return text + (f" and {number(more)} more" if more > 0 else "")


def _model(model: Any) -> str:
    """The estimator with what was set, as one would type it."""
    try:
        return " ".join(repr(model).split())
    except Exception:  # a parameter that cannot be shown is not worth a report
        return type(model).__name__


def _versions(versions: Any) -> str:
    found = {name: value for name, value in (versions or {}).items() if value != "not installed"}
    return (
        shown(", ".join(f"{name} {value}" for name, value in found.items()), 800) if found else ""
    )

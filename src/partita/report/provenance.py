"""How a fit was made: what anyone needs to make it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from partita.report.quality import Cost
from partita.report.report_input import Case
from partita.report.safe_text import number, plural, shown
from partita.report.summary import Summary

_COLUMNS = 40  # columns that were left out, before it says "and more"
_LONG = 4000  # letters of a command


@dataclass(frozen=True, slots=True)
class Fact:
    """One line: what it is, its value, whether it is code, and a remark."""

    name: str
    value: str
    code: bool = False
    remark: str = ""


def facts_of(case: Case, summary: Summary, cost: Cost) -> tuple[tuple[Fact, ...], Any, int]:
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
        Fact("Missing values", _filled(summary.filled)),
        Fact("Scaling", summary.scale),
        Fact("Weights", _weights(case)),
        Fact("Model", shown(_model(case.model), 600), True, _beginning(case)),
        Fact("Objective", _objective(cost)),
        Fact("Seed", "" if fitted.seed is None else shown(fitted.seed)),
        Fact("Time", "" if fitted.seconds is None else f"{fitted.seconds:.3g} seconds"),
        Fact("Made", shown(fitted.created) if fitted.created else ""),
        Fact("Versions", _versions(fitted.versions)),
    ]
    left = dict(fitted.left_out or {})
    some = tuple((shown(name), shown(why, 200)) for name, why in list(left.items())[:_COLUMNS])
    return tuple(fact for fact in facts if fact.value), some, len(left) - len(some)


def _filled(count: int) -> str:
    return f"{number(count)}, filled in by the means of their features" if count else ""


def _weights(case: Case) -> str:
    if case.fitted.weight is None:
        return "none"
    empty = int((case.weight == 0).sum())
    rest = f"; {plural(empty, 'row')} of weight 0" if empty else ""
    return f"{number(float(case.weight.sum()))} in all{rest}"


def _beginning(case: Case) -> str:
    """What the parameters of a model do not say."""
    if not case.began_in_sweep:
        return ""
    again = "the command does both" if case.fitted.command else "Sweep.model gives this fit again"
    return f"started from clusters of the sweep over numbers of clusters; {again}"


def _objective(cost: Cost) -> str:
    if cost.is_of_fit or cost.fit is None:
        return ""
    return f"J = {number(cost.here)} of these rows; J = {number(cost.fit)} of the rows of the fit"


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

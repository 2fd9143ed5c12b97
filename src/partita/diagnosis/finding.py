"""Findings, and the diagnosis that holds them: printable in a terminal and in a notebook."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal

from partita._common.errors import Setting
from partita._common.text import isolated, listed, plural
from partita.diagnosis.meanings import MEANINGS

_TEXT_COLUMNS = 80


class CheckSkipped(Exception):
    """A check does not apply; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of a fit: what it is, the evidence in numbers, and what to do about it.

    `what`, `meaning` and `advice` say nothing about single rows; only `evidence` and `rows` do.
    """

    name: str
    what: str  # one plain sentence, fit for a heading
    evidence: str
    advice: str
    severity: Literal["warning", "note"] = "warning"
    clusters: tuple[int, ...] = ()
    features: tuple[str | int, ...] = ()
    option: str = ""  # the advice as options, in findings that the command line made
    rows: tuple[int, ...] = ()  # indices in X, from 0
    settings: tuple[Setting, ...] = ()  # parameter values that the advice names

    @property
    def meaning(self) -> str:
        """The consequence for a reader of the groups, in plain words; empty for other names."""
        return MEANINGS.get(self.name, "")

    def to_dict(self) -> dict[str, Any]:
        """Return the public fields as a dict."""
        return {name: getattr(self, name) for name in PUBLIC_FIELDS}


_FIELDS = [name for name in Finding.__dataclass_fields__ if name != "settings"]
PUBLIC_FIELDS = (*_FIELDS[:2], "meaning", *_FIELDS[2:])  # after `what`


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis:
    """The findings on a fit, warnings first, and which checks ran or were skipped.

    >>> len(Diagnosis("KMeans, 2 clusters", (), ("scale",)))
    0
    >>> print(Diagnosis("KMeans, 2 clusters", (), ("scale",)))
    KMeans, 2 clusters: no problems found; checked: scale.
    """

    subject: str  # the model and its data, in a few words
    findings: tuple[Finding, ...]
    looked: tuple[str, ...]  # names of the checks that ran
    skipped: tuple[tuple[str, str], ...] = ()  # names of the others, and the reasons

    def with_options(self, word: Callable[[Finding], str]) -> Diagnosis:
        """Return the same diagnosis with each finding's `option` worded by `word`."""
        findings = tuple(replace(finding, option=word(finding)) for finding in self.findings)
        return replace(self, findings=findings)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the findings."""
        return tuple(finding.name for finding in self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a finding of that name (or this very finding)."""
        return name in self.names or name in self.findings

    def __getitem__(self, name: str) -> Finding:
        """Return the finding of that name."""
        for finding in self.findings:
            if finding.name == name:
                return finding
        known = ", ".join(self.names) or "nothing"
        raise KeyError(f"There is no finding {name!r}; found: {known}.")

    def to_frame(self, library: str | None = None) -> Any:
        """Return a dataframe by pandas, polars or pyarrow: `library`, or the first installed."""
        from partita._common.optional_imports import dataframe

        rows = [finding.to_dict() for finding in self.findings]
        for row in rows:  # a column has one type
            row["clusters"] = ", ".join(str(j) for j in row["clusters"])
            row["rows"] = ", ".join(str(i) for i in row["rows"])
            row["features"] = ", ".join(str(name) for name in row["features"])
        return dataframe({name: [row[name] for row in rows] for name in PUBLIC_FIELDS}, library)

    def __repr__(self) -> str:
        return f"Diagnosis of {self.subject}: {_count(self.findings)}"

    def __str__(self) -> str:
        head, *coverage = (_wrap(line, "", 2) for line in self._around())
        return "\n\n".join([head, *(_text(finding) for finding in self.findings), *coverage])

    def _around(self) -> list[str]:
        """Return the lines before and after the findings."""
        head = f"{self.subject}: {_count(self.findings)}"
        checked = f"hecked: {', '.join(self.looked)}."
        reasons: dict[str, list[str]] = {}
        for name, reason in self.skipped:
            reasons.setdefault(reason, []).append(name)
        rest = [f"Not checked: {', '.join(names)} ({reason})." for reason, names in reasons.items()]
        return [head, f"C{checked}", *rest] if self.findings else [f"{head}; c{checked}", *rest]

    def _repr_html_(self) -> str:
        """HTML for notebooks; everything that comes from the data is escaped."""
        items = "".join(
            f"<dt><b>{escape(f.what)}</b> ({f.severity}: {escape(f.name)})</dt>"
            f"<dd>{escape(f.meaning)}{'<br>' if f.meaning else ''}"
            f"<small>{escape(f.evidence)}</small><br>&rarr; {escape(f.advice)}</dd>"
            for f in self.findings
        )
        head, *coverage = (escape(line) for line in self._around())
        foot = "<br>".join(coverage)
        return f"<div><p>{head}</p><dl>{items}</dl><p><small>{foot}</small></p></div>"


def _count(findings: tuple[Finding, ...]) -> str:
    if not findings:
        return "no problems found"
    severities = [finding.severity for finding in findings]
    present = [severity for severity in ("warning", "note") if severity in severities]
    return " and ".join(plural(severities.count(severity), severity) for severity in present)


def _text(finding: Finding) -> str:
    head = f"{finding.severity}: {finding.name}"
    texts = (finding.what, finding.meaning, finding.evidence)
    body = (_wrap(text) for text in texts if text)
    return "\n".join((head, *body, _wrap(f"→ {finding.advice}", "  ", 4)))


def _wrap(text: str, indent: str = "  ", hang: int | None = None) -> str:
    later = indent if hang is None else " " * hang
    return textwrap.fill(
        text, _TEXT_COLUMNS, initial_indent=indent, subsequent_indent=later, break_on_hyphens=False
    )


def list_few(items: Iterable[Any]) -> str:
    """List the first few items: a, b, c and 7 more."""
    return listed(items, isolated)


def percent(share: float) -> str:
    """Format a share: 99.8 %."""
    return f"{100 * share:.3g} %"

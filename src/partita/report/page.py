"""The page: what was found goes into the template, with a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from partita._common.optional_imports import require
from partita.report.report_input import Fitted
from partita.report.safe_text import in_script, shown, with_code
from partita.report.sections import sections_of
from partita.report.summary import Findings, Summary, study
from partita.tables import check_new, write_atomically

_SCRIPTS = ("page", "paint", "map")


def write_report(path: Any, fitted: Fitted, *, force: bool = False) -> Summary:
    """Write the report on a fit as one HTML file; what it says is also returned.

    The file needs nothing but itself: no network, no fonts, no other file. An existing file is
    replaced only with `force`. It appears under its name when it is complete, or not at all.

    >>> import os, tempfile
    >>> from partita import KMeans
    >>> from partita.report import Fitted, write_report
    >>> X = [[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.0]]
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> write_report(path, Fitted(KMeans(2, random_state=0).fit(X), X)).n_clusters
    2
    """
    check_new(path, force=force)  # before the work, not after it
    found = study(fitted)
    content = _page(found).encode("utf-8")
    write_atomically(path, lambda file: file.write(content), force=force)
    return found.summary


def render(fitted: Fitted) -> str:
    """The report as text. The same record gives the same text."""
    return _page(study(fitted))


def _page(found: Findings) -> str:
    jinja2 = require("jinja2", "a report", "report")
    markup = require("markupsafe", "a report", "report").Markup
    style, script = _asset("page.css"), "".join(_asset(f"{name}.js") for name in _SCRIPTS)
    room = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    room.filters["short"] = shown
    room.filters["drawn"] = markup  # SVG of ours, in which all text is escaped
    room.filters["typed"] = lambda text: markup(with_code(text))
    sections = sections_of(found)
    data = in_script(sections.map)
    text: str = room.from_string(_asset("page.html")).render(
        policy=_policy(style, script),
        style=markup(style),
        script=markup(script),
        data=markup(data),
        page=sections,
    )
    return text


def _policy(style: str, script: str) -> str:
    """What the browser may run and load: this style, this script, and nothing else."""
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _asset(name: str) -> str:
    return files("partita.report").joinpath("assets", name).read_text(encoding="utf-8")

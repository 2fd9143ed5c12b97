"""The page: sections in a template, and a policy that admits nothing else."""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib.resources import files
from typing import Any

from partita._common.number_text import number_text, percent_text, score_text, share_text
from partita._common.optional_imports import require
from partita._common.parameters import check_path, must_be
from partita.report import page_text
from partita.report.charts import share_bar
from partita.report.report_input import Fitted
from partita.report.sections import page_sections
from partita.report.summary import ReportAnalysis, Summary, analyse
from partita.report.svg import chip
from partita.tables import check_new, write_atomically

_HTML_SUFFIXES = (".html", ".htm")
_STYLES = ("page.css", "map.css", "compared.css")
_SCRIPTS = (
    "names.js",  # first: it keeps a copy of the page before any other script changes it
    *("export.js", "page.js", "map_rows.js", "map_view.js", "map_labels.js", "paint.js"),
    *("map_export.js", "map_links.js", "map_input.js", "map.js"),
)


def write_report(path: Any, fitted: Fitted, *, force: bool = False) -> Summary:
    """Write the report on a fit as one HTML file, and return its numbers.

    The file is self-contained: it needs no network, fonts or other files. An existing file is
    replaced only with `force`. It appears under its name when it is complete, or not at all.

    >>> import os, tempfile
    >>> from partita import KMeans
    >>> from partita.report import Fitted, write_report
    >>> X = [[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.0]]
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> write_report(path, Fitted(KMeans(2, random_state=0).fit(X), X)).n_clusters
    2
    """
    path = check_path("path", path)
    check_new(path, force=force)  # before the work, not after it
    if not path.lower().endswith(_HTML_SUFFIXES):
        raise must_be("path", "a name that ends in .html or .htm", path)
    analysis = analyse(fitted)
    content = _page(analysis).encode("utf-8")
    write_atomically(path, lambda file: file.write(content), force=force)
    return analysis.summary


def render(fitted: Fitted) -> str:
    """Return the report as HTML. The same record gives the same text."""
    return _page(analyse(fitted))


def _page(analysis: ReportAnalysis) -> str:
    style, script = ("".join(map(_asset, names)) for names in (_STYLES, _SCRIPTS))
    template = template_environment().get_template("page.html")
    policy, page = _policy(style, script), page_sections(analysis)
    html: str = template.render(page=page, policy=policy, style=style, script=script)
    return html


@functools.cache
def template_environment() -> Any:
    """Return the environment of the template, which escapes all text that is not marked safe."""
    jinja2 = require("jinja2", "a report", "report")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    filters = (
        *(chip, share_bar, page_text.breakable),
        *(page_text.isolate_names, page_text.mark_code),
        *(number_text, percent_text, page_text.safe_line, score_text, share_text),
    )
    environment.filters |= {function.__name__: function for function in filters}
    return environment


def _policy(style: str, script: str) -> str:
    """The content security policy: this style, this script, and nothing else."""
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _asset(name: str) -> str:
    return files("partita.report").joinpath("assets", name).read_text(encoding="utf-8")

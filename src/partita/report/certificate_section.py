"""The certificate of a fit in the report: words for the reader, and bound and objective by time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from partita._common.number_text import number_text
from partita.certificates.certificate import (
    CONFIDENCE,
    EXACT,
    MAX_METHOD_CHARACTERS,
    Certificate,
)
from partita.certificates.gap_text import level_percent
from partita.chart_layout.bound_steps import BoundSteps, bound_steps
from partita.chart_layout.captions import join_sentences
from partita.report import svg
from partita.report.page_text import safe_line
from partita.report.svg import AxisScale, line, path, text

WIDTH, RIGHT, TOP, BOTTOM = 460, 448, 24, 150  # of the drawing, in pixels
LABEL_ABOVE, LABEL_BELOW = 7, 17  # pixels between a line and its name


@dataclass(frozen=True, slots=True)
class CertificateSection:
    """The certificate as the page shows it."""

    short: str  # "at most 3.1 % above the best possible"
    drawing: str
    note: str


def certificate_of(model: Any) -> Certificate | None:
    """Return the certificate that a model keeps."""
    certificate: Certificate | None = getattr(model, "certificate_", None)
    return certificate


def certificate_section(certificate: Certificate | None) -> CertificateSection | None:
    """Return the section of a certificate; None if there is none."""
    if certificate is None:
        return None
    steps = bound_steps(certificate)
    method = safe_line(certificate.method, MAX_METHOD_CHARACTERS)
    remarks = [
        certificate.verdict,
        _meaning(certificate),
        f"J is {number_text(certificate.objective)}, and the bound is "
        f"{number_text(certificate.lower_bound)} (method: {method})",
        steps is not None
        and steps.low > steps.corners[0][1]
        and "lower bounds, which were found at first, are not drawn",
    ]
    drawing = "" if steps is None else bound_chart(steps)
    return CertificateSection(certificate.short, drawing, join_sentences(remarks))


def _meaning(certificate: Certificate) -> str:
    """Return the kind of the bound in plain words."""
    if certificate.is_optimal:
        return "the best possible value was computed, and this fit has it"
    if certificate.kind == EXACT:
        return "the best possible value was computed"
    if certificate.kind == CONFIDENCE and certificate.level is not None:
        level = level_percent(certificate.level)
        return f"the bound comes from random samples of the rows: it holds with {level} probability"
    return "the bound is proven: it holds for every possible division into this number of groups"


def bound_chart(steps: BoundSteps) -> str:
    """Draw the bound and the objective over time."""
    y = AxisScale(steps.low, steps.objective, BOTTOM, TOP)
    left, y_axis = svg.y_axis(y, 76.0, RIGHT)
    x = AxisScale(0.0, max(steps.seconds, 1e-3), left, RIGHT)
    top = y(steps.objective)
    points = [(x(seconds), y(bound)) for seconds, bound in steps.shown()]
    parts = [
        y_axis,
        svg.x_numbers(x, x.ticks(5), BOTTOM),
        text("seconds", (left + RIGHT) / 2, BOTTOM + 34, text_anchor="middle", class_="faint"),
        line(left, top, RIGHT, top, "best"),
        text("J of this fit", RIGHT, top - LABEL_ABOVE, text_anchor="end", class_="faint"),
        path(points),
        text(
            "highest bound so far",
            RIGHT,
            points[-1][1] + LABEL_BELOW,
            text_anchor="end",
            class_="faint",
        ),
    ]
    bound = number_text(steps.corners[-1][1])
    label = f"Lower bound by time, up to {bound}; J is {number_text(steps.objective)}"
    return svg.drawing(WIDTH, BOTTOM + 40, label, *parts)

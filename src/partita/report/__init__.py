"""The report on a fit: one HTML file that opens anywhere, without a network."""

from __future__ import annotations

from partita.report.page import render, write_report
from partita.report.report_input import Fitted, OtherModel
from partita.report.summary import Summary, summarise

__all__ = ["Fitted", "OtherModel", "Summary", "render", "summarise", "write_report"]

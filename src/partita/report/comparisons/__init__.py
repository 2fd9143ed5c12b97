"""Comparisons in a report: new rows beside those of the fit, and two models of the same rows."""

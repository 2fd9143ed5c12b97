"""Certificates in model files."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from partita.certificates.certificate import BoundProgress, Certificate
from partita.estimators.saved_state import FieldReader

MAX_ROWS = 2**62  # of a certificate


def certificate_state(certificate: Certificate) -> dict[str, Any]:
    """Return the fields of a certificate as plain values, the history by column."""
    values = {field.name: getattr(certificate, field.name) for field in fields(Certificate)}
    columns = [field.name for field in fields(BoundProgress)]
    values["history"] = {
        name: [getattr(record, name) for record in certificate.history] for name in columns
    }
    return values


def restored_certificate(saved: FieldReader) -> Certificate:
    """Return the certificate of a file; a ValueError if it is none."""
    kinds = {field.name: str(field.type) for field in fields(BoundProgress)}
    history = tuple(BoundProgress(**row) for row in saved.columns("history", kinds))
    for record in history:
        if not 0 <= record.lower_bound <= record.objective or not record.seconds >= 0:
            raise ValueError("certificate.history has a bound that is not one")
    return Certificate(
        lower_bound=saved.number("lower_bound", 0.0, finite=True),
        objective=saved.number("objective", 0.0, finite=True),
        kind=saved.text("kind"),
        level=saved.number("level", 0.0, finite=True) if saved.has("level") else None,
        method=saved.text("method"),
        seconds=saved.number("seconds", 0.0, finite=True),
        history=history,
        n_clusters=saved.integer("n_clusters", 1),
        n_rows=saved.integer("n_rows", 1, MAX_ROWS),
        n_features=saved.integer("n_features", 1) if saved.has("n_features") else None,
        criterion=saved.text("criterion"),
        version=saved.text("version"),
    )

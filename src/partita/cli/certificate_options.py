"""The options of certificates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from partita.cli.option_values import at_least, parse_level, parse_time_limit
from partita.cli.options import certifying

DEFAULT_TIME_LIMIT = 60.0  # seconds

LabelsColumn = Annotated[
    str | None,
    certifying("--labels-column", "NAME", "Column with the labels of any program."),
]
TimeLimit = Annotated[
    float,
    certifying(
        "--time-limit",
        "SECONDS",
        "Time to search for bounds; none: until no method is left.",
        parser=parse_time_limit,
    ),
]
Level = Annotated[
    float,
    certifying(
        "--level",
        "P",
        "Confidence of bounds from samples (large tables).",
        parser=parse_level,
    ),
]
Seed = Annotated[int, certifying("--seed", "N", "Of the samples of rows.", parser=at_least(0))]


@dataclass(frozen=True, slots=True)
class CertifyOptions:
    """The options of a fit about its certificate."""

    certify: Annotated[
        bool,
        certifying("--certify", "", "Bound how far the fit is from the best possible one."),
    ] = False
    certify_time: Annotated[
        float | None,
        certifying(
            "--certify-time",
            "SECONDS",
            "Time to search for bounds, with --certify (default 60); none: until no method is "
            "left.",
            parser=parse_time_limit,
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.certify_time is not None and not self.certify:
            raise typer.BadParameter("--certify-time needs --certify.")

    @property
    def seconds(self) -> float:
        """The time to search for bounds."""
        return DEFAULT_TIME_LIMIT if self.certify_time is None else self.certify_time

    def check_streamed(self, prepared: Any) -> None:
        """Refuse a certificate of rows that are read by blocks."""
        if self.certify and prepared.streamed is not None:
            raise typer.BadParameter(
                "--certify needs all rows in memory, and this table is read by blocks. Raise "
                "--memory-limit, or certify a sample of the rows."
            )

"""The options of the commands, each declared once.

A parameter of a command that is a record of this module stands for the options of its fields.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from partita.cli.option_values import (
    at_least,
    one_of,
    parse_delimiter,
    parse_size,
    separator,
)

MISSING = ("auto", "error", "drop", "mean", "partial")


def _option(
    panel: str, names: str, metavar: str, help: str, choices: Iterable[str] = (), **more: Any
) -> Any:
    """Declare an option with names like "--seed -s"; a flag has no metavar."""
    if choices:
        values = tuple(choices)
        more |= {"parser": one_of(values), "autocompletion": lambda: values}
    return typer.Option(*names.split(), metavar=metavar, help=help, rich_help_panel=panel, **more)


reading, clustering = partial(_option, "Input"), partial(_option, "Clustering")
certifying, writing = partial(_option, "Certificate"), partial(_option, "Output")

# --- input ----------------------------------------------------------------------------------------

Id = Annotated[str | None, reading("--id", "NAME", "Column with names of the rows.")]
Weight = Annotated[str | None, reading("--weight -w", "NAME", "Column with weights of the rows.")]
MissingAsFitted = Annotated[
    str | None,
    reading(
        "--missing",
        "HOW",
        "Missing values: error, drop, or auto and mean, which fill in values of the fit. Default: "
        "as in the fit.",
        MISSING,
    ),
]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The files to read, and their format."""

    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="A file (CSV, TSV, .xlsx, JSON lines, Parquet, Feather, .npy, .npz; may be "
            "compressed, like .csv.gz), several files that form one table, a folder, or - for "
            "standard input.",
        ),
    ]
    delimiter: Annotated[
        str | None,
        reading(
            "--delimiter",
            "CHAR",
            "Delimiter of text files. Default: detected.",
            parser=parse_delimiter,
        ),
    ] = None
    encoding: Annotated[
        str | None, reading("--encoding", "NAME", "Encoding of text files. Default: detected.")
    ] = None
    header: Annotated[
        bool | None,
        reading(
            "--header/--no-header",
            "",
            "Whether the first line has column names. Default: yes, unless it has only numbers "
            "and empty cells.",
        ),
    ] = None
    decimal: Annotated[
        str | None,
        reading(
            "--decimal",
            "CHAR",
            "Decimal separator of numbers: point or comma. Default: detected for each column.",
            parser=separator("point", "comma"),
        ),
    ] = None
    thousands: Annotated[
        str | None,
        reading(
            "--thousands",
            "CHAR",
            "Thousands separator: comma, point, space or apostrophe. Default: detected.",
            parser=separator("comma", "point", "space", "apostrophe"),
        ),
    ] = None
    na: Annotated[
        list[str] | None,
        reading(
            "--na", "TEXT", "Another text or number that means missing, like -999; repeatable."
        ),
    ] = None
    skip_rows: Annotated[
        int | None,
        reading(
            "--skip-rows",
            "N",
            "Lines above the header. Default: title lines are detected; 0: there are none.",
            parser=at_least(0, 2**31),
        ),
    ] = None
    sheet: Annotated[
        str | None,
        reading("--sheet", "NAME", "Sheet of a workbook, or its number. Default: the first table."),
    ] = None
    source_column: str | None = None


@dataclass(frozen=True, slots=True)
class ReadAndNameOptions(ReadOptions):
    """The files to read, their format, and a column for their names."""

    source_column: Annotated[
        str | None, reading("--source-column", "NAME", "Add a column with the file of each row.")
    ] = None


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """The columns that are features, ids and weights, and the preparation of the features."""

    columns: Annotated[
        list[str] | None,
        reading("--columns -c", "A,B", "Features. Default: all columns that hold measurements."),
    ] = None
    exclude: Annotated[
        list[str] | None, reading("--exclude -x", "A,B", "Columns to leave out.")
    ] = None
    include: Annotated[
        list[str] | None,
        reading(
            "--include",
            "A,B",
            "Columns to use although they look like ids, codes or copies; dates become days.",
        ),
    ] = None
    id: Id = None
    weight: Weight = None
    scale: Annotated[
        str | None,
        reading(
            "--scale -s",
            "HOW",
            "auto (default: one footing, unless all features share a unit; a few outliers and very "
            "skewed features do not decide), none, standard (mean and standard deviation) or "
            "robust (median and interquartile range).",
            ("auto", "none", "standard", "robust"),
        ),
    ] = None
    missing: Annotated[
        str | None,
        reading(
            "--missing",
            "HOW",
            "Missing values: auto (default: fill in medians; rows that miss more than half are "
            "left out), stop (error), leave the row out (drop), use the column mean (mean), or "
            "compare rows by what is known (partial: of kmeans, and of medoids by gower).",
            MISSING,
        ),
    ] = None
    categories: Annotated[
        list[str] | None,
        reading(
            "--categories",
            "A,B",
            "For methods that use categories: the columns that are (auto: text, yes or no; none).",
        ),
    ] = None
    raw: Annotated[
        bool,
        reading(
            "--raw",
            "",
            "Prepare nothing: all numeric columns, as they are; a missing value is an error.",
        ),
    ] = False


MemoryLimit = Annotated[
    float | None,
    reading(
        "--memory-limit",
        "SIZE",
        "Memory to take, like 2GiB or 500MB: a table that needs more is read by blocks. Default: "
        "what is free.",
        parser=parse_size,
    ),
]


# --- output ---------------------------------------------------------------------------------------

LabelsOut = Annotated[
    str | None,
    writing(
        "--labels -o",
        "OUT",
        "Write a copy of the data with a column 'cluster'; the suffix sets the format.",
    ),
]
WithNames = Annotated[
    bool, writing("--with-names", "", "Write the name of the group too, as a column 'group'.")
]
GroupNames = Annotated[
    list[str] | None,
    writing("--names", "0=A,1=B", "Names of the groups, or a file of numbers and names."),
]
OnlyLabels = Annotated[bool, writing("--only-labels", "", "Write only ids and clusters, no copy.")]
Distance = Annotated[
    bool,
    writing(
        "--distance", "", "Write distances to the centers too, and which rows are unlike the fit."
    ),
]
ModelOut = Annotated[
    Path | None, writing("--model", "OUT", "Write the model, for predict, inspect and report.")
]
ReportOut = Annotated[
    Path | None, writing("--report", "OUT.html", "Write a report as one HTML file.")
]


@dataclass(frozen=True, slots=True)
class SendingOptions:
    """The options of a report that is passed on."""

    title: Annotated[str | None, writing("--title", "TEXT", "Title of the report.")] = None
    author: Annotated[str | None, writing("--author", "TEXT", "Author of the report.")] = None
    no_rows: Annotated[
        bool,
        writing("--no-rows", "", "Leave every single row out of the report: safe to pass on."),
    ] = False

    def check(self, report: Path | None) -> None:
        """Refuse these options without a report, where they would have no effect."""
        given = {"--title": self.title, "--author": self.author, "--no-rows": self.no_rows}
        for option, value in given.items():
            if report is None and value not in (None, False):
                raise typer.BadParameter(f"{option} needs --report OUT.html.")


ModelIn = Annotated[Path, typer.Option("--model", metavar="MODEL", help="Model written by fit.")]
Explain = Annotated[
    bool, writing("--explain", "", "Print the rule behind every decision about the data.")
]
Json = Annotated[bool, writing("--json", "", "Print one JSON object instead of text.")]
Strict = Annotated[bool, writing("--strict", "", "Exit with code 4 if a limit ended the fit.")]
Force = Annotated[bool, writing("--force -f", "", "Overwrite existing files.")]
Quiet = Annotated[bool, writing("--quiet -q", "", "Print errors only.")]
Debug = Annotated[bool, writing("--debug", "", "Show the traceback of an error.")]

"""The options of the commands, each declared once.

A parameter of a command that is a record of this module stands for the options of its fields.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from partita.cli.halt_option import parse_halt
from partita.cli.option_values import (
    KERNELS,
    METRICS,
    QUALITIES,
    KRequest,
    at_least,
    one_of,
    parse_delimiter,
    parse_k,
    parse_size,
    separator,
)

ESTIMATORS = {
    "kmeans": "KMeans",
    "mini-batch": "MiniBatchKMeans",
    "spherical": "SphericalKMeans",
    "kernel": "KernelKMeans",
    "medoids": "KMedoids",
}
OPTIONS_OF_METHOD = {
    "kernel": "kernel",
    "gamma": "kernel",
    "metric": "medoids",
    "zero_rows": "spherical",
    "quality": "kmeans or spherical",
    "time_budget": "kmeans or spherical",
}
SEARCH_OPTIONS = ("quality", "time_budget")
MISSING = ("auto", "error", "drop", "mean")
AUTO: Any = "auto"  # of --k; typer parses defaults too


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
            "left out), stop (error), leave the row out (drop), or use the column mean (mean).",
            MISSING,
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

# --- clustering -----------------------------------------------------------------------------------

K = Annotated[
    KRequest,
    clustering(
        "--k -k", "K", "Number of clusters, a range to choose from (2:20), or auto.", parser=parse_k
    ),
]
KRange = Annotated[
    KRequest,
    clustering(
        "--k -k",
        "LOW:HIGH",
        "Numbers to compare, like 2:20. auto: 2 to the square root of the number of rows.",
        parser=parse_k,
    ),
]


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """The estimator and its parameters; the fields have the names of the parameters."""

    method: Annotated[
        str, clustering("--method -m", "NAME", f"{', '.join(ESTIMATORS)}.", ESTIMATORS)
    ] = "kmeans"
    halt: Any = None
    memory_limit: Any = None
    quality: Any = None
    time_budget: Any = None
    random_state: Annotated[
        int,
        clustering(
            "--seed", "N", "The same seed gives bit-for-bit the same result.", parser=at_least(0)
        ),
    ] = 0
    n_threads: Annotated[
        int | None,
        clustering(
            "--threads -t",
            "N",
            "Default: all cores. No effect on the result.",
            parser=at_least(1, 1024),
        ),
    ] = None
    n_init: Annotated[
        int | None,
        clustering(
            "--n-init",
            "N",
            "Number of plain starts, or of searches with --quality; the best fit is kept. "
            "Default: one search; of other methods, starts while they improve the fit.",
            parser=at_least(1),
        ),
    ] = None
    max_iter: Annotated[
        int | None,
        clustering(
            "--max-iter", "N", "Maximum number of iterations per start.", parser=at_least(1)
        ),
    ] = None
    kernel: Annotated[
        str | None,
        clustering(
            "--kernel",
            "NAME",
            f"For --method kernel: {', '.join(KERNELS)}. Default: rbf.",
            choices=KERNELS,
        ),
    ] = None
    gamma: Annotated[
        float | None,
        clustering(
            "--gamma",
            "X",
            "Coefficient of the kernel. Default: from the variance.",
            parser=at_least(0.0),
        ),
    ] = None
    metric: Annotated[
        str | None,
        clustering(
            "--metric",
            "NAME",
            "For --method medoids: euclidean (default), manhattan, cosine, …",
            choices=METRICS,
        ),
    ] = None
    zero_rows: Annotated[
        str | None,
        clustering(
            "--zero-rows",
            "HOW",
            "For --method spherical: rows of zeros are an error (default), get the label -1 "
            "(drop), or get a cluster of their own (separate).",
            ("error", "drop", "separate"),
        ),
    ] = None

    def __post_init__(self) -> None:
        for name, method in OPTIONS_OF_METHOD.items():
            if getattr(self, name) is not None and self.method not in method.split(" or "):
                option = name.replace("_", "-")
                raise typer.BadParameter(
                    f"--{option} needs --method {method}, got --method {self.method}."
                )

    def estimator(self, k: int) -> Any:
        """Return the estimator, not fitted, without a search: as a sweep over K needs it."""
        import partita

        values = {field.name: getattr(self, field.name) for field in fields(self)}
        known = {name: value for name, value in values.items() if value is not None}
        parameters = {name: known[name] for name in known if name not in SEARCH_OPTIONS}
        return getattr(partita, ESTIMATORS[parameters.pop("method")])(k, **parameters)

    def searching_estimator(self, k: int) -> Any:
        """Return the estimator with the search that was asked for.

        By default that is "balanced", or none if a number of starts is given.
        """
        estimator = self.estimator(k)
        if self.method not in OPTIONS_OF_METHOD["quality"]:
            return estimator
        quality = self.quality or ("balanced" if self.n_init is None else "fast")
        return estimator.set_params(quality=quality, time_budget=self.time_budget)


@dataclass(frozen=True, slots=True)
class MethodAndHaltOptions(MethodOptions):
    """The estimator and its parameters, with those that a sweep does not have."""

    halt: Annotated[
        Any,
        clustering(
            "--halt",
            "RULE",
            "When to stop, like 'RelDecrease(1e-4) | Deadline(60)'.",
            parser=parse_halt,
        ),
    ] = None
    memory_limit: MemoryLimit = None
    quality: Annotated[
        str | None,
        clustering(
            "--quality",
            "HOW",
            "How far to search for a better fit: fast, balanced (default), or best.",
            QUALITIES,
        ),
    ] = None
    time_budget: Annotated[
        float | None,
        clustering(
            "--time-budget", "SECONDS", "End the search after so many.", parser=at_least(0.0)
        ),
    ] = None


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

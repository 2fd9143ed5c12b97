"""The options that several commands share, each written once."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from partita.cli.requests import delimiter_option, halt_option, kernel_option, metric_option

INPUT, METHOD, OUTPUT = "What is read", "How it is clustered", "What is written"

reading = partial(typer.Option, rich_help_panel=INPUT)
clustering = partial(typer.Option, rich_help_panel=METHOD)
writing = partial(typer.Option, rich_help_panel=OUTPUT)
flag = partial(writing, metavar="")  # there is nothing to give


class Method(StrEnum):
    """Members of the family."""

    kmeans = "kmeans"
    minibatch = "mini-batch"
    spherical = "spherical"
    kernel = "kernel"
    medoids = "medoids"


class Scale(StrEnum):
    """How features are made comparable."""

    none = "none"
    standard = "standard"
    robust = "robust"


class ZeroRows(StrEnum):
    """What to do with rows that have no direction."""

    error = "error"
    drop = "drop"
    separate = "separate"


class Missing(StrEnum):
    """What to do where there is no value."""

    error = "error"
    drop = "drop"
    mean = "mean"


Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="A file (CSV, TSV, Parquet, Feather, .npy, .npz; also packed, like .csv.gz), several "
        "that are one table, a folder of them, or - for standard input.",
        show_default=False,
    ),
]

# --- what is read ---------------------------------------------------------------------------------

Columns = Annotated[
    list[str] | None,
    reading(
        "--columns",
        "-c",
        metavar="A,B",
        help="The features, separated by commas; all columns of numbers, if not given.",
        show_default=False,
    ),
]
Exclude = Annotated[
    list[str] | None,
    reading(
        "--exclude",
        "-x",
        metavar="A,B",
        help="Columns that are not features, separated by commas.",
        show_default=False,
    ),
]
Id = Annotated[
    str | None, reading("--id", metavar="NAME", help="The column that says what rows are called.")
]
Weight = Annotated[
    str | None,
    reading("--weight", "-w", metavar="NAME", help="The column that says how often rows count."),
]
ScaleBy = Annotated[
    Scale,
    reading(
        "--scale",
        "-s",
        metavar="HOW",
        help="none; standard: by mean and deviation; robust: by median and middle half.",
    ),
]
MissingBy = Annotated[
    Missing,
    reading(
        "--missing",
        metavar="HOW",
        help="Where there is no value: stop (error), leave the row out (drop), or take the mean of "
        "the column (mean).",
    ),
]
MissingAsFitted = Annotated[
    Missing | None,
    reading(
        "--missing",
        metavar="HOW",
        help="error, drop or mean (that of the fit). If not given: mean where the fit had it, else "
        "error.",
    ),
]
Delimiter = Annotated[
    str | None,
    reading(
        "--delimiter",
        callback=delimiter_option,
        metavar="SIGN",
        help="Of text, if it is not to be detected.",
    ),
]
Encoding = Annotated[
    str | None,
    reading("--encoding", metavar="NAME", help="Of text, if it is not to be detected."),
]
Header = Annotated[
    bool | None,
    reading(
        "--header/--no-header",
        metavar="",
        help="Whether the first line holds names; if not given, it does unless it holds numbers "
        "and gaps only.",
        show_default=False,
    ),
]
SourceColumn = Annotated[
    str | None,
    reading(
        "--source-column",
        metavar="NAME",
        help="Add a column of this name that says which file a row is from.",
    ),
]

# --- how it is clustered --------------------------------------------------------------------------

MethodBy = Annotated[
    Method,
    clustering(
        "--method", "-m", metavar="NAME", help="kmeans, mini-batch, spherical, kernel or medoids."
    ),
]
Seed = Annotated[
    int,
    clustering(
        "--seed",
        min=0,
        metavar="N",
        help="The same seed gives the same result, to the last bit.",
    ),
]
Threads = Annotated[
    int | None,
    clustering(
        "--threads",
        "-t",
        min=1,
        max=4096,
        metavar="N",
        help="All cores, if not given. They change the time only.",
    ),
]
HaltBy = Annotated[
    str | None,
    clustering(
        "--halt",
        callback=halt_option,
        metavar="RULE",
        help="When to stop, like 'RelDecrease(1e-4) | Deadline(60)'.",
    ),
]
NInit = Annotated[
    int | None,
    clustering("--n-init", min=1, metavar="N", help="How many starts, of which the best is kept."),
]
MaxIter = Annotated[
    int | None,
    clustering("--max-iter", min=1, metavar="N", help="The most iterations of a run."),
]
Kernel = Annotated[
    str | None,
    clustering(
        "--kernel",
        callback=kernel_option,
        metavar="NAME",
        help="Of --method kernel: rbf (if not given), laplacian, polynomial, …",
    ),
]
Gamma = Annotated[
    float | None,
    clustering(
        "--gamma",
        min=0.0,
        metavar="X",
        help="Of the kernel; by the spread of the data, if not given.",
    ),
]
Metric = Annotated[
    str | None,
    clustering(
        "--metric",
        callback=metric_option,
        metavar="NAME",
        help="Of --method medoids: euclidean (if not given), manhattan, cosine, …",
    ),
]
ZeroRowsBy = Annotated[
    ZeroRows | None,
    clustering(
        "--zero-rows",
        metavar="HOW",
        help="Of --method spherical: rows of zeros stop it (error, if not given), get the label "
        "-1 (drop), or a cluster of their own (separate).",
    ),
]

# --- what is written ------------------------------------------------------------------------------

LabelsTo = Annotated[
    str | None,
    writing(
        "--labels",
        "-o",
        metavar="OUT",
        help="A copy of the data with a column 'cluster'; the end of the name says the format.",
    ),
]
OnlyLabels = Annotated[bool, flag("--only-labels", help="Not a copy: only ids and clusters.")]
ModelTo = Annotated[
    Path | None,
    writing("--model", metavar="OUT", help="The model, for predict, inspect and report."),
]
ReportTo = Annotated[
    Path | None,
    writing("--report", metavar="OUT.html", help="A page to look at and to send, in one file."),
]
ModelFrom = Annotated[
    Path,
    typer.Option("--model", metavar="MODEL", help="The file that fit wrote.", show_default=False),
]
Json = Annotated[bool, flag("--json", help="Print one object for programs instead of text.")]
Strict = Annotated[bool, flag("--strict", help="Exit with 4 if a limit ended the fit.")]
Force = Annotated[bool, flag("--force", "-f", help="Replace files that exist.")]
Quiet = Annotated[bool, flag("--quiet", "-q", help="Say errors only.")]
Debug = Annotated[bool, flag("--debug", help="Show where an error arose.")]

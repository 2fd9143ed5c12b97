"""The options that several commands share, each defined once."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from partita.cli.requests import (
    check_halt,
    check_k,
    check_kernel,
    check_metric,
    parse_delimiter,
)

INPUT, METHOD, OUTPUT = "Input", "Clustering", "Output"  # panels of --help

input_option = partial(typer.Option, rich_help_panel=INPUT)
method_option = partial(typer.Option, rich_help_panel=METHOD)
output_option = partial(typer.Option, rich_help_panel=OUTPUT)
flag = partial(output_option, metavar="")  # takes no value


class MethodName(StrEnum):
    """Values of `--method`."""

    kmeans = "kmeans"
    minibatch = "mini-batch"
    spherical = "spherical"
    kernel = "kernel"
    medoids = "medoids"


class ScaleName(StrEnum):
    """Values of `--scale`."""

    none = "none"
    standard = "standard"
    robust = "robust"


class ZeroRowsPolicy(StrEnum):
    """Values of `--zero-rows`."""

    error = "error"
    drop = "drop"
    separate = "separate"


class MissingPolicy(StrEnum):
    """Values of `--missing`."""

    error = "error"
    drop = "drop"
    mean = "mean"


Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="A file (CSV, TSV, Parquet, Feather, .npy, .npz; may be compressed, like .csv.gz), "
        "several files that form one table, a folder, or - for standard input.",
        show_default=False,
    ),
]

# --- input ----------------------------------------------------------------------------------------

Columns = Annotated[
    list[str] | None,
    input_option(
        "--columns",
        "-c",
        metavar="A,B",
        help="Features, separated by commas. Default: all numeric columns.",
        show_default=False,
    ),
]
Exclude = Annotated[
    list[str] | None,
    input_option(
        "--exclude",
        "-x",
        metavar="A,B",
        help="Columns to leave out, separated by commas.",
        show_default=False,
    ),
]
Id = Annotated[
    str | None, input_option("--id", metavar="NAME", help="Column with the names of the rows.")
]
Weight = Annotated[
    str | None,
    input_option("--weight", "-w", metavar="NAME", help="Column with the weights of the rows."),
]
Scale = Annotated[
    ScaleName,
    input_option(
        "--scale",
        "-s",
        metavar="HOW",
        help="none, standard (mean and standard deviation) or robust (median and interquartile "
        "range).",
    ),
]
Missing = Annotated[
    MissingPolicy,
    input_option(
        "--missing",
        metavar="HOW",
        help="Missing values: stop (error), leave the row out (drop), or use the column mean "
        "(mean).",
    ),
]
MissingAsFitted = Annotated[
    MissingPolicy | None,
    input_option(
        "--missing",
        metavar="HOW",
        help="Missing values: error, drop or mean (that of the fit). Default: mean if the model "
        "was fitted with it, else error.",
    ),
]
Delimiter = Annotated[
    str | None,
    input_option(
        "--delimiter",
        callback=parse_delimiter,
        metavar="CHAR",
        help="Delimiter of text files. Default: detected.",
    ),
]
Encoding = Annotated[
    str | None,
    input_option("--encoding", metavar="NAME", help="Encoding of text files. Default: detected."),
]
Header = Annotated[
    bool | None,
    input_option(
        "--header/--no-header",
        metavar="",
        help="Whether the first line has column names. Default: yes, unless it has only numbers "
        "and empty cells.",
        show_default=False,
    ),
]
SourceColumn = Annotated[
    str | None,
    input_option(
        "--source-column",
        metavar="NAME",
        help="Add a column of this name with the file of each row.",
    ),
]

# --- clustering -----------------------------------------------------------------------------------

K = Annotated[
    str,
    method_option(
        "--k",
        "-k",
        callback=check_k,
        metavar="K",
        help="Number of clusters, a range to choose from (2:20), or auto.",
    ),
]
KRange = Annotated[
    str,
    method_option(
        "--k",
        "-k",
        callback=check_k,
        metavar="LOW:HIGH",
        help="Numbers to compare, like 2:20. auto: 2 to the square root of the number of rows.",
    ),
]
Method = Annotated[
    MethodName,
    method_option(
        "--method", "-m", metavar="NAME", help="kmeans, mini-batch, spherical, kernel or medoids."
    ),
]
Seed = Annotated[
    int,
    method_option(
        "--seed", min=0, metavar="N", help="The same seed gives bit-for-bit the same result."
    ),
]
Threads = Annotated[
    int | None,
    method_option(
        "--threads",
        "-t",
        min=1,
        max=4096,
        metavar="N",
        help="Default: all cores. The result does not depend on it.",
    ),
]
Halt = Annotated[
    str | None,
    method_option(
        "--halt",
        callback=check_halt,
        metavar="RULE",
        help="When to stop, like 'RelDecrease(1e-4) | Deadline(60)'.",
    ),
]
NInit = Annotated[
    int | None,
    method_option("--n-init", min=1, metavar="N", help="Number of starts; the best fit is kept."),
]
MaxIter = Annotated[
    int | None,
    method_option("--max-iter", min=1, metavar="N", help="Maximum number of iterations per start."),
]
Kernel = Annotated[
    str | None,
    method_option(
        "--kernel",
        callback=check_kernel,
        metavar="NAME",
        help="For --method kernel: rbf (default), laplacian, polynomial, …",
    ),
]
Gamma = Annotated[
    float | None,
    method_option(
        "--gamma",
        min=0.0,
        metavar="X",
        help="Kernel coefficient. Default: from the variance of the data.",
    ),
]
Metric = Annotated[
    str | None,
    method_option(
        "--metric",
        callback=check_metric,
        metavar="NAME",
        help="For --method medoids: euclidean (default), manhattan, cosine, …",
    ),
]
ZeroRows = Annotated[
    ZeroRowsPolicy | None,
    method_option(
        "--zero-rows",
        metavar="HOW",
        help="For --method spherical: rows of zeros are an error (default), get the label -1 "
        "(drop), or get a cluster of their own (separate).",
    ),
]

# --- output ---------------------------------------------------------------------------------------

LabelsOut = Annotated[
    str | None,
    output_option(
        "--labels",
        "-o",
        metavar="OUT",
        help="Write a copy of the data with a column 'cluster'; the suffix sets the format.",
    ),
]
OnlyLabels = Annotated[bool, flag("--only-labels", help="Write only ids and clusters, no copy.")]
ModelOut = Annotated[
    Path | None,
    output_option(
        "--model", metavar="OUT", help="Write the model, for predict, inspect and report."
    ),
]
ReportOut = Annotated[
    Path | None,
    output_option("--report", metavar="OUT.html", help="Write a report as one HTML file."),
]
ModelIn = Annotated[
    Path,
    typer.Option(
        "--model", metavar="MODEL", help="A model file written by fit.", show_default=False
    ),
]
Json = Annotated[bool, flag("--json", help="Print one JSON object instead of text.")]
Strict = Annotated[bool, flag("--strict", help="Exit with code 4 if a limit ended the fit.")]
Force = Annotated[bool, flag("--force", "-f", help="Overwrite existing files.")]
Quiet = Annotated[bool, flag("--quiet", "-q", help="Print errors only.")]
Debug = Annotated[bool, flag("--debug", help="Show the traceback of an error.")]

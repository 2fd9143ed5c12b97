"""The options that several commands share, each defined once."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from partita.cli.requests import check_halt, check_k, check_kernel, check_metric, parse_delimiter

reading = partial(typer.Option, rich_help_panel="Input")
clustering = partial(typer.Option, rich_help_panel="Clustering")
writing = partial(typer.Option, rich_help_panel="Output")
flag = partial(writing, metavar="")  # takes no value


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
    ),
]

# --- input ----------------------------------------------------------------------------------------

Columns = Annotated[
    list[str] | None,
    reading("--columns", "-c", metavar="A,B", help="Features. Default: all numeric columns."),
]
Exclude = Annotated[
    list[str] | None, reading("--exclude", "-x", metavar="A,B", help="Columns to leave out.")
]
Id = Annotated[str | None, reading("--id", metavar="NAME", help="Column with names of the rows.")]
Weight = Annotated[
    str | None, reading("--weight", "-w", metavar="NAME", help="Column with weights of the rows.")
]
Scale = Annotated[
    ScaleName,
    reading(
        "--scale",
        "-s",
        metavar="HOW",
        help="none, standard (mean and standard deviation) or robust (median and interquartile "
        "range).",
    ),
]
Missing = Annotated[
    MissingPolicy,
    reading(
        "--missing",
        metavar="HOW",
        help="Missing values: stop (error), leave the row out (drop), or use the column mean "
        "(mean).",
    ),
]
MissingAsFitted = Annotated[
    MissingPolicy | None,
    reading(
        "--missing",
        metavar="HOW",
        help="Missing values: error, drop or mean (that of the fit). Default: mean if the model "
        "was fitted with it, else error.",
    ),
]
Delimiter = Annotated[
    str | None,
    reading(
        "--delimiter",
        callback=parse_delimiter,
        metavar="CHAR",
        help="Delimiter of text files. Default: detected.",
    ),
]
Encoding = Annotated[
    str | None,
    reading("--encoding", metavar="NAME", help="Encoding of text files. Default: detected."),
]
Header = Annotated[
    bool | None,
    reading(
        "--header/--no-header",
        metavar="",
        help="Whether the first line has column names. Default: yes, unless it has only numbers "
        "and empty cells.",
    ),
]
SourceColumn = Annotated[
    str | None,
    reading("--source-column", metavar="NAME", help="Add a column with the file of each row."),
]

# --- clustering -----------------------------------------------------------------------------------

count = partial(clustering, min=1, metavar="N")
K = Annotated[
    str,
    clustering(
        "--k",
        "-k",
        callback=check_k,
        metavar="K",
        help="Number of clusters, a range to choose from (2:20), or auto.",
    ),
]
KRange = Annotated[
    str,
    clustering(
        "--k",
        "-k",
        callback=check_k,
        metavar="LOW:HIGH",
        help="Numbers to compare, like 2:20. auto: 2 to the square root of the number of rows.",
    ),
]
Method = Annotated[
    MethodName, clustering("--method", "-m", metavar="NAME", help=f"{', '.join(MethodName)}.")
]
Seed = Annotated[
    int, count("--seed", min=0, help="The same seed gives bit-for-bit the same result.")
]
Threads = Annotated[
    int | None,
    count("--threads", "-t", max=4096, help="Default: all cores. No effect on the result."),
]
Halt = Annotated[
    str | None,
    clustering(
        "--halt",
        callback=check_halt,
        metavar="RULE",
        help="When to stop, like 'RelDecrease(1e-4) | Deadline(60)'.",
    ),
]
NInit = Annotated[int | None, count("--n-init", help="Number of starts; the best fit is kept.")]
MaxIter = Annotated[int | None, count("--max-iter", help="Maximum number of iterations per start.")]
Kernel = Annotated[
    str | None,
    clustering(
        "--kernel",
        callback=check_kernel,
        metavar="NAME",
        help="For --method kernel: rbf (default), laplacian, polynomial, …",
    ),
]
Gamma = Annotated[
    float | None,
    clustering("--gamma", min=0.0, metavar="X", help="Of the kernel. Default: from the variance."),
]
Metric = Annotated[
    str | None,
    clustering(
        "--metric",
        callback=check_metric,
        metavar="NAME",
        help="For --method medoids: euclidean (default), manhattan, cosine, …",
    ),
]
ZeroRows = Annotated[
    ZeroRowsPolicy | None,
    clustering(
        "--zero-rows",
        metavar="HOW",
        help="For --method spherical: rows of zeros are an error (default), get the label -1 "
        "(drop), or get a cluster of their own (separate).",
    ),
]

# --- output ---------------------------------------------------------------------------------------

LabelsOut = Annotated[
    str | None,
    writing(
        "--labels",
        "-o",
        metavar="OUT",
        help="Write a copy of the data with a column 'cluster'; the suffix sets the format.",
    ),
]
OnlyLabels = Annotated[bool, flag("--only-labels", help="Write only ids and clusters, no copy.")]
ModelOut = Annotated[
    Path | None,
    writing("--model", metavar="OUT", help="Write the model, for predict, inspect and report."),
]
ReportOut = Annotated[
    Path | None, writing("--report", metavar="OUT.html", help="Write a report as one HTML file.")
]
ModelIn = Annotated[Path, typer.Option("--model", metavar="MODEL", help="Model written by fit.")]
Json = Annotated[bool, flag("--json", help="Print one JSON object instead of text.")]
Strict = Annotated[bool, flag("--strict", help="Exit with code 4 if a limit ended the fit.")]
Force = Annotated[bool, flag("--force", "-f", help="Overwrite existing files.")]
Quiet = Annotated[bool, flag("--quiet", "-q", help="Print errors only.")]
Debug = Annotated[bool, flag("--debug", help="Show the traceback of an error.")]

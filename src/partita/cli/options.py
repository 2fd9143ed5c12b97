"""The options that several commands share, each written once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from partita.cli.asking import delimiter_option, halt_option

INPUT, METHOD, OUTPUT = "What is read", "How it is clustered", "What is written"


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
    str,
    typer.Argument(
        metavar="DATA",
        help="A file (CSV, TSV, Parquet, Feather, .npy, .npz; also packed, like .csv.gz), a folder "
        "or a pattern like 'part-*.csv' of such files, or - for standard input.",
        show_default=False,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        "-c",
        metavar="A,B",
        help="The features, separated by commas; all columns of numbers, if not given.",
        show_default=False,
        rich_help_panel=INPUT,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        "-x",
        metavar="A,B",
        help="Columns that are not features, separated by commas.",
        show_default=False,
        rich_help_panel=INPUT,
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="NAME",
        help="The column that says what rows are called.",
        rich_help_panel=INPUT,
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        "--weight",
        "-w",
        metavar="NAME",
        help="The column that says how often rows count.",
        rich_help_panel=INPUT,
    ),
]
ScaleBy = Annotated[
    Scale,
    typer.Option(
        "--scale",
        "-s",
        metavar="HOW",
        help="none; standard: by mean and deviation; robust: by median and middle half.",
        rich_help_panel=INPUT,
    ),
]
MissingBy = Annotated[
    Missing,
    typer.Option(
        "--missing",
        metavar="HOW",
        help="Where there is no value: stop (error), leave the row out (drop), or take the mean of "
        "the column (mean).",
        rich_help_panel=INPUT,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        callback=delimiter_option,
        metavar="SIGN",
        help="Of text, if it is not to be detected.",
        rich_help_panel=INPUT,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Of text, if it is not to be detected.",
        rich_help_panel=INPUT,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        metavar="",
        help="Whether the first line holds names; if not given, it does unless it is all numbers.",
        show_default=False,
        rich_help_panel=INPUT,
    ),
]
SourceColumn = Annotated[
    str | None,
    typer.Option(
        "--source-column",
        metavar="NAME",
        help="Add a column of this name that says which file a row is from.",
        rich_help_panel=INPUT,
    ),
]
MethodBy = Annotated[
    Method,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help="kmeans, mini-batch, spherical, kernel or medoids.",
        rich_help_panel=METHOD,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        min=0,
        metavar="N",
        help="The same seed gives the same result, to the last bit.",
        rich_help_panel=METHOD,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        "-t",
        min=1,
        max=4096,
        metavar="N",
        help="All cores, if not given. They change the time only.",
        show_default=False,
        rich_help_panel=METHOD,
    ),
]
HaltBy = Annotated[
    str | None,
    typer.Option(
        "--halt",
        callback=halt_option,
        metavar="RULE",
        help="When to stop, like 'RelDecrease(1e-4) | Deadline(60)'.",
        rich_help_panel=METHOD,
    ),
]
NInit = Annotated[
    int | None,
    typer.Option(
        "--n-init",
        min=1,
        metavar="N",
        help="How many starts, of which the best is kept.",
        show_default=False,
        rich_help_panel=METHOD,
    ),
]
MaxIter = Annotated[
    int | None,
    typer.Option(
        "--max-iter",
        min=1,
        metavar="N",
        help="The most iterations of a run.",
        show_default=False,
        rich_help_panel=METHOD,
    ),
]
Kernel = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="NAME",
        help="Of --method kernel: rbf (if not given), laplacian, polynomial, …",
        show_default=False,
        rich_help_panel=METHOD,
    ),
]
Gamma = Annotated[
    float | None,
    typer.Option(
        "--gamma",
        min=0.0,
        metavar="X",
        help="Of the kernel; by the spread of the data, if not given.",
        show_default=False,
        rich_help_panel=METHOD,
    ),
]
Metric = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="Of --method medoids: euclidean (if not given), manhattan, cosine, …",
        show_default=False,
        rich_help_panel=METHOD,
    ),
]
ZeroRowsBy = Annotated[
    ZeroRows | None,
    typer.Option(
        "--zero-rows",
        metavar="HOW",
        help="Of --method spherical: rows of zeros stop it (error, if not given), get the label "
        "-1 (drop), or a cluster of their own (separate).",
        show_default=False,
        rich_help_panel=METHOD,
    ),
]
LabelsTo = Annotated[
    str | None,
    typer.Option(
        "--labels",
        "-o",
        metavar="OUT",
        help="A copy of the data with a column 'cluster'; the end of the name says the format.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
OnlyLabels = Annotated[
    bool,
    typer.Option(
        "--only-labels",
        metavar="",
        help="Not a copy: only ids and clusters.",
        rich_help_panel=OUTPUT,
    ),
]
ModelTo = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="OUT",
        help="The model, for predict, inspect and report.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
ReportTo = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="OUT.html",
        help="A page to look at and to send, in one file.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
ModelFrom = Annotated[
    Path,
    typer.Option("--model", metavar="MODEL", help="The file that fit wrote.", show_default=False),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        metavar="",
        help="Print one object for programs instead of text.",
        rich_help_panel=OUTPUT,
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force", "-f", metavar="", help="Replace files that exist.", rich_help_panel=OUTPUT
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", metavar="", help="Say errors only.", rich_help_panel=OUTPUT)
]
Debug = Annotated[
    bool,
    typer.Option("--debug", metavar="", help="Show where an error arose.", rich_help_panel=OUTPUT),
]

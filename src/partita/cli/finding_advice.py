"""Advice on the findings of `partita.diagnosis`, as options of the command line."""

from __future__ import annotations

from partita.cli.error_handling import option_text
from partita.diagnosis import Finding

# by the name of the finding; a {} for each of its settings
ADVICE = {
    "not-converged": "Let the search run longer: increase --max-iter, or the time limit in --halt. "
    "If a tolerance ended it, choose a stricter --halt, such as SamePartition.",
    "scale": "If the columns have different units, scale them: --scale standard, or "
    "--scale robust if there are outliers.",
    "constant-features": "Nothing has to be done; --exclude leaves such columns out.",
    "correlated-features": "Keep one of them; --exclude leaves columns out.",
    "equal-rows": "{} describes them. If they should differ, look at the columns that were used: "
    "`partita check` lists them.",
    "few-distinct-rows": "Use {} at most, or count how often each row occurs instead.",
    "many-clusters": "Use fewer groups (`partita choose-k` recommends a number), or more rows.",
    "duplicates": "If copies have no meaning, keep one of each. If they do, keep one of each, put "
    "the number of copies in a column, and name it with --weight. Few distinct values may also "
    "mean categories: --method medoids --metric hamming suits them better.",
    "outliers": "Look at these rows: correct or remove them{medoids}.{robust}",
    "coincident-centers": "Use fewer groups: {} describes the data equally well.",
    "elongated-clusters": "Check whether a neighbour continues such a group. --scale standard "
    "may make groups rounder; or use more groups (--k) and read neighbours as one.",
    "empty-clusters": "Use fewer groups: {} gives the same result.",
    "near-faces": "Treat the groups of these rows with caution. `partita choose-k` shows whether "
    "there are groups at all, and how many.",
    "split-groups": "Try fewer groups (`partita choose-k` recommends a number). If the number is "
    "given, read such a pair as one group.",
    "unequal-clusters": "Look at the map in the report. Use more groups (--k), and "
    "read neighbours that belong together as one.",
    "not-convex": "Look at the map in the report, and try --method kernel "
    "--kernel nearest_neighbors, which follows neighbours from row to row.",
    "unstable": "Let `partita choose-k` find a number of groups that is stable. More starts "
    "({}) depend less on chance. If no number is stable, the data may have no groups.",
    "local-minimum": "Fit again with {}.",
    "missing-values": "Read means of columns that are often missing with care: they are those of "
    "the rows that have a value. --missing auto fills in medians instead.",
}


# if the rows were scaled
ADVICE_IF_SCALED = {
    "scale": "Look for outliers and long tails in these columns: correct the values, take "
    "logarithms, or leave the columns out (--exclude).",
    "elongated-clusters": "Check whether a neighbour continues such a group; or use more "
    "groups (--k) and read neighbours as one.",
}


def advice_for(finding: Finding, scaling: str = "", *, squared: bool = True) -> str:
    """Word the advice of a finding as options; empty if there is no better than its own.

    `scaling` is what the rows were scaled by, empty if by nothing; `squared` is whether the
    objective adds up squares.
    """
    advice = ADVICE | (ADVICE_IF_SCALED if scaling else {})
    medoids = ", or use --method medoids, which far rows distort less" if squared else ""
    robust = " With --scale robust they do not set the scale." if scaling == "standard" else ""
    settings = map(option_text, finding.settings)
    return advice.get(finding.name, "").format(*settings, medoids=medoids, robust=robust)

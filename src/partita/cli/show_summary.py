"""The answer in a terminal: sentence, grade, groups, what to be careful about, figures."""

from __future__ import annotations

import re
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from partita._common.number_text import count_text, share_text
from partita._common.text import isolated, one_line, one_sentence, plural
from partita.cli.console import MIN_WIDTH, NO_BREAK, wrapped
from partita.cli.paragraphs import WHOLE, encodable, print_item, unbroken
from partita.cli.show_certificate import gap_text

MAX_TRAITS = 3  # of a group
MAX_CATEGORIES = 2  # of a group
MAX_FINDINGS = 6
MAX_GROUPS = 12  # as many as the report has cards
MAX_GROUPS_IN_FULL = 8  # more have one line of traits each
MAX_SOURCE = 60  # characters of the name of the data
MAX_TEXT = 500  # characters of a finding
# parts of a text in which no line ends
NUMBERS = re.compile(r"\([^()]*\)")  # of a trait
COMMANDS = re.compile(r"`[^`]+`|--[\w-]+ \d+")  # of advice
GRADE_STYLES = {
    "clear": "green",
    "mostly": "green",
    "overlapping": "yellow",
    "blurred": "yellow",
    "none": "yellow",
}
GOOD_GRADES = ("clear", "mostly")


def print_summary(summary: Any, out: Console) -> None:
    """Print the answer, its grade, the groups, what to be careful about, and the figures."""
    out.print()
    print_item(out, f"{summary.sentence}.", 0, "bold", hang=0)
    if summary.grade_meaning:
        grade = f"{summary.grade_meaning} {summary.grade_reason}"
        print_item(out, grade, 0, GRADE_STYLES.get(summary.grade, ""), hang=0)
    out.print()
    if summary.n_clusters > 1 and summary.grade != "none":
        _print_groups(summary, out)
        out.print()
    _print_findings(out, summary.findings, summary.grade)
    out.print()
    for line in _figures(summary):
        print_item(out, line, 0, "dim")


def _figures(summary: Any) -> list[str]:
    """Return how the groups were found: the data, the choice of K, the fit, why it stopped."""
    scaled = "" if summary.scale == "none" else f", scaled ({summary.scale})"
    rows, features = count_text(summary.rows, "row"), count_text(summary.features, "feature")
    lines = [f"{one_line(summary.source, MAX_SOURCE)}: {rows}, {features}{scaled}."]
    if summary.rows_described < summary.rows:
        sample = f"a sample of {count_text(summary.rows_described, 'row')}"
        by = f"K is chosen and groups are described by {sample}"
        by = by if summary.verdict else f"Groups are described by {sample}"
        lines.append(f"{by}; sizes and J are those of all rows.")
    if summary.verdict:
        lines.append(one_sentence(summary.verdict, MAX_TEXT))
    parts = []
    if summary.objective is not None:
        parts.append(f"J{NO_BREAK}={NO_BREAK}{summary.objective:.6g}")
    if summary.explained_variance is not None and summary.n_clusters > 1:
        parts.append(f"{100 * summary.explained_variance:.1f}{NO_BREAK}% {summary.explained_is}")
    if summary.silhouette is not None:
        parts.append(f"silhouette {summary.silhouette:.3f}")
    lines.append(f"{summary.method}{': ' * bool(parts)}{', '.join(parts)}.")
    lines += [f"{name}: {text}." for name, text in summary.facts]
    if summary.certified is not None:
        lines.append(f"J is {gap_text(summary.certified)}.")
    if summary.iterations is None:
        return lines
    starts = f"The best of {summary.starts} starts s" if (summary.starts or 1) > 1 else "S"
    if summary.from_sweep:  # which had settled already: an iteration may be all that is left
        starts = "The fit began with the centers that the choice of K found, and s"
    iterations = plural(summary.iterations, "iteration")
    return [*lines, f"{starts}topped after {iterations}: {summary.stopped_by}."]


def _print_groups(summary: Any, out: Console) -> None:
    """Print the largest groups: number, name, share and rows, then what sets them apart."""
    from partita.description.sentences import rows_text

    groups = sorted(summary.clusters, key=lambda group: -group.share)
    shown, is_short = groups[:MAX_GROUPS], len(groups) > MAX_GROUPS_IN_FULL
    noun = summary.noun
    shares = _right_aligned([encodable(share_text(group.share), out) for group in shown])
    rows = _right_aligned([encodable(rows_text(group.size, noun), out) for group in shown])
    indent = 2 + max(len(str(group.number)) for group in shown)
    names = [isolated(group.name) for group in shown]
    sizes = [
        f"  {share}  {count}".replace(NO_BREAK, " ")
        for share, count in zip(shares, rows, strict=True)
    ]
    room = max(MIN_WIDTH, out.width - indent - cell_len(sizes[0]))
    width = min(room, max(map(cell_len, names)))
    for group, name, size in zip(shown, names, sizes, strict=True):
        _print_name(out, f"{group.number:>{indent - 2}}  ", name, size, width)
        print_item(out, _trait_text(group, out, indent, is_short), indent, hang=0)
    if len(groups) > len(shown):
        rest = plural(len(groups) - len(shown), "more group")
        print_item(out, f"and {rest}: see --report or --json", indent, hang=0)
    if summary.left_out:
        print_item(out, f"{summary.left_out}; their label is -1", 0, hang=2)
    if any(group.weight != group.size for group in groups):
        print_item(out, "(Shares are of the weight, not of the rows.)", 0, "dim", hang=1)


def _right_aligned(texts: list[str]) -> list[str]:
    width = max(map(cell_len, texts))
    return [" " * (width - cell_len(text)) + text for text in texts]


def _print_name(out: Console, number: str, name: str, size: str, width: int) -> None:
    """Print the name of a group in a column of that width, and its size beside or below it."""
    first, *rest = wrapped(name, width, hang=0)
    line = Text(number).append(first, style="bold")
    padding = width - cell_len(first)
    fits = padding >= 0 and len(number) + width + cell_len(size) <= out.width
    out.print(line.append(" " * padding + size) if fits else line, soft_wrap=True)
    for part in rest:
        out.print(Text(" " * len(number)).append(part, style="bold"), soft_wrap=True)
    if not fits:
        out.print(" " * len(number) + size.strip(), soft_wrap=True)


def _trait_text(group: Any, out: Console, indent: int, is_short: bool) -> str:
    """Return what sets a group apart: traits that no line breaks, or as many as one line holds."""
    traits = [trait.words for trait in group.traits[:MAX_TRAITS]] or [_remark(group)]
    traits += [trait.words for trait in group.categories[:MAX_CATEGORIES]]
    traits = [encodable(trait, out) for trait in traits if trait]
    room = max(MIN_WIDTH, out.width) - indent
    while is_short and len(traits) > 1 and cell_len(", ".join(traits)) > room:
        traits.pop()
    items = [*(f"{trait}," for trait in traits[:-1]), *traits[-1:]]
    return " ".join(unbroken(item, WHOLE if cell_len(item) <= room else NUMBERS) for item in items)


def _remark(group: Any) -> str:
    """Return what is said of a group that no feature sets apart."""
    remark = str(group.remark).rstrip(".")
    remark = remark[:1].lower() + remark[1:]
    return f"{remark}; {group.likeness}" if remark and group.likeness else remark


def _print_findings(out: Console, findings: Any, grade: str) -> None:
    if not findings:
        is_good = grade in GOOD_GRADES
        out.print("No problems were found." if is_good else "The checks found no other problem.")
        return
    out.print("Be careful:", style="bold")
    for finding in findings[:MAX_FINDINGS]:
        advice = one_sentence(finding["option"] or finding["advice"], MAX_TEXT)
        is_warning = finding["severity"] == "warning"
        mark, style = ("!", "bold yellow") if is_warning else ("-", "bold")
        print_item(out, f"{mark} {one_sentence(finding['what'], MAX_TEXT)}", 2, style)
        print_item(out, one_sentence(finding["meaning"], MAX_TEXT), 4, hang=0)
        print_item(out, f"→ {unbroken(advice, COMMANDS)}", 4, "cyan")
        print_item(out, one_sentence(finding["evidence"], MAX_TEXT), 4, "dim", hang=0)
    rest = len(findings) - MAX_FINDINGS
    if rest > 0:
        out.print(f"  and {rest} more: see --report or --json")

"""The section about another model of the same rows: which rows change their group."""

from __future__ import annotations

from dataclasses import dataclass

from partita._common.number_text import count_text, number_text, percent_text
from partita.chart_layout.captions import join_sentences
from partita.report.comparisons.flow_drawing import MAX_DRAWN, draw_flows
from partita.report.comparisons.model_flows import NO_GROUP
from partita.report.comparisons.model_pair import NO_GROUP_NAME, ModelPair
from partita.report.comparisons.named_groups import count_rows, quoted_group, quoted_name
from partita.report.page_text import safe_line
from partita.report.report_input import MIN_TOLD_ROWS, ReportInput

_MAX_TITLE = 80  # characters
_MAX_UNMATCHED = 3  # groups without a counterpart that are named
_MAX_MOVES = 50  # in the table
_LIKENESS = (  # by the share of rows that change their group, at most
    (0.0, "The same groups"),
    (0.05, "Nearly the same groups"),
    (0.2, "Mostly the same groups"),
    (0.5, "Partly the same groups"),
    (1.0, "Different groups"),
)


@dataclass(frozen=True, slots=True)
class Move:
    """Rows that change their group, in the words of the page."""

    number: int  # of the group here; NO_GROUP for none
    here: str
    there: str
    rows: str
    share: str


@dataclass(frozen=True, slots=True)
class ComparedModels:
    """The contents of the section."""

    title: str  # of the other model
    headline: str  # HTML
    lead: str = ""  # HTML
    drawing: str = ""
    note: str = ""
    moves: tuple[Move, ...] = ()  # the largest first
    moves_note: str = ""
    agreement: str = ""


def compared_models(data: ReportInput) -> ComparedModels | None:
    """Return the section; None without another model."""
    other = data.fitted.other
    if other is None:
        return None
    pair, title = ModelPair.of(data, other), safe_line(other.title, _MAX_TITLE)
    if pair is None:
        return ComparedModels(title, "Too many groups to compare")
    return ComparedModels(
        title=title,
        headline=_headline(pair),
        lead=" ".join([*_about_moves(pair), *_about_unmatched(pair)]),
        drawing=draw_flows(pair, f"Groups here, and where their rows are in {title}"),
        note=_note(pair),
        moves=tuple(
            Move(
                number=move.left,
                here=pair.name_here(move.left),
                there=pair.name_there(move.right),
                rows=number_text(move.rows),
                share=pair.share_text(move.weight),
            )
            for move in pair.shown_moves[:_MAX_MOVES]
        ),
        moves_note=_moves_note(pair),
        agreement=f"Adjusted Rand index: {pair.flows.agreement:.3f} (1: the same groups; 0: as "
        "alike as by chance). Groups are matched so that as many rows as possible keep theirs.",
    )


def _headline(pair: ModelPair) -> str:
    flows, data = pair.flows, pair.data
    share, rows = flows.moved_share, count_rows(data, data.n)
    like = next((words for most, words in _LIKENESS if share <= most), _LIKENESS[-1][1])
    if not flows.moved_rows:
        return f"{like}: {rows} {'is' if data.n == 1 else 'are'} divided as by the other model"
    verb = "is" if flows.moved_rows == 1 else "are"
    of_weight = "" if data.optional_weight is None else " of the weight"
    return (
        f"{like}: {number_text(flows.moved_rows)} of {rows} ({percent_text(share)}{of_weight}) "
        f"{verb} in another group there"
    )


def _about_moves(pair: ModelPair) -> list[str]:
    if not pair.shown_moves:
        return []
    first = pair.shown_moves[0]
    here, there = _here(pair, first.left), _there(pair, first.right)
    return [f"The largest move is {count_rows(pair.data, first.rows)} from {here} to {there}."]


def _about_unmatched(pair: ModelPair) -> list[str]:
    here, there = pair.flows.unmatched
    sides = ([_here(pair, j) for j in here], "there"), ([_there(pair, j) for j in there], "here")
    return [
        f"{_enumerated(names)} {'has' if len(names) == 1 else 'have'} no counterpart {where}."
        for names, where in sides
        if names
    ]


def _enumerated(names: list[str]) -> str:
    """List names with "and" before the last; the rest of a long list is counted."""
    shown, rest = names[:_MAX_UNMATCHED], len(names) - _MAX_UNMATCHED
    if rest > 0:
        shown.append(count_text(rest, "more group"))
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _here(pair: ModelPair, j: int) -> str:
    return NO_GROUP_NAME if j == NO_GROUP else quoted_group(pair.data, j)


def _there(pair: ModelPair, j: int) -> str:
    return NO_GROUP_NAME if j == NO_GROUP else quoted_name(pair.names[j])


def _note(pair: ModelPair) -> str:
    """Explain the picture."""
    most = max(int((weight > 0).sum()) for weight in pair.weights)
    return join_sentences(
        [
            "a ribbon is as wide as its rows are many; it has the colour of the group here",
            most > MAX_DRAWN and f"only the {MAX_DRAWN} largest groups are drawn apart",
        ]
    )


def _moves_note(pair: ModelPair) -> str:
    """Count the moves that are not in the table."""
    shown = pair.shown_moves
    rest = shown[_MAX_MOVES:]
    hidden = pair.flows.moved_rows - sum(move.rows for move in shown)
    fewer = f"fewer than {MIN_TOLD_ROWS} rows"
    in_all = count_text(hidden, "row") if hidden >= MIN_TOLD_ROWS else fewer
    return join_sentences(
        [
            bool(rest)
            and f"{count_text(len(rest), 'smaller move')} of "
            f"{count_text(sum(move.rows for move in rest), 'row')} in all are not listed",
            hidden > 0 and f"moves of {fewer} each are not listed ({in_all} in all)",
        ]
    )

"""The section about another model of the same rows: which rows change their group."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.number_arrays import as_any_array
from partita._common.parameters import Got, must_be
from partita._common.text import one_line
from partita.chart_layout.captions import join_sentences
from partita.report import svg
from partita.report.flow_chart import FlowNode, FlowRibbon, flow_chart
from partita.report.model_flows import (
    NO_GROUP,
    Flow,
    ModelFlows,
    crossing_order,
    largest_groups,
)
from partita.report.named_groups import count_rows, group_name, quoted_group, quoted_name
from partita.report.page_text import count_text, number_text, percent_text, safe_line
from partita.report.report_input import ReportInput

MAX_NAME = 60  # characters of a group of the other model
_MAX_TITLE = 80  # characters
_MAX_DRAWN = 12  # groups at each side; the others are one
_MAX_UNMATCHED = 3  # groups without a counterpart that are named
_MAX_MOVES = 50  # in the table
_MAX_CELLS = 4_000_000  # pairs of groups that are counted
_MIN_ROWS_SHOWN = 5  # of a move, in a report without single rows
_LIKENESS = (  # by the share of rows that change their group
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
    lead: str  # HTML
    drawing: str
    note: str
    moves: list[Move]  # the largest first
    moves_note: str
    agreement: str


def compared_models(data: ReportInput) -> ComparedModels | None:
    """Return the section; None without another model."""
    if data.fitted.other is None:
        return None
    pair = _ModelPair.of(data)
    title = safe_line(data.fitted.other.title, _MAX_TITLE)
    if pair is None:
        return ComparedModels(title, "Too many groups to compare", "", "", "", [], "", "")
    moves, moves_note = pair.moves()
    agreement = (
        f"Adjusted Rand index: {pair.flows.agreement:.3f} (1: the same groups; 0: as alike as by "
        "chance). Groups are matched so that as many rows as possible keep their group."
    )
    return ComparedModels(
        title=title,
        headline=pair.headline(),
        lead=pair.lead(),
        drawing=pair.drawing(title),
        note=pair.note(),
        moves=moves,
        moves_note=moves_note,
        agreement=agreement,
    )


def other_names(names: Any, k: int) -> tuple[str, ...]:
    """Return a name for each of k groups of another model; "Group 3" where none is given."""
    given = [one_line(name or "", MAX_NAME) for name in list(names or ())[:k]]
    given += [""] * (k - len(given))
    return tuple(name or f"Group {j}" for j, name in enumerate(given))


def _checked_labels(labels: Any, n: int) -> Ints:
    wanted = f"{n} integers, one for each row"
    numbers = as_any_array("other.labels", labels, wanted)
    if numbers.shape != (n,) or numbers.dtype.kind not in "iu":
        got = Got(f"shape {numbers.shape} and dtype {numbers.dtype}")
        raise must_be("other.labels", wanted, got)
    return numbers


@dataclass(frozen=True, slots=True, eq=False)
class _ModelPair:
    """The groups of the report, those of the other model, and the flow between them."""

    data: ReportInput
    flows: ModelFlows
    names: tuple[str, ...]  # of the other model's groups

    @classmethod
    def of(cls, data: ReportInput) -> _ModelPair | None:
        other = data.fitted.other
        labels = _checked_labels(other.labels, data.n)
        m = max(int(labels.max(initial=-1)) + 1, len(list(other.group_names or ())))
        if (data.k + 1) * (m + 1) > _MAX_CELLS:
            return None
        flows = ModelFlows.of(data.labels, labels, data.weight, (data.k, m))
        return cls(data, flows, other_names(other.group_names, m))

    def headline(self) -> str:
        flows, n = self.flows, self.data.n
        share = flows.moved_share
        like = next(words for most, words in _LIKENESS if share <= most + 1e-12)
        if not flows.moved_rows:
            return f"{like}: {count_rows(self.data, n)} are divided as by the other model"
        moved = f"{number_text(flows.moved_rows)} of {count_rows(self.data, n)}"
        verb = "is" if flows.moved_rows == 1 else "are"
        of_weight = "" if self.data.optional_weight is None else " of the weight"
        return f"{like}: {moved} ({percent_text(share)}{of_weight}) {verb} in another group there"

    def lead(self) -> str:
        here, there = self.flows.unmatched
        sentences = []
        shown = [move for move in self.flows.moves if self._is_shown(move)]
        if shown:
            first = shown[0]
            sentences.append(
                f"The largest move is {count_rows(self.data, first.rows)} from "
                f"{self._here(first.left)} to {self._there(first.right)}."
            )
        for groups, quote, where in (
            (here, self._here, "there"),
            (there, self._there, "here"),
        ):
            if groups:
                names = [quote(j) for j in groups[:_MAX_UNMATCHED]]
                if len(groups) > _MAX_UNMATCHED:
                    names.append(count_text(len(groups) - _MAX_UNMATCHED, "more group"))
                few = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
                ha = "has" if len(groups) == 1 else "have"
                sentences.append(f"{few} {ha} no counterpart {where}.")
        return " ".join(sentences)

    def _here(self, j: int) -> str:
        return "no group" if j == NO_GROUP else quoted_group(self.data, j)

    def _there(self, j: int) -> str:
        return "no group" if j == NO_GROUP else quoted_name(self.names[j])

    def _is_shown(self, flow: Flow) -> bool:
        return not self.data.fitted.no_rows or flow.rows >= _MIN_ROWS_SHOWN

    def _text(self, flow: Flow) -> tuple[str, str]:
        here = "no group" if flow.left == NO_GROUP else group_name(self.data, flow.left)
        there = "no group" if flow.right == NO_GROUP else self.names[flow.right]
        return here, there

    def _share(self, weight: float) -> str:
        total = float(self.flows.weight.sum())
        return percent_text(weight / total if total > 0 else 0.0)

    def moves(self) -> tuple[list[Move], str]:
        """Return the moves for the table, and a note on those that are not in it."""
        every = self.flows.moves
        shown = [move for move in every if self._is_shown(move)]
        hidden = sum(move.rows for move in every) - sum(move.rows for move in shown)
        listed = shown[:_MAX_MOVES]
        rest = sum(move.rows for move in shown[_MAX_MOVES:])
        fewer = f"fewer than {_MIN_ROWS_SHOWN} rows"
        amount = count_text(hidden, "row") if hidden >= _MIN_ROWS_SHOWN else fewer
        remarks = [
            rest > 0
            and f"{count_text(len(shown) - len(listed), 'smaller move')} of {number_text(rest)} "
            "rows in all are not listed",
            hidden > 0 and f"moves of {fewer} each are not listed ({amount} in all)",
        ]
        table = [
            Move(move.left, *self._text(move), number_text(move.rows), self._share(move.weight))
            for move in listed
        ]
        return table, join_sentences(remarks)

    def note(self) -> str:
        """Explain the picture."""
        k, m = (int((side > 0).sum()) for side in self._side_weights())
        return join_sentences(
            [
                "a ribbon is as wide as its rows are many; it has the colour of the group here",
                max(k, m) > _MAX_DRAWN and f"only the {_MAX_DRAWN} largest groups are drawn apart",
            ]
        )

    def _side_weights(self) -> tuple[Floats, Floats]:
        weight = self.flows.weight
        return weight[:-1].sum(axis=1), weight[:, :-1].sum(axis=0)

    def drawing(self, title: str) -> str:
        """Draw the flow from the groups here, the largest first, to those of the other model."""
        flows = self.flows
        by_side = self._side_weights()
        left, right = (list(largest_groups(weight, _MAX_DRAWN)) for weight in by_side)
        right = crossing_order(flows.weight, left, right)
        places = [_places(chosen, len(w)) for chosen, w in zip((left, right), by_side, strict=True)]
        counts: dict[tuple[int, int], list[float]] = {}
        for flow in (flow for flow in flows.flows if flow.weight > 0):
            ends = int(places[0][flow.left]), int(places[1][flow.right])
            count = counts.setdefault(ends, [0, 0.0])
            count[0] += flow.rows
            count[1] += flow.weight
        nodes = self._left_nodes(left), self._right_nodes(right)
        used = [sorted({ends[side] for ends in counts}) for side in range(2)]
        sides = [[nodes[side][i] for i in used[side]] for side in range(2)]
        ribbons = [
            FlowRibbon(
                (used[0].index(a), used[1].index(b)),
                weight,
                self._tooltip((left, right), (a, b), int(rows), weight),
            )
            for (a, b), (rows, weight) in counts.items()
        ]
        label = f"Groups here, and where their rows are in {title}"
        return flow_chart((sides[0], sides[1]), ribbons, label)

    def _left_nodes(self, drawn: list[int]) -> list[FlowNode]:
        weight = self._side_weights()[0]
        nodes = [
            FlowNode(
                f'{svg.chip(j)}<bdi data-name-of="{j}">{escape(group_name(self.data, j))}</bdi>',
                self._share(float(weight[j])),
                f"c{j % svg.N_COLORS}",
            )
            for j in drawn
        ]
        return nodes + self._last_nodes(weight, drawn, float(self.flows.weight[-1].sum()))

    def _right_nodes(self, drawn: list[int]) -> list[FlowNode]:
        weight, match = self._side_weights()[1], self.flows.match.tolist()
        partner = {other: j for j, other in enumerate(match) if other != NO_GROUP}
        nodes = [
            FlowNode(
                f"<bdi>{escape(self.names[j])}</bdi>",
                self._share(float(weight[j])),
                f"c{partner[j] % svg.N_COLORS}" if j in partner else "grey",
            )
            for j in drawn
        ]
        return nodes + self._last_nodes(weight, drawn, float(self.flows.weight[:, -1].sum()))

    def _last_nodes(self, weight: Floats, drawn: list[int], none: float) -> list[FlowNode]:
        """The nodes for all other groups, and for no group."""
        rest = np.delete(weight, drawn)
        others = f"{count_text(int((rest > 0).sum()), 'other group')}"
        return [
            FlowNode(others, self._share(float(rest.sum())), "grey"),
            FlowNode("no group", self._share(none), "grey"),
        ]

    def _tooltip(
        self, drawn: tuple[list[int], list[int]], ends: tuple[int, int], rows: int, weight: float
    ) -> str:
        if self.data.fitted.no_rows and rows < _MIN_ROWS_SHOWN:
            return ""
        names = []
        for side, place in enumerate(ends):
            known = len(drawn[side])
            if place >= known:
                names.append("other groups" if place == known else "no group")
            else:
                j = drawn[side][place]
                names.append(self.names[j] if side else group_name(self.data, j))
        return f"{names[0]} → {names[1]}: {count_text(rows, 'row')} ({self._share(weight)})"


def _places(drawn: list[int], k: int) -> Ints:
    """The position (k + 1,) of each group: those drawn, then all others, then no group."""
    places = np.full(k + 1, len(drawn))
    places[drawn] = np.arange(len(drawn))
    places[-1] = len(drawn) + 1
    return places

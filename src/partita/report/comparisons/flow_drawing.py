"""The groups of two models and their rows in common, as nodes and ribbons of a flow chart."""

from __future__ import annotations

from html import escape

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.number_text import count_text
from partita.report import svg
from partita.report.comparisons.flow_chart import FlowNode, FlowRibbon, flow_chart
from partita.report.comparisons.model_flows import NO_GROUP, crossing_order, largest_groups
from partita.report.comparisons.model_pair import NO_GROUP_NAME, ModelPair

MAX_DRAWN = 12  # groups at each side; the others are one node


def draw_flows(pair: ModelPair, label: str) -> str:
    """Draw the flow from the groups here, the largest first, to those of the other model."""
    weights = pair.weights
    left, right = (list(largest_groups(weight, MAX_DRAWN)) for weight in weights)
    right = crossing_order(pair.flows.weight, left, right)
    places = [_places(drawn, len(w)) for drawn, w in zip((left, right), weights, strict=True)]
    crossed: dict[tuple[int, int], tuple[int, float]] = {}
    for flow in (flow for flow in pair.flows.flows if flow.weight > 0):
        ends = int(places[0][flow.left]), int(places[1][flow.right])
        rows, weight = crossed.get(ends, (0, 0.0))
        crossed[ends] = rows + flow.rows, weight + flow.weight
    every = _nodes_here(pair, left), _nodes_there(pair, right)
    titles = _titles(pair, left, right)
    used = [sorted({ends[side] for ends in crossed}) for side in range(2)]
    nodes = [[every[side][place] for place in used[side]] for side in range(2)]
    ribbons = [
        FlowRibbon(
            (used[0].index(a), used[1].index(b)),
            weight,
            f"{titles[0][a]} → {titles[1][b]}: {count_text(rows, 'row')} "
            f"({pair.share_text(weight)})"
            if pair.is_shown(rows)
            else "",
        )
        for (a, b), (rows, weight) in crossed.items()
    ]
    return flow_chart((nodes[0], nodes[1]), ribbons, label)


def _places(drawn: list[int], k: int) -> Ints:
    """The position (k + 1,) of each group: those drawn, then all others, then no group."""
    places = np.full(k + 1, len(drawn))
    places[drawn] = np.arange(len(drawn))
    places[NO_GROUP] = len(drawn) + 1
    return places


def _titles(pair: ModelPair, left: list[int], right: list[int]) -> tuple[list[str], list[str]]:
    """The names of the nodes at both sides, for tooltips."""
    last = ["other groups", NO_GROUP_NAME]
    return [*map(pair.name_here, left), *last], [*map(pair.name_there, right), *last]


def _nodes_here(pair: ModelPair, drawn: list[int]) -> list[FlowNode]:
    weight = pair.weights[0]
    nodes = [
        FlowNode(
            f'{svg.chip(j)}<bdi data-name-of="{j}">{escape(pair.name_here(j))}</bdi>',
            pair.share_text(float(weight[j])),
            f"c{j % svg.N_COLORS}",
        )
        for j in drawn
    ]
    return nodes + _last_nodes(pair, weight, drawn, float(pair.flows.weight[-1].sum()))


def _nodes_there(pair: ModelPair, drawn: list[int]) -> list[FlowNode]:
    """The groups of the other model, in the colours of those that they match."""
    weight = pair.weights[1]
    partner = {int(other): j for j, other in enumerate(pair.flows.match) if other != NO_GROUP}
    nodes = [
        FlowNode(
            f"<bdi>{escape(pair.name_there(j))}</bdi>",
            pair.share_text(float(weight[j])),
            f"c{partner[j] % svg.N_COLORS}" if j in partner else "grey",
        )
        for j in drawn
    ]
    return nodes + _last_nodes(pair, weight, drawn, float(pair.flows.weight[:, -1].sum()))


def _last_nodes(pair: ModelPair, weight: Floats, drawn: list[int], none: float) -> list[FlowNode]:
    """The nodes for all other groups, and for no group."""
    rest = np.delete(weight, drawn)
    others = count_text(int((rest > 0).sum()), "other group")
    return [
        FlowNode(others, pair.share_text(float(rest.sum())), "grey"),
        FlowNode(NO_GROUP_NAME, pair.share_text(none), "grey"),
    ]

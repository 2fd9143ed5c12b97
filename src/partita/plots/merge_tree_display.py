"""`MergeTreeDisplay`: which clusters would merge first, and at what price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita._common.parameters import check_integers
from partita._common.text import format_number
from partita.chart_layout import model_rows
from partita.chart_layout.captions import join_sentences
from partita.chart_layout.merge_tree_layout import MergeTreeLayout, merge_tree_layout
from partita.estimators.fitted_models import label_rows, unwrap_pipeline
from partita.estimators.table_rows import takes_categories
from partita.estimators.validation import check_weights
from partita.merging.tree import merge_tree
from partita.plots import style
from partita.plots.display import Display, FigureAxes
from partita.plots.style import matplotlib
from partita.plots.text_placement import place_labels

_MAX_UPRIGHT_LEAVES = 14  # beyond it, the names of leaves are turned
_MAX_PRICES_WRITTEN = 6  # of the most expensive merges
_LEAF_WIDTH_POINTS = 330  # of all leaves together
_MIN_FONT_POINTS = 4.0


@dataclass(eq=False, repr=False, kw_only=True)
class MergeTreeDisplay(Display):
    """The clusters of a fit, merged pair by pair; the height is what a merge adds to J.

    Dashed lines cut the tree into fewer clusters: where the price of the next merge rises most
    (as a ratio), or into the numbers given as `cuts`.

    Examples
    --------
    >>> from partita import KMeans
    >>> from partita.plots import MergeTreeDisplay
    >>> model = KMeans(3, random_state=0).fit([[0.0], [1.0], [5.0], [6.0], [20.0]])
    >>> display = MergeTreeDisplay.from_estimator(model)
    >>> display.linkage[:, 2].round(1).tolist(), display.cuts
    ([25.0, 231.2], (2,))
    """

    linkage: Floats  # (k − 1, 4), in SciPy's form
    weight: Floats  # (k,) of the clusters
    cuts: tuple[int, ...]  # numbers of clusters

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        sample_weight: Any = None,
        *,
        cuts: Sequence[int] | None = None,
    ) -> MergeTreeDisplay:
        """Merge the clusters of a fitted model; see `partita.merge_tree` for when it needs X."""
        model, X, _ = unwrap_pipeline(model, X)
        tree = merge_tree(model, X, sample_weight)
        k = len(tree.linkage) + 1
        if cuts is None:
            cuts = _steepest_cut(tree.linkage[:, 2])
        else:
            cuts = check_integers("cuts", cuts, 1, k - 1)
        return cls(
            title=f"{model_rows.title_text(model)}: what merging them would add to J",
            caption=join_sentences(["at the leaves: the cluster, and its weight in brackets"]),
            linkage=np.asarray(tree.linkage, dtype=np.float64),
            weight=_cluster_weights(model, X, sample_weight, k),
            cuts=tuple(map(int, cuts)),
        )

    def _figure_height(self) -> float:
        return 3.8

    def _draw(self, target: FigureAxes) -> None:
        ax, layout = target.axes[0], merge_tree_layout(self.linkage)
        ax.set_ylabel("price of the merge")
        ax.spines["bottom"].set_visible(False)
        ax.set_yscale("log" if layout.log else "linear")
        ax.set_ylim(layout.floor, 1.8 * layout.top if layout.log else 1.1 * (layout.top or 1.0))
        lines = matplotlib(".collections").LineCollection
        ax.add_collection(lines(layout.links, colors=style.CURVE_COLOR, linewidths=1.3))
        self._name_leaves(ax, layout.leaves)
        free = layout.log and bool((self.linkage[:, 2] <= layout.floor).any())
        bottom = " Merges at the bottom cost nothing." * free
        target.write_texts(self.title, self.caption + bottom)
        self._draw_cuts(target, layout)
        if len(layout.links):
            tops = layout.links[:, 1:3].mean(axis=1)  # the middle of every link
            highest = tops[np.argsort(-tops[:, 1], kind="stable")[:_MAX_PRICES_WRITTEN]]
            place_labels(target, highest, [format_number(float(f"{y:.3g}")) for _, y in highest])

    def _name_leaves(self, ax: Any, leaves: Sequence[int]) -> None:
        upright = len(leaves) <= _MAX_UPRIGHT_LEAVES
        gap = "\n" if upright else " "
        names = [f"{j}{gap}({format_number(float(f'{self.weight[j]:.4g}'))})" for j in leaves]
        size = max(_MIN_FONT_POINTS, min(style.SMALL_FONT_POINTS, _LEAF_WIDTH_POINTS / len(leaves)))
        ax.set_xticks(range(len(leaves)), names, rotation=0 if upright else 90, size=size)
        ax.tick_params(axis="x", length=0)
        ax.set_xlim(-0.7, len(leaves) - 0.3)

    def _draw_cuts(self, target: FigureAxes, layout: MergeTreeLayout) -> None:
        """Draw a line for every cut, named at the right unless the one below is too near."""
        target.update_layout()
        ax, prices = target.axes[0], np.maximum(self.linkage[:, 2], layout.floor)
        last_named = -np.inf  # in pixels
        for k in sorted(self.cuts, reverse=True):
            before, after = prices[[-k, 1 - k]] if k > 1 else prices[[-1, -1]] * [1, 1.3]
            height = float(np.sqrt(before * after) if layout.log else (before + after) / 2)
            ax.axhline(height, color=style.CHOICE_COLOR, lw=0.9, ls="--", zorder=0)
            pixel = float(ax.transData.transform((0.0, height))[1])
            if pixel - last_named >= 1.2 * target.line_height():
                text = {"va": "center", "size": style.SMALL_FONT_POINTS}
                ax.text(1.01, height, f"K = {k}", transform=ax.get_yaxis_transform(), **text)
                last_named = pixel


def _steepest_cut(prices: Floats) -> tuple[int, ...]:
    """The number of clusters whose next merge costs most, as a multiple of the one before."""
    if len(prices) < 2:
        return ()
    positive = np.where(prices > 0, prices, 1.0)
    ratio = np.where(prices[:-1] > 0, prices[1:] / positive[:-1], 1.0)
    return (len(prices) - int(ratio.argmax()),)


def _cluster_weights(model: Any, X: Any, sample_weight: Any, k: int) -> Floats:
    """Weights (k,) of the clusters: of the rows given, or of those of the fit."""
    if X is None:
        return np.asarray(model.stats_.weight, dtype=np.float64)
    if takes_categories(model):
        labels = np.asarray(model.predict(X))
        weight = check_weights(sample_weight, len(labels))
        weight = np.ones(len(labels)) if weight is None else weight
        return np.bincount(labels, weight, k).astype(np.float64)
    rows = label_rows(model, X, sample_weight)  # those without a cluster have no weight
    return np.bincount(np.maximum(rows.labels, 0), rows.weight, k).astype(np.float64)

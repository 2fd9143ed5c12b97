"""`MergeTreeDisplay`: which clusters would be fused first, and at what price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita._common.text import format_number
from partita.chart_layout import model_rows
from partita.estimators import validation
from partita.estimators.fitted_models import unwrap_pipeline
from partita.merging.tree import merge_tree
from partita.plots import style
from partita.plots.display import Display, Page, matplotlib
from partita.plots.text_placement import place

_ORDERS = 30.0  # how often the highest price is the lowest before the scale is logarithmic
_UPRIGHT = 14  # leaves up to which their names need not be turned
_PRICED = 6  # merges whose price is written: the highest


@dataclass(eq=False, repr=False, kw_only=True)
class MergeTreeDisplay(Display):
    """The clusters of a fit, fused pair by pair; the height is what a merge adds to J.

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

    linkage: Floats  # (k − 1, 4), as SciPy wants it
    weight: Floats  # (k,) of the clusters
    cuts: tuple[int, ...]

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        sample_weight: Any = None,
        *,
        cuts: Sequence[int] | None = None,
    ) -> MergeTreeDisplay:
        """The merge tree of a fitted model; see `partita.merge_tree` for when it needs X."""
        model, X, _ = unwrap_pipeline(model, X)
        tree = merge_tree(model, X, sample_weight)
        k = len(tree.linkage) + 1
        if cuts is None:
            cuts = _steepest(tree.linkage[:, 2])
        return cls(
            title=f"{model_rows.title_of(model)}: what fusing them would add to J",
            caption=style.sentences(["at the leaves: the cluster, and in brackets its weight"]),
            linkage=np.asarray(tree.linkage, dtype=np.float64),
            weight=_weights(model, X, sample_weight, k),
            cuts=tuple(_check_cut(cut, k) for cut in cuts),
        )

    def _shape(self) -> tuple[int, int]:
        return 1, 1

    def _inches(self) -> float:
        return 3.8

    def _draw(self, page: Page) -> None:
        ax = page.axes[0]
        floor = self._scale(ax)
        leaves, tops = self._links(ax, floor)
        texts = [self._name(j, len(leaves) <= _UPRIGHT) for j in leaves]
        turn = 0 if len(leaves) <= _UPRIGHT else 90
        ax.set_xticks(range(len(leaves)), texts, rotation=turn, size=_fitting(len(leaves)))
        ax.tick_params(axis="x", length=0)
        ax.set_xlim(-0.7, len(leaves) - 0.3)
        ax.set_ylabel("price of the merge")
        ax.spines["bottom"].set_visible(False)
        page.head(self.title)
        notes = self.caption
        if floor > 0 and (self.linkage[:, 2] <= floor).any():
            notes += " Merges at the bottom cost nothing."
        page.foot(notes)
        self._cut(page, floor)
        if len(tops):
            dearest = tops[np.argsort(-tops[:, 1], kind="stable")[:_PRICED]]
            place(page, dearest, [format_number(float(f"{y:.3g}")) for _, y in dearest])

    def _name(self, j: int, upright: bool) -> str:
        weight = format_number(float(f"{self.weight[j]:.4g}"))
        return f"{j}\n({weight})" if upright else f"{j} ({weight})"

    def _scale(self, ax: Any) -> float:
        """Set the scale of prices, and say at which height leaves begin."""
        prices = self.linkage[:, 2]
        paid = prices[prices > 0]
        if len(paid) and paid.max() > _ORDERS * paid.min():
            ax.set_yscale("log")
            floor = float(paid.min()) / 3
            ax.set_ylim(floor, float(paid.max()) * 1.8)
            return floor
        ax.set_ylim(0, 1.1 * (float(prices.max(initial=0.0)) or 1.0))
        return 0.0

    def _links(self, ax: Any, floor: float) -> tuple[list[int], Floats]:
        """Draw the links; the clusters from left to right, and the middle of every link."""
        if not len(self.linkage):
            return [0], np.empty((0, 2))
        from scipy.cluster.hierarchy import dendrogram

        found = dendrogram(self.linkage, no_plot=True)
        x = np.array(found["icoord"]) / 10 - 0.5  # SciPy puts leaves at 5, 15, …
        y = np.maximum(np.array(found["dcoord"]), floor)
        lines = matplotlib(".collections").LineCollection(
            np.stack([x, y], axis=2), colors=style.color(0), linewidths=1.3
        )
        ax.add_collection(lines)
        return found["leaves"], np.column_stack([(x[:, 1] + x[:, 2]) / 2, y[:, 1]])

    def _cut(self, page: Page, floor: float) -> None:
        """Draw a line for every cut, and name it at the right unless another is as high."""
        page.settle()
        ax, prices = page.axes[0], np.maximum(self.linkage[:, 2], floor)
        room, last = 1.2 * style.SMALL * page.figure.dpi / 72, -np.inf
        for k in sorted(self.cuts, reverse=True):
            before, after = prices[[-k, 1 - k]] if k > 1 else prices[[-1, -1]] * [1, 1.3]
            height = float(np.sqrt(before * after) if floor > 0 else (before + after) / 2)
            ax.axhline(height, color=style.color(5), lw=0.9, ls="--", zorder=0)
            here = float(ax.transData.transform((0.0, height))[1])
            if here - last >= room:
                ax.text(
                    1.01,
                    height,
                    f"K = {k}",
                    transform=ax.get_yaxis_transform(),
                    va="center",
                    size=style.SMALL,
                )
                last = here


def _steepest(prices: Floats) -> tuple[int, ...]:
    """The number of clusters after which the next merge costs most, as a multiple of the last."""
    if len(prices) < 2:
        return ()
    low = np.where(prices > 0, prices, 1.0)
    ratio = np.where(prices[:-1] > 0, prices[1:] / low[:-1], 1.0)
    return (len(prices) - int(ratio.argmax()),)


def _check_cut(cut: Any, k: int) -> int:
    found = validation.whole("cuts", cut)
    if found >= k:
        raise ValueError(
            f"cuts holds {cut}, but there are {k} clusters; numbers below that are expected"
        )
    return found


def _weights(model: Any, X: Any, sample_weight: Any, k: int) -> Floats:
    """The weight (k,) of every cluster: of the rows given, or of those of the fit."""
    if X is None:
        return np.asarray(model.stats_.weight, dtype=np.float64)
    labels = np.asarray(model.predict(X))
    weight = validation.check_weights(sample_weight, len(labels))
    some = (labels >= 0) & (labels < k)
    return np.bincount(labels[some], None if weight is None else weight[some], k).astype(float)


def _fitting(leaves: int) -> float:
    """The size of names that leaves have room for."""
    return float(np.clip(330 / leaves, 4.0, style.SMALL))

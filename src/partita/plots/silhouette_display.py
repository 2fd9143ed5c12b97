"""`SilhouetteDisplay`: how well every row fits its cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.number_arrays import as_any_array
from partita._common.parameters import Got, must_be
from partita._common.text import format_number
from partita.chart_layout import model_rows
from partita.chart_layout.captions import join_sentences
from partita.chart_layout.palette import cluster_color
from partita.chart_layout.silhouette_bands import silhouette_bands
from partita.estimators import validation
from partita.estimators.capabilities import METRIC
from partita.estimators.fitted_models import (
    capabilities_of,
    check_fitted,
    count_clusters,
    own_labels,
    unwrap_pipeline,
)
from partita.estimators.medoids.metric import check_metric
from partita.estimators.table_rows import rows_for, takes_categories
from partita.metrics.silhouette import silhouette_samples
from partita.plots import style
from partita.plots.display import Display, FigureAxes

_MAX_ROWS = 20_000  # that are measured against each other
_MAX_NAMED = 50  # clusters
_MAX_ROUNDS = 60  # to find the height of a line


@dataclass(eq=False, repr=False, kw_only=True)
class SilhouetteDisplay(Display):
    """The silhouettes of all rows, sorted within their clusters.

    A silhouette is (b − a) / max(a, b): a is the mean distance to the other rows of the cluster,
    b that to the rows of the nearest other cluster. It is negative if that one is nearer.

    Examples
    --------
    >>> from partita.plots import SilhouetteDisplay
    >>> display = SilhouetteDisplay.from_labels([[0], [1], [10], [11]], [0, 0, 1, 1])
    >>> round(display.mean, 3), display.negative
    (0.9, 0.0)
    """

    values: Floats  # (m,)
    labels: Array  # (m,)
    weight: Floats  # (m,)
    mean: float
    negative: float  # the share of rows whose silhouette is below 0
    sizes: Ints  # (k,) rows of each cluster of `labels`, ascending, also of those not measured

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, sample_weight: Any = None, *, random_state: Any = 0
    ) -> SilhouetteDisplay:
        """Measure rows of X in the clusters of a fitted model, by its own distance."""
        model, X, _ = unwrap_pipeline(model, X)
        check_fitted(model)
        capabilities, k = capabilities_of(model), count_clusters(model)
        if capabilities.metric is None:
            raise ValueError(
                f"Silhouettes need a metric between rows, which {type(model).__name__} does not "
                f"have: {capabilities.why_not(METRIC)}. Give distances instead: "
                "SilhouetteDisplay.from_labels(distances, model.labels_, metric='precomputed')."
            )
        rows = rows_for(model, X, "silhouettes")
        labels, metric = own_labels(model, X), capabilities.metric
        if takes_categories(model):
            assert capabilities.pairs is not None
            rows, metric = capabilities.pairs(rows)
        weight = validation.check_weights(sample_weight, len(labels))
        inside = (labels >= 0) & (labels < k)  # rows of zeros have no direction
        left_out = model_rows.left_out_note(model, labels)
        if not inside.all():
            rows, labels = rows[inside], labels[inside]
            weight = None if weight is None else weight[inside]
        display = cls.from_labels(rows, labels, weight, metric=metric, random_state=random_state)
        display.caption = join_sentences([display.caption, left_out])
        display.title = f"{type(model).__name__}, K = {k}: {display.title}"
        return display

    @classmethod
    def from_labels(
        cls,
        X: Any,
        labels: Any,
        sample_weight: Any = None,
        *,
        metric: Any = "euclidean",
        random_state: Any = 0,
    ) -> SilhouetteDisplay:
        """Measure rows of X in the clusters given, one label per row."""
        check_metric(metric, None)
        rows = validation.as_rows(X)
        n = rows.shape[0]
        wanted = f"of shape ({n},), one label for each row of `X`"
        labels = as_any_array("labels", labels, wanted)
        if labels.shape != (n,):
            raise must_be("labels", wanted, Got(f"an array of shape {labels.shape}"))
        weight = validation.check_weights(sample_weight, n)
        drawn = model_rows.sample_index(n, _MAX_ROWS, random_state)
        rows = rows[drawn][:, drawn] if metric == "precomputed" else rows[drawn]
        clusters, counts = np.unique(labels, return_counts=True)
        labels, weight = labels[drawn], np.ones(n)[drawn] if weight is None else weight[drawn]
        values = silhouette_samples(rows, labels, metric=metric, sample_weight=weight)
        total = float(weight.sum()) or 1.0
        mean, negative = float(weight @ values) / total, float(weight @ (values < 0)) / total
        legend = "at the left: cluster, number of rows, mean silhouette. Dashed: the mean of all"
        many = len(clusters) > _MAX_NAMED and f"only the {_MAX_NAMED} largest clusters are named"
        return cls(
            title=f"mean silhouette {mean:.3f}, {negative:.1%} of the rows below 0",
            caption=join_sentences([legend, many, model_rows.sample_note(len(labels), n)]),
            values=values,
            labels=labels,
            weight=weight,
            mean=mean,
            negative=negative,
            sizes=counts[np.isin(clusters, labels)],
        )

    def _figure_height(self) -> float:
        return float(np.clip(1.6 + 0.19 * len(np.unique(self.labels)), 3.4, 11.5))

    def _draw(self, target: FigureAxes) -> None:
        target.write_texts(self.title, self.caption)
        target.update_layout()  # names take as much of the height as the layout leaves
        ax, bands = target.axes[0], silhouette_bands(self.values, self.labels)
        lines = ax.bbox.height / (1.15 * target.line_height())
        named = np.argsort(-self.sizes, kind="stable")[: max(1, min(_MAX_NAMED, int(lines)))]
        counts = np.array([len(band.rows) for band in bands])
        gap = 0.06 * len(self.values) / len(bands) + 0.5
        slots = slot_heights(counts + gap, np.isin(np.arange(len(bands)), named), lines)
        middles = np.cumsum(slots) - slots / 2
        names = []
        for number, ((label, rows), middle) in enumerate(zip(bands, middles, strict=True)):
            values, weight = self.values[rows], self.weight[rows]
            edges = middle - len(rows) / 2 + np.arange(len(rows) + 1)
            fill = {"color": cluster_color(number), "lw": 0.5, "alpha": 0.85}  # a row is visible
            ax.fill_betweenx(edges, 0, np.append(values, values[-1]), step="post", **fill)
            mean = np.average(values, weights=weight if weight.any() else None)
            size = format_number(self.sizes[number])
            names.append(f"{style.label_text(label, 12)}  ({size}, {mean:.2f})")
        ax.axvline(0, color=style.MUTED_COLOR, lw=0.8)
        ax.axvline(self.mean, color=style.TEXT_COLOR, lw=1.0, ls="--")
        ax.set_ylim(slots.sum(), 0)
        ax.set_xlim(min(-0.05, 1.08 * float(self.values.min(initial=0.0))), 1.0)
        ax.set_xlabel("silhouette")
        named = np.sort(named)
        ax.set_yticks(middles[named], [names[i] for i in named])
        ax.tick_params(axis="y", length=0)


def slot_heights(heights: Floats, named: Array, lines: float) -> Floats:
    """Return heights (k,) with room for the names of some: one of so many lines in all.

    >>> slot_heights(np.array([8.0, 1.0, 1.0]), np.array([True, True, False]), 3.0).tolist()
    [8.0, 4.5, 1.0]
    """
    line = 0.0
    for _ in range(_MAX_ROUNDS):  # a higher slot makes the whole higher, and so the line
        line = float(np.where(named, np.maximum(heights, line), heights).sum()) / lines
    return np.asarray(np.where(named, np.maximum(heights, line), heights))

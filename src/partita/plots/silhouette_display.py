"""`SilhouetteDisplay`: how well every row lies in its cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.text import format_number
from partita.chart_layout import model_rows
from partita.estimators import validation
from partita.estimators.fitted_models import check_fitted, count_clusters, unwrap_pipeline
from partita.metrics.silhouette import silhouette_samples
from partita.plots import style
from partita.plots.display import Display, Page

_MOST = 20_000  # rows that are measured against each other


@dataclass(eq=False, repr=False, kw_only=True)
class SilhouetteDisplay(Display):
    """The silhouettes of all rows, sorted within their clusters; left of 0 they lie wrong.

    A silhouette is (b − a) / max(a, b): a is the mean distance to the other rows of the cluster,
    b that to the rows of the nearest other one.

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

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, sample_weight: Any = None, *, random_state: Any = 0
    ) -> SilhouetteDisplay:
        """The silhouettes of rows of X in the clusters of a fitted model, by its own distance."""
        model, X, _ = unwrap_pipeline(model, X)
        check_fitted(model)
        metric, k = _metric_of(model), count_clusters(model)
        rows, labels = validation.as_rows(X), np.asarray(model.predict(X))
        weight = validation.check_weights(sample_weight, len(labels))
        some = (labels >= 0) & (labels < k)  # not rows of zeros, which have no direction
        if not some.all():
            rows, labels = rows[some], labels[some]
            weight = None if weight is None else weight[some]
        display = cls.from_labels(rows, labels, weight, metric=metric, random_state=random_state)
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
        """The silhouettes of rows of X in clusters that are given, one label per row."""
        rows, labels = validation.as_rows(X), np.asarray(labels)
        n = rows.shape[0]
        if labels.shape != (n,):
            raise ValueError(
                f"labels has the shape {labels.shape}; ({n},) is expected: one per row"
            )
        weight = validation.check_weights(sample_weight, n)
        some = model_rows.sample(n, _MOST, random_state)
        rows = rows[some][:, some] if metric == "precomputed" else rows[some]
        labels, weight = labels[some], np.ones(n)[some] if weight is None else weight[some]
        values = silhouette_samples(rows, labels, metric=metric, sample_weight=weight)
        total = float(weight.sum()) or 1.0
        mean, negative = float(weight @ values) / total, float(weight @ (values < 0)) / total
        note = f"{format_number(len(labels))} of {format_number(n)} rows, sampled"
        return cls(
            title=f"mean silhouette {mean:.3f}, {negative:.1%} of the rows below 0",
            caption=style.sentences(
                [
                    "at the left: the cluster, how many rows, their mean. Dashed: the mean of all",
                    note if len(labels) < n else "",
                ]
            ),
            values=values,
            labels=labels,
            weight=weight,
            mean=mean,
            negative=negative,
        )

    def _shape(self) -> tuple[int, int]:
        return 1, 1

    def _inches(self) -> float:
        return float(np.clip(1.6 + 0.19 * len(np.unique(self.labels)), 3.4, 11.5))

    def _draw(self, page: Page) -> None:
        ax = page.axes[0]
        groups = np.unique(self.labels)
        gap = 0.6 * len(self.values) / (10 * len(groups)) + 0.5
        ticks, texts, top = [], [], 0.0
        for at, group in enumerate(groups):
            inside = self.labels == group
            some = np.sort(self.values[inside])
            heavy = self.weight[inside] if self.weight[inside].any() else None
            mean = np.average(self.values[inside], weights=heavy)
            edges = top + np.arange(len(some) + 1)
            ax.fill_betweenx(
                edges,
                0,
                np.append(some, some[-1]),
                step="post",
                color=style.color(at),
                lw=0,
                alpha=0.85,
            )
            ticks.append(top + len(some) / 2)
            texts.append(f"{style.plain(group, 12)}  ({format_number(len(some))}, {mean:.2f})")
            top = edges[-1] + gap
        ax.axvline(0, color=style.FAINT, lw=0.8)
        ax.axvline(self.mean, color=style.INK, lw=1.0, ls="--")
        ax.set_ylim(top, -gap)
        low = float(self.values.min(initial=0.0))
        ax.set_xlim(min(-0.05, 1.08 * low), 1.0)
        ax.set_xlabel("silhouette")
        page.head(self.title)
        page.foot(self.caption)
        self._name(page, ticks, texts)

    def _name(self, page: Page, ticks: list[float], texts: list[str]) -> None:
        """Name the clusters, but for those that have no room below the one before."""
        page.settle()
        ax = page.axes[0]
        room = 1.15 * style.SMALL * page.figure.dpi / 72
        kept: list[int] = []
        heights = ax.transData.transform([(0.0, tick) for tick in ticks])[:, 1]
        for at, height in enumerate(heights):
            if not kept or heights[kept[-1]] - height >= room:
                kept.append(at)
        ax.set_yticks([ticks[at] for at in kept], [texts[at] for at in kept])
        ax.tick_params(axis="y", length=0)


def _metric_of(model: Any) -> Any:
    if hasattr(model, "kernel"):
        raise ValueError(
            "the clusters of a kernel lie in its feature space, not among the rows; measure there: "
            "SilhouetteDisplay.from_labels(distances, model.labels_, metric='precomputed')"
        )
    if getattr(model, "metric_params", None):
        raise ValueError(
            f"the metric has parameters, {model.metric_params!r}; give distances instead: "
            "SilhouetteDisplay.from_labels(distances, model.labels_, metric='precomputed')"
        )
    return "cosine" if model_rows.is_spherical(model) else getattr(model, "metric", "euclidean")

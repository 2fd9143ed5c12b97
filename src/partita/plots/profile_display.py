"""`ProfileDisplay`: how every cluster differs from all rows, feature by feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita._common.parameters import FLAG, check, check_integer
from partita._common.text import format_number
from partita.chart_layout import model_rows
from partita.chart_layout.captions import format_deviations, join_sentences
from partita.chart_layout.cluster_profile import cluster_profile
from partita.estimators.fitted_models import count_clusters, unwrap_pipeline
from partita.plots import style
from partita.plots.display import Display, FigureAxes

_MAX_FEATURES = 30
_MAX_NUMBERED = 12  # clusters; beyond it, cells have no room for numbers
_MAX_DEVIATIONS = 3.0  # at which the colours end
_NUMBER_STEPS = (1, 2, 5, 10, 20, 50, 100)  # between the cluster numbers below the map


@dataclass(eq=False, repr=False, kw_only=True)
class ProfileDisplay(Display):
    """The centers in standard deviations of each feature: (center − mean) / deviation.

    Features are sorted by the share of their variance that lies between clusters, and only the
    first 30 are drawn.

    Examples
    --------
    >>> from partita import KMeans
    >>> from partita.plots import ProfileDisplay
    >>> X = [[0, 5], [0, 6], [9, 5], [9, 6]]
    >>> model = KMeans(2, init=[[0, 5], [9, 5]]).fit(X)
    >>> display = ProfileDisplay.from_estimator(model, X, feature_names=["a", "b"])
    >>> display.names, display.scores.tolist()
    (['a', 'b'], [[-1.0, 1.0], [0.0, 0.0]])
    """

    scores: Floats  # (features, k) in deviations
    names: list[str]  # of the features
    weight: Floats  # (k,) of the clusters

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        sample_weight: Any = None,
        *,
        feature_names: Any = None,
        sort: bool = True,
        most: int = _MAX_FEATURES,
    ) -> ProfileDisplay:
        """Compare the centers of a fitted model with X (all rows of it)."""
        most = check_integer("most", most)
        check("sort", sort, FLAG)
        model, X, names = unwrap_pipeline(model, X)
        names = names if feature_names is None else feature_names
        rows = model_rows.select_rows(model, X, sample_weight, names=names, most=None)
        centers = None if model_rows.is_spherical(model) else model_rows.centers_of(model)
        k = count_clusters(model)
        values, names = rows.values, rows.names
        if rows.placed:  # columns without a name are zeros
            names = [name for name in names if name]
            values = values[:, : len(names)]
        profile = cluster_profile(values, rows.labels, rows.weight, k, centers)
        order = profile.order[:most]
        left_out = len(names) - len(order)
        how = "sorted" if sort else "chosen" if left_out else ""
        notes = [
            centers is None and "for each cluster the mean of its rows",
            how != "" and f"features {how} by the share of their variance between clusters",
            rows.note,
            left_out > 0
            and f"{left_out} of {len(names)} {'is' if left_out == 1 else 'are'} left out",
        ]
        order = order if sort else np.sort(order)
        return cls(
            title=f"{model_rows.title_text(model)}: how they differ",
            caption=join_sentences(notes),
            scores=profile.scores.T[order],
            names=[names[t] for t in order],
            weight=profile.cluster_weight,
        )

    def _figure_height(self) -> float:
        return 2.0 + 0.2 * max(3, len(self.names))

    def _draw(self, target: FigureAxes) -> None:
        ax, peak = target.axes[0], float(np.abs(self.scores).max(initial=0.0))
        limit = float(np.clip(peak, 1.0, _MAX_DEVIATIONS))
        image = ax.imshow(
            self.scores, cmap=style.DIVERGING_COLORMAP, vmin=-limit, vmax=limit, aspect="auto"
        )
        ax.set_yticks(range(len(self.names)), [style.label_text(name, 28) for name in self.names])
        ax.tick_params(length=0)
        ax.set_xlabel("cluster")
        ax.spines[:].set_visible(False)
        numbered = len(self.weight) <= _MAX_NUMBERED
        if numbered:
            self._write_scores(ax, limit)
        else:
            low = np.argwhere(self.scores <= -1)
            ax.scatter(*low.T[::-1], marker="_", s=10, c=style.TEXT_COLOR, linewidths=0.7)
        self._draw_weights(ax, numbered)
        extend = "both" if peak > limit else "neither"
        bar = target.figure.colorbar(image, ax=ax, fraction=0.04, pad=0.02, extend=extend)
        bar.set_ticks(range(-int(limit), int(limit) + 1))  # fixed, so that the layout is stable
        bar.set_label("standard deviations from the mean")
        bar.outline.set_visible(False)
        dash = "" if numbered else " A dash: one standard deviation or more below the mean."
        target.write_texts(self.title, self.caption + dash)
        self._number_clusters(target)

    def _number_clusters(self, target: FigureAxes) -> None:
        """Number the columns: all, or every second, fifth, … if they have no room."""
        target.update_layout()
        ax, k = target.axes[0], len(self.weight)
        needed = 0.72 * target.line_height() * len(str(k - 1))
        step = next((step for step in _NUMBER_STEPS if step * ax.bbox.width / k >= needed), k)
        ax.set_xticks(range(0, k, step), [str(j) for j in range(0, k, step)])

    def _write_scores(self, ax: Any, limit: float) -> None:
        text = {"ha": "center", "va": "center", "size": style.SMALL_FONT_POINTS - 1}
        for (row, column), score in np.ndenumerate(self.scores):
            color = "white" if abs(score) > 0.62 * limit else style.TEXT_COLOR
            ax.text(column, row, format_deviations(float(score)), color=color, **text)

    def _draw_weights(self, ax: Any, numbered: bool) -> None:
        """Draw the weight of each cluster as a bar above its column."""
        k, share = len(self.weight), 0.63 / self._figure_height()
        above = ax.inset_axes([0, 1.02, 1, share], sharex=ax)
        above.bar(range(k), self.weight, color=style.MUTED_COLOR, width=0.7)
        above.axis("off")
        above.set_ylim(0, 1.55 * (self.weight.max(initial=0.0) or 1.0))
        if numbered:
            text = {"ha": "center", "va": "bottom", "size": style.SMALL_FONT_POINTS - 1}
            for j, weight in enumerate(self.weight):
                above.text(j, weight, format_number(float(weight)), **text)

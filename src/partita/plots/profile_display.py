"""`ProfileDisplay`: what sets every cluster apart, feature by feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats
from partita._common.text import format_number
from partita.chart_layout import model_rows
from partita.estimators import labelling, validation
from partita.estimators.fitted_models import count_clusters, unwrap_pipeline
from partita.plots import style
from partita.plots.display import Display, Page
from partita.source.plain_rows import doubles

_FEATURES = 30  # rows of the map
_NUMBERS = 12  # clusters up to which there is room for numbers
_FAR = 3.0  # deviations at which the colours end


@dataclass(eq=False, repr=False, kw_only=True)
class ProfileDisplay(Display):
    """Where each center lies in units of the spread of a feature: (center − mean) / deviation.

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
        most: int = _FEATURES,
    ) -> ProfileDisplay:
        """The centers of a fitted model against the spread of X (not sampled)."""
        most = validation.whole("most", most)
        model, X, names = unwrap_pipeline(model, X)
        rows = model_rows.read(model, X, sample_weight, names=names, most=None)
        names = model_rows.names_of(
            model, X, rows.values.shape[1], names if feature_names is None else feature_names
        )
        k = count_clusters(model)
        inside = (rows.labels >= 0) & (rows.labels < k)
        weight = np.bincount(rows.labels[inside], rows.weight[inside], k).astype(np.float64)
        mean, deviation = moments(rows.values, rows.weight)
        centers, note = _centers(model, rows, k)
        scores = np.divide(
            centers - mean, deviation, out=np.zeros_like(centers), where=deviation > 0
        )
        between = weight @ scores**2
        order = np.argsort(-between, kind="stable")[:most]
        if not sort:
            order = np.sort(order)
        left = len(names) - len(order)
        first = "sorted by" if sort else "chosen by" if left else ""
        return cls(
            title=f"{model_rows.title_of(model)}: what sets them apart",
            caption=style.sentences(
                [
                    note,
                    f"features {first} the share of their variance between clusters"
                    if first
                    else "",
                    f"{left} of {len(names)} are left out" if left else "",
                ]
            ),
            scores=scores.T[order],
            names=[names[t] for t in order],
            weight=weight,
        )

    def _shape(self) -> tuple[int, int]:
        return 1, 1

    def _inches(self) -> float:
        return 2.0 + 0.2 * max(3, len(self.names))

    def _draw(self, page: Page) -> None:
        ax = page.axes[0]
        m, k = self.scores.shape
        reach = float(np.clip(np.abs(self.scores).max(initial=0.0), 1.0, _FAR))
        image = ax.imshow(self.scores, cmap=style.DIVERGING, vmin=-reach, vmax=reach, aspect="auto")
        ax.set_yticks(range(m), [style.plain(name, 28) for name in self.names])
        ax.tick_params(length=0)
        ax.set_xlabel("cluster")
        if k <= _NUMBERS:
            self._numbers(ax, reach)
        else:
            low = np.argwhere(self.scores <= -1)
            ax.scatter(low[:, 1], low[:, 0], marker="_", s=10, c=style.INK, linewidths=0.7)
        self._sizes(ax)
        more = "both" if np.abs(self.scores).max(initial=0.0) > reach else "neither"
        bar = page.figure.colorbar(image, ax=ax, fraction=0.04, pad=0.02, extend=more)
        whole = int(reach)  # ticks that do not depend on the room, so that the layout is stable
        bar.set_ticks(range(-whole, whole + 1))
        bar.set_label("deviations from the mean")
        bar.outline.set_visible(False)
        page.head(self.title)
        dash = "" if k <= _NUMBERS else " A dash: one deviation or more below the mean."
        page.foot(self.caption + dash)
        self._clusters(page)

    def _clusters(self, page: Page) -> None:
        """Number the columns: all of them, or every second, fifth, … where there is no room."""
        page.settle()
        ax, k = page.axes[0], len(self.weight)
        needed = style.SMALL * 0.72 * len(str(k - 1)) * page.figure.dpi / 72
        room = ax.bbox.width / k
        step = next((s for s in (1, 2, 5, 10, 20, 50, 100) if s * room >= needed), k)
        ax.set_xticks(range(0, k, step), [str(j) for j in range(0, k, step)])

    def _numbers(self, ax: Any, reach: float) -> None:
        for (row, column), value in np.ndenumerate(self.scores):
            ink = "white" if abs(value) > 0.62 * reach else style.INK
            text = f"{value:+.1f}".replace("-", "−") if abs(value) >= 0.05 else "0.0"
            ax.text(column, row, text, ha="center", va="center", size=style.SMALL - 1, color=ink)

    def _sizes(self, ax: Any) -> None:
        """How heavy each cluster is, as bars above its column."""
        k, high = len(self.weight), 0.45 / self._inches()
        above = ax.inset_axes([0, 1.02, 1, high * 1.4], sharex=ax)
        above.bar(range(k), self.weight, color=style.FAINT, width=0.7)
        above.axis("off")
        above.set_ylim(0, 1.55 * (self.weight.max(initial=0.0) or 1.0))
        if k <= _NUMBERS:
            for j, weight in enumerate(self.weight):
                text = format_number(float(weight))
                above.text(j, weight, text, ha="center", va="bottom", size=style.SMALL - 1)
        for side in ax.spines.values():
            side.set_visible(False)


def moments(values: Any, weight: Floats) -> tuple[Floats, Floats]:
    """The mean (d,) and the deviation (d,) of every feature; exactly 0 for one that is constant."""
    share = weight / weight.sum()
    if sp.issparse(values):
        mean = np.asarray(values.T @ share).ravel()
        square = np.asarray(values.multiply(values).T @ share).ravel()
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0))
    anchor = values[0]  # an offset of the data costs no digits
    gap = values - anchor
    middle = share @ gap
    deviation = np.sqrt(share @ (gap - middle) ** 2)
    return anchor + middle, np.where(np.ptp(gap, axis=0) > 0, deviation, 0.0)


def _centers(model: Any, rows: model_rows.Rows, k: int) -> tuple[Floats, str]:
    """Centers of the model, or the means of its clusters where those are no points among rows."""
    found = model_rows.centers_of(model)
    if found is not None and not model_rows.is_spherical(model):
        return found, ""
    inside = np.where((rows.labels >= 0) & (rows.labels < k), rows.labels, -1)
    heavy = labelling.one_hot(inside, k)
    heavy.data = rows.weight[inside >= 0]  # the weight of a row, where it belongs
    mass = np.asarray(heavy.sum(axis=0)).ravel()
    sums = doubles(heavy.T @ rows.values)
    mean, _ = moments(rows.values, rows.weight)
    means = np.where(mass[:, None] > 0, sums / np.where(mass > 0, mass, 1.0)[:, None], mean)
    return means, "for each cluster the mean of its rows"

"""`ClusterDisplay`: rows in their clusters, with centers and cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from partita.chart_layout import model_rows
from partita.chart_layout.captions import join_sentences
from partita.chart_layout.cluster_scene import ClusterScene, build_scene, marked_centers
from partita.chart_layout.projection import Box, view_rows
from partita.estimators.fitted_models import unwrap_pipeline
from partita.plots.display import Display, FigureAxes
from partita.plots.scene_drawing import draw_scene, number_centers
from partita.plots.style import label_text


@dataclass(eq=False, repr=False, kw_only=True)
class ClusterDisplay(Display):
    """The rows in two dimensions, with the cell of every center.

    With more than two features it shows the plane of the two widest directions, or that of two
    `features`. The cells are those of all features, cut by that plane; points are projected on it,
    so some lie outside their cell.

    Examples
    --------
    >>> from partita import KMeans
    >>> from partita.plots import ClusterDisplay
    >>> X = [[0, 0], [0, 1], [9, 0], [9, 1]]
    >>> display = ClusterDisplay.from_estimator(KMeans(2, random_state=0).fit(X), X)
    >>> len(display.scene.polygons)
    2
    >>> display.plot().ax_.get_xlabel()
    'feature 0'
    """

    scene: ClusterScene
    box: Box
    equal: bool  # whether a unit has the same length along both axes
    names: tuple[str, str]  # of the axes

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        sample_weight: Any = None,
        *,
        features: Any = None,
        random_state: Any = 0,
    ) -> ClusterDisplay:
        """Project at most 20 000 rows of X and the clusters of a fitted model."""
        model, X, names = unwrap_pipeline(model, X)
        rows = model_rows.select_rows(
            model, X, sample_weight, names=names, random_state=random_state
        )
        centers, center_note = marked_centers(model, rows)
        view = view_rows(rows, [centers], features)
        scene, cell_note = build_scene(model, view, rows.labels, view.box)
        return cls(
            title=model_rows.title_text(model),
            caption=join_sentences([rows.placed, cell_note, center_note, rows.note]),
            scene=scene,
            box=view.box,
            equal=view.equal_scale,
            names=axis_labels(view.plane.names),
        )

    def _figure_height(self) -> float:
        return 4.4 if self.names[1] else 2.6

    def _draw(self, target: FigureAxes) -> None:
        ax = target.axes[0]
        draw_scene(ax, self.scene, self.box, self.equal)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        if not self.names[1]:
            ax.set_yticks([])
        target.write_texts(self.title, self.caption)
        number_centers(target, self.scene.centers)


def axis_labels(names: tuple[str, str]) -> tuple[str, str]:
    """Return the names of both axes as labels that fit."""
    return label_text(names[0], 60), label_text(names[1], 45)

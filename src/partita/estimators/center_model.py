"""`CenterModel`: a model that labels rows by its centers, restored without scikit-learn.

The command line labels files by it: importing the class of the model would take most of the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from partita._common.array_types import Array, Floats
from partita._common.parameters import check
from partita._common.threads import Workers
from partita.estimators import labelling
from partita.estimators.capabilities import Capabilities
from partita.estimators.directions import RULES, DirectionRules, UnitRows
from partita.estimators.gaps import MISSING_RULE, mark_gaps
from partita.estimators.saved_state import FieldReader
from partita.estimators.validation import check_threads
from partita.geometry import EUCLIDEAN, SPHERICAL, Geometry

# The members whose labels are a function of their centers, with the geometry of these
GEOMETRY_OF_CLASS = {
    "KMeans": EUCLIDEAN,
    "MiniBatchKMeans": EUCLIDEAN,
    "SphericalKMeans": SPHERICAL,
}


@dataclass(eq=False)
class CenterModel:
    """The part of such a member that labels rows: `predict` has the bits of the estimator's.

    Rows are given as kernels read them: a C-ordered array of floats, in the order of the features.
    """

    cluster_centers_: Floats
    feature_names_in_: tuple[str, ...]  # empty if not known
    geometry: Geometry
    direction_rules: DirectionRules
    n_threads: int | None
    missing: str = "error"  # "partial": NaN is a missing value
    saved_: Any = None  # the other contents of the file

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return int(self.cluster_centers_.shape[1])

    def predict(self, X: Array) -> Array:
        """Return the cluster of each row."""
        if self.geometry is EUCLIDEAN:
            return labelling.nearest(
                mark_gaps(self, X), self.cluster_centers_, self.n_threads, None
            )
        return self._directions(X).nearest(self.cluster_centers_, self.n_threads, None)

    def __partita_capabilities__(self) -> Capabilities:
        return Capabilities(geometry=self.geometry)

    def _directions(self, X: Array) -> UnitRows:
        with Workers(check_threads(self.n_threads)) as workers:
            return UnitRows.of(X, self.direction_rules, workers, None)


def restore_center_model(
    class_name: str, parameters: Mapping[str, Any], fields: FieldReader
) -> CenterModel:
    """Return the model of a file; everything that it needs is checked."""
    d = fields.integer("n_features_in", 1)
    centers = fields.floats("cluster_centers", (None, d))
    if len(centers) == 0:
        raise ValueError("cluster_centers is empty")
    rules = {name: parameters[name] for name in RULES if name in parameters}
    for name, value in rules.items():
        check(name, value, RULES[name])
    check_threads(parameters.get("n_threads"))
    names = fields.texts("feature_names", d) if fields.has("feature_names") else ()
    return CenterModel(
        centers,
        tuple(names),
        GEOMETRY_OF_CLASS[class_name],
        DirectionRules(**rules),
        parameters.get("n_threads"),
        check("missing", parameters.get("missing", "error"), MISSING_RULE),
    )

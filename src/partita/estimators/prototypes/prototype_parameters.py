"""The parameters of `KPrototypes`, checked and put in the engine's terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from partita._common import parameters as accept
from partita._common.array_types import Floats
from partita._common.parameters import Got, Rule, check, must_be
from partita._common.random_state import as_random_state, generator, spawn_generators
from partita._common.text import listed
from partita.estimators.lloyd_parameters import FitParameters
from partita.estimators.mixed_input import CATEGORICAL, as_table
from partita.estimators.prototypes.number_scaling import NumberScaling
from partita.halting import Halt, Shift
from partita.init.prototype_starts import PROTOTYPE_STARTS
from partita.source.dataframes import is_frame, names_of
from partita.source.mixed_rows import MixedFeatures, MixedRows
from partita.source.mixed_table import MixedTable

AUTO_N_INIT = 10
INIT_ADVICE = (
    "init may also be a table with one row for each cluster, a fitted model or a callable."
)


class MixedFit(NamedTuple):
    """The rows of a fit in several forms."""

    X: Any  # as given
    rows: MixedRows  # in the units of X
    features: MixedFeatures
    scaling: NumberScaling
    table: MixedTable  # scaled


class MadeStart(NamedTuple):
    """The prototypes that a run started from."""

    values: Floats  # (k, p + q), scaled
    rows: MixedRows  # in the units of X


class PrototypeParameters(FitParameters):
    """The parameters of `KPrototypes`, checked, in the engine's terms."""

    rules: ClassVar[Mapping[str, Rule]] = {
        **FitParameters.rules,
        "gamma": accept.either(
            accept.number(0, finite=True),
            accept.choice("auto"),
            advice="It is the cost of a category that is not that of the prototype.",
        ),
        "standardize": accept.FLAG,
        "categorical": CATEGORICAL,
    }

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.made: list[MadeStart] = []  # by the runs so far

    def halt(self, table: MixedTable) -> Halt:
        """Stop at a fixed point, by `tol` or the user's criterion, or at the limit."""
        tol = self.model.tol
        limit = math.sqrt(tol) * table.source.survey().spread if tol else 0.0
        return self.until(Shift(limit))

    def starts(self, fit: MixedFit) -> list[Callable[[], Floats]]:
        """Return one function for each run, which makes prototypes (k, p + q)."""
        init, rng = self.model.init, generator(self.model.random_state)
        if isinstance(init, str):
            check("init", init, accept.choice(*PROTOTYPE_STARTS), INIT_ADVICE)
            seeds = spawn_generators(rng, self.run_count(AUTO_N_INIT))
            return [partial(self._from_rows, fit, init, seed) for seed in seeds]
        if callable(init) and not hasattr(init, "get_params"):
            seeds = spawn_generators(rng, self.run_count(AUTO_N_INIT))
            return [partial(self._from_callable, fit, seed) for seed in seeds]
        given = self._given(init, fit)
        self.warn_of_single_start()
        return [partial(self._from_given, fit, given)]

    def _from_rows(self, fit: MixedFit, name: str, rng: np.random.Generator) -> Floats:
        which = PROTOTYPE_STARTS[name](fit.table, self.k, rng)
        return self._note(fit.table.take(which), fit.rows.take(which))

    def _from_callable(self, fit: MixedFit, rng: np.random.Generator) -> Floats:
        made = self.model.init(fit.X, self.k, random_state=as_random_state(rng))
        return self._from_given(fit, self._given(made, fit))

    def _from_given(self, fit: MixedFit, given: MixedRows) -> Floats:
        scaled = MixedRows(fit.scaling.apply(given.numbers), given.codes)
        return self._note(fit.table.joined(scaled), given)

    def _note(self, values: Floats, rows: MixedRows) -> Floats:
        self.made.append(MadeStart(values, rows))
        return values

    def start_of(self, values: Floats | None) -> MixedRows:
        """Return the prototypes of the run with this start, in the units of X."""
        assert values is not None
        return next(made.rows for made in self.made if np.array_equal(made.values, values))

    def _given(self, init: Any, fit: MixedFit) -> MixedRows:
        """Return prototypes that the user gave, as rows of the table."""
        wanted = f"a table of {self.k} prototypes with the {len(fit.features.names)} columns of X"
        if init is None or (np.ndim(init) == 0 and not hasattr(init, "get_params")):
            raise must_be("init", accept.choice(*PROTOTYPE_STARTS).text, init, INIT_ADVICE)
        if hasattr(init, "get_params"):
            if getattr(init, "cluster_centers_", None) is None:
                raise must_be("init", wanted, Got(f"a {type(init).__name__} without centers"))
            self._check_names(getattr(init, "feature_names_in_", None), fit)
            init = init.cluster_centers_
        self._check_names(names_of(init) if is_frame(init) else None, fit)
        table = as_table(init, type(self.model).__name__)
        shape = tuple(table.shape)
        if shape != (self.k, len(fit.features.names)):
            raise must_be("init", wanted, Got(f"a table of shape {shape}"))
        rows = fit.features.encode(table)
        if not np.isfinite(rows.numbers).all():
            raise must_be("init", "complete and finite in the columns of numbers", Got("gaps"))
        return rows

    def _check_names(self, names: Any, fit: MixedFit) -> None:
        """Require the columns of X in their order, where both have names: numbers are none."""
        if names is None or not is_frame(fit.X):
            return
        has_names = all(isinstance(name, str) for name in names)
        if has_names and list(names) != list(fit.features.names):
            wanted = f"a table with the columns of X, {listed(fit.features.names)}, in this order"
            raise must_be("init", wanted, Got(listed(names)))

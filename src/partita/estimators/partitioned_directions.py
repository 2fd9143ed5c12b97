"""The rows of `SphericalKMeans` in partitions: at unit length, and checked as in memory."""

from __future__ import annotations

import operator

import numpy as np

from partita.estimators import directions
from partita.estimators.directions import DirectionRules
from partita.estimators.lazy_blocks import check_facts
from partita.estimators.partitioned_fit import not_finite
from partita.source.partition_tasks import weight_facts
from partita.source.partitions import Partitions
from partita.source.unit_partitions import UnitPartitions


def directions_of(given: Partitions, rules: DirectionRules, k: int) -> UnitPartitions:
    """Return the rows that are not zero, at unit length; at least k, and one with weight."""
    if given.weighted:
        check_facts(given.total(weight_facts, operator.add))
    unit = UnitPartitions(given, rules.normalized)
    facts = unit.facts
    columns = np.flatnonzero(np.any([fact.columns for fact in facts], axis=0))
    if columns.size:
        raise not_finite(given, columns)
    n_wrong, n_zero = (sum(getattr(f, name) for f in facts) for name in ("n_wrong", "n_zero"))
    if rules.normalized and n_wrong:
        raise directions.wrong_length_error(n_wrong, *next(w for f in facts for w in f.wrong))
    if rules.zero_rows == "error" and n_zero:
        raise directions.zero_rows_error([i for f in facts for i in f.zero_rows], n_zero)
    directions.check_kept_count(int(unit.starts[-1]), int(given.starts[-1]), k)
    if given.weighted and not unit.total(weight_facts, operator.add).span.positive:
        raise directions.no_weight_error()
    return unit

"""Tables: files of several formats in, features and weights out, labels back into files."""

from partita._common.atomic_write import check_new, write_atomically
from partita._common.errors import TableError
from partita.tables.auto_scaling import fit_auto
from partita.tables.feature_selection import Selection, select
from partita.tables.preparation_plan import NO_CLUSTER, Plan, plan_of, repeated_plan_of, undo_hint
from partita.tables.scaling import Scaling
from partita.tables.table import Table
from partita.tables.table_reader import read_table
from partita.tables.table_writer import format_of, write_table, write_text

__all__ = [
    "NO_CLUSTER",
    "Plan",
    "Scaling",
    "Selection",
    "Table",
    "TableError",
    "check_new",
    "fit_auto",
    "format_of",
    "plan_of",
    "read_table",
    "repeated_plan_of",
    "select",
    "undo_hint",
    "write_atomically",
    "write_table",
    "write_text",
]

"""Reading and writing of files."""

from partita.tables.atomic import write_atomically

__all__ = ["write_atomically"]

"""Which format a file has: by its first bytes, text by its name; and what is no table of ours."""

from __future__ import annotations

from pathlib import Path

from partita.tables.compression import without_compression_suffix
from partita.tables.table import TableError

FORMAT_OF_SUFFIX = {
    ".csv": "csv",
    ".txt": "csv",
    ".dat": "csv",
    ".data": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".npy": "npy",
    ".npz": "npz",
}
GENERIC_TEXT_SUFFIXES = (".txt", ".dat", ".data")  # ends of names that other text has too
EXCEL_ERROR = "is an Excel workbook; save the sheet as CSV"
_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"FEA1": "feather",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",
}
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
_JSON = (".json", ".jsonl", ".ndjson", ".geojson")


def format_from_name(path: str | Path) -> str | None:
    """The format that a name tells."""
    return FORMAT_OF_SUFFIX.get(without_compression_suffix(path).suffix.lower())


def detect_format(raw: bytes, name: str, file: Path | None) -> str:
    """The format of a file that was read; `file` is None if it has no name."""
    for magic, kind in _MAGIC.items():
        if raw.startswith(magic):
            return kind
    if raw.startswith(_OLD_EXCEL):
        raise TableError(f"{name} {EXCEL_ERROR}")
    suffix = "" if file is None else without_compression_suffix(file).suffix.lower()
    if suffix in _JSON and raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        raise TableError(f"{name} is JSON, which is not read; save it as CSV or Parquet")
    by_name = FORMAT_OF_SUFFIX.get(suffix)
    if by_name not in (None, "csv", "tsv"):
        fault = "is empty" if not raw else f"is not a {by_name} file: its first bytes are wrong"
        raise TableError(f"{name} {fault}; write it anew, or give it the name of what it is")
    return by_name or "csv"

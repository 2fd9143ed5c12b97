"""The format of a file: by its first bytes, or for text by its suffix."""

from __future__ import annotations

from pathlib import Path

from partita.tables.compression import without_compression_suffix
from partita.tables.table import TableError

FORMAT_OF_SUFFIX = {
    ".csv": "csv", ".txt": "csv", ".dat": "csv", ".data": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".arrow": "feather",
    ".npy": "npy", ".npz": "npz",
}  # fmt: skip
GENERIC_TEXT_SUFFIXES = (".txt", ".dat", ".data")  # not only of tables
EXCEL_ERROR = "is an Excel workbook. Save the sheet as CSV."
_FORMAT_OF_MAGIC = {
    b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather", b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz", b"PK\x05\x06": "npz",
}  # fmt: skip
_OLD_EXCEL_MAGIC = b"\xd0\xcf\x11\xe0"
_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson", ".geojson")


def format_from_name(path: str | Path) -> str | None:
    """Return the format that the suffix stands for, None if it stands for none."""
    return FORMAT_OF_SUFFIX.get(without_compression_suffix(path).suffix.lower())


def detect_format(raw: bytes, name: str, file: Path | None) -> str:
    """Return the format of a file's content; `file` is None for standard input."""
    for magic, format in _FORMAT_OF_MAGIC.items():
        if raw.startswith(magic):
            return format
    if raw.startswith(_OLD_EXCEL_MAGIC):
        raise TableError(f"{name} {EXCEL_ERROR}")
    suffix = "" if file is None else without_compression_suffix(file).suffix.lower()
    if suffix in _JSON_SUFFIXES and raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        raise TableError(f"{name} is JSON, which is not supported. Save it as CSV or Parquet.")
    by_name = FORMAT_OF_SUFFIX.get(suffix)
    if by_name not in (None, "csv", "tsv"):
        fault = "is empty" if not raw else f"is not a {by_name} file: its first bytes are wrong"
        raise TableError(f"{name} {fault}. Write it again, or rename it to its real format.")
    return by_name or "csv"

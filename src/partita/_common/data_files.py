"""The files that a path stands for, and the formats that their names stand for."""

from __future__ import annotations

import difflib
import glob
from pathlib import Path

from partita._common.errors import TableError
from partita._common.text import listed

FORMAT_OF_SUFFIX = {
    ".csv": "csv", ".txt": "csv", ".dat": "csv", ".data": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".arrow": "feather",
    ".npy": "npy", ".npz": "npz", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json",
    ".xlsx": "xlsx", ".xlsm": "xlsx",
}  # fmt: skip
COMPRESSION_SUFFIXES = (".gz", ".bz2", ".xz")
# not only of tables, or not made for programs; in a folder, others come first
SECONDARY_SUFFIXES = (".txt", ".dat", ".data", ".json", ".xlsx", ".xlsm")


def without_compression_suffix(path: str | Path) -> Path:
    """Drop the suffix of a compressed file: wine.csv for wine.csv.gz."""
    file = Path(path)
    return file.with_suffix("") if file.suffix.lower() in COMPRESSION_SUFFIXES else file


def format_from_name(path: str | Path) -> str | None:
    """Return the format that the suffix stands for, None if it stands for none."""
    return FORMAT_OF_SUFFIX.get(data_suffix(path))


def data_suffix(path: str | Path) -> str:
    """Return the suffix in lower case, without that of a compression."""
    return without_compression_suffix(path).suffix.lower()


def expand_path(path: str | Path) -> list[Path]:
    """Return the files of a folder or pattern, sorted by name, or the path of a single file."""
    if str(path) == "":
        raise TableError("The path of the data is empty. Give the path of a file.")
    place = Path(path)
    if place.is_dir():
        files, kind = _files_in_folder(place), "folder"
    elif not place.exists() and glob.has_magic(str(path)):
        matches = map(Path, sorted(glob.glob(str(path), recursive=True)))
        files, kind = [file for file in matches if file.is_file()], "pattern"
    else:
        return [place]
    if not files:
        raise TableError(
            f"{path}: this {kind} has no files to read. Supported suffixes: "
            f"{', '.join(FORMAT_OF_SUFFIX)}."
        )
    return files


def _files_in_folder(folder: Path) -> list[Path]:
    entries = [file for file in sorted(folder.iterdir()) if file.name[0] not in "._"]
    files = [file for file in entries if format_from_name(file) and file.is_file()]
    # next to tables, generic text is most often a README, and JSON a setting
    return [file for file in files if data_suffix(file) not in SECONDARY_SUFFIXES] or files


def missing_file_error(file: Path) -> TableError:
    """Return the error about a file that does not exist; it suggests similar names."""
    if file.is_symlink():
        return TableError(f"{file} is a link to a file that does not exist.")
    return TableError(f"There is no file {file}{_suggestion(file)}")


def _suggestion(file: Path) -> str:
    siblings = {other.name.lower(): other.name for other in sorted(file.parent.glob("*"))}
    similar = difflib.get_close_matches(file.name.lower(), list(siblings), n=3, cutoff=0.6)
    if similar:
        return f". Did you mean {listed(siblings[name] for name in similar)}?"
    tables = [name for name in siblings.values() if format_from_name(name)]
    return f". The folder has {listed(tables)}." if tables else "."

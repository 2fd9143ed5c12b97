"""The files that a path, a folder or a glob pattern stands for, and their bytes."""

from __future__ import annotations

import difflib
import glob
from pathlib import Path

from partita._common.text import listed
from partita.tables.compression import without_compression_suffix
from partita.tables.file_formats import FORMAT_OF_SUFFIX, GENERIC_TEXT_SUFFIXES, format_from_name
from partita.tables.table import TableError


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
    files = [
        file
        for file in sorted(folder.iterdir())
        if format_from_name(file) is not None and file.name[0] not in "._" and file.is_file()
    ]
    # next to tables, generic text is most often a README
    tables = [
        file
        for file in files
        if without_compression_suffix(file).suffix.lower() not in GENERIC_TEXT_SUFFIXES
    ]
    return tables or files


def read_bytes(file: Path) -> bytes:
    """Return the content of a file; if it does not exist, the error suggests similar names."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise TableError(f"There is no file {file}{_suggestion(file)}") from None
    except OSError as error:
        raise TableError(f"{file} cannot be read: {error.strerror or error}.") from None


def _suggestion(file: Path) -> str:
    siblings = {other.name.lower(): other.name for other in sorted(file.parent.glob("*"))}
    similar = difflib.get_close_matches(file.name.lower(), list(siblings), n=3, cutoff=0.6)
    if similar:
        return f". Did you mean {listed(siblings[name] for name in similar)}?"
    tables = [name for name in siblings.values() if format_from_name(name) is not None]
    return f". The folder has {listed(tables)}." if tables else "."

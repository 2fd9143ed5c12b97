"""`scan`: the rows of files, as large as they may be."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.data_files import expand_path, format_from_name, missing_file_error
from partita._common.errors import TableError
from partita._common.parameters import Got, must_be
from partita._common.text import listed, quoted
from partita.scanning.arrow_batches import ArrowBatches
from partita.scanning.npy_files import NpyFiles
from partita.scanning.spooled_rows import collect_rows
from partita.scanning.standardizing import Standardization
from partita.scanning.stored_rows import StoredRows

FORMATS = ("npy", "parquet", "feather", "csv", "tsv")
PathLike = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class OpenedRows:
    """The rows of a scan: in memory, or read from a file whenever they are needed."""

    rows: Array | StoredRows
    names: tuple[str, ...] | None  # of the features, if the files have names
    weight: Floats | None


@dataclass(frozen=True, slots=True)
class Scan:
    """Rows of files, which estimators read block by block if they do not fit memory.

    Made by `scan`. Nothing is read before a fit, unless rows of the files are already `opened`.
    """

    files: tuple[Path, ...]
    format: str
    columns: tuple[str | int, ...] | None = None
    weights: str | int | None = None
    opened: OpenedRows | None = None
    scaling: Standardization | None = None

    def __repr__(self) -> str:
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"<partita.scan of {self.files[0].name}{more}, {self.format}>"

    def open(self, memory: float) -> OpenedRows:
        """Return the rows: as an array if that takes a quarter of `memory` bytes at most."""
        if self.opened is not None:
            return self.opened
        opened = self._read(memory)
        if self.scaling is None:
            return opened
        blocks = self.scaling.apply(opened.rows, opened.weight)
        d, dtype = opened.rows.shape[1], np.dtype(np.float64)
        return replace(opened, rows=collect_rows(blocks, d, dtype, memory / 2))

    def _read(self, memory: float) -> OpenedRows:
        """Return the rows as the files have them."""
        reader = self._reader()
        direct = reader.stored_rows() if isinstance(reader, NpyFiles) else None
        if direct is not None and self.columns is None and self.weights is None:
            return OpenedRows(direct[:] if 4 * direct.nbytes <= memory else direct, None, None)
        weight: list[Floats] = []
        blocks = self._split_weights(reader, weight)
        first = next(blocks, None)
        if first is None:
            raise TableError(f"{self.files[0]} has no rows.")
        names, d = None, first.shape[1]
        if isinstance(reader, ArrowBatches):
            names = tuple(reader.features(d + len(weight))[:d])
        rows = collect_rows(chain([first], blocks), d, reader.dtype, memory / 2)
        return OpenedRows(rows, names, np.concatenate(weight) if weight else None)

    def with_features(self, names: Sequence[str]) -> Scan:
        """Return a scan of these columns, unless others were chosen or the files lack them."""
        if self.opened is not None or self.columns is not None or self.format == "npy":
            return self
        try:
            ArrowBatches(self.files, self.format, list(names))
        except TableError:  # the names of features that are numbers of a list
            return self
        return replace(self, columns=tuple(names))

    def _reader(self) -> NpyFiles | ArrowBatches:
        columns = None if self.columns is None else list(self.columns)
        if self.weights is not None and columns is not None:
            columns.append(self.weights)
        kind: Any = NpyFiles if self.format == "npy" else ArrowBatches
        reader: NpyFiles | ArrowBatches = kind(self.files, self.format, columns)
        if self.weights is not None and columns is None:  # all the others are features
            others = [name for name in reader.columns if name != self.weights]
            reader = kind(self.files, self.format, [*others, self.weights])
        return reader

    def _split_weights(
        self, reader: NpyFiles | ArrowBatches, weight: list[Floats]
    ) -> Iterator[Array]:
        """Yield the features of every block; the last column is the weights, if there are any."""
        for block in reader.blocks():
            if self.weights is None:
                yield block
            else:
                weight.append(np.array(block[:, -1], dtype=np.float64))
                yield block[:, :-1]


def scan(
    path: PathLike | Sequence[PathLike],
    *,
    columns: Sequence[str | int] | None = None,
    weights: str | int | None = None,
    scale: str | Scan | None = None,
) -> Scan:
    """Return the rows of files for `fit`, `predict` and `transform`, however large they are.

    Rows that fit `memory_limit` are read into memory. Otherwise a fit reads them again in every
    pass: .npy files where they are; those of other formats are decoded once into a temporary file
    (the environment variable TMPDIR names its folder). The result has the bits of a fit in memory.

    Parameters
    ----------
    path : path, or list of paths
        A file, a folder, or a pattern such as "part-*.parquet": .npy, .parquet, .feather, .arrow,
        .csv or .tsv, all of one format. Several files are read in the order of their names, or of
        the list.
    columns : list of names, default=None
        The features; those of .npy files are numbered from 0. None means all columns, which must
        then be numbers. A column of lists of the same length becomes several features.
    weights : name, default=None
        The column with the weight of each row.
    scale : {"standard"}, Scan or None, default=None
        "standard" clusters (x − mean) / standard deviation of each feature: two more passes
        measure them, and the scaled rows are stored in memory or in a temporary file. New rows need
        the same units: give the scan of the fit as their `scale`.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from partita import KMeans, scan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/rows.npy", [[1.0], [2.0], [8.0], [9.0]])
    ...     KMeans(2, random_state=0).fit(scan(f"{folder}/rows.npy")).inertia_
    1.0
    """
    files, form = files_of(path, "path")
    if isinstance(columns, str) or (columns is not None and not len(columns)):
        raise must_be("columns", "a list of one name at least", columns)
    kept = None if columns is None else tuple(columns)
    if weights is not None and kept is not None and weights in kept:
        raise must_be("weights", "a column that is no feature", Got(quoted(weights)))
    return Scan(files, form, kept, weights, scaling=_scaling_of(scale))


def _scaling_of(scale: Any) -> Standardization | None:
    if scale is None:
        return None
    if isinstance(scale, Scan):
        if scale.scaling is None or scale.scaling.mean is None:
            got = Got("a scan that no fit has scaled")
            raise must_be("scale", 'a scan with scale="standard" that was fitted', got)
        return scale.scaling
    if not isinstance(scale, str) or scale != "standard":
        raise must_be("scale", '"standard", a scan or None', scale)
    return Standardization()


def files_of(path: Any, parameter: str) -> tuple[tuple[Path, ...], str]:
    """Return the files of a path or a list of paths, and their format.

    Errors are about `parameter`.
    """
    places = [path] if isinstance(path, (str, os.PathLike)) else path
    are_paths = isinstance(places, (list, tuple)) and all(
        isinstance(place, (str, os.PathLike)) for place in places
    )
    if not are_paths or not places:
        raise must_be(parameter, "the path of a file, or a list of such paths", path)
    files = tuple(file for place in places for file in _existing_files(place, parameter))
    formats = {file: format_from_name(file) for file in files}
    others = [str(file) for file, form in formats.items() if form not in FORMATS]
    if others:
        raise must_be(
            parameter,
            f"a file that can be read in blocks ({', '.join(FORMATS)})",
            Got(listed(others)),
            "Read other files with pandas or polars, and pass the rows themselves.",
        )
    if len(set(formats.values())) > 1:
        got = Got(listed(sorted({str(form) for form in formats.values()})))
        raise must_be(parameter, "files of one format", got)
    return files, str(formats[files[0]])


def _existing_files(place: PathLike, parameter: str) -> list[Path]:
    """Return the files that a path stands for; there is one at least."""
    try:
        files = expand_path(os.fspath(place))
        absent = [file for file in files if not file.exists()]
    except TableError:
        raise
    except (OSError, ValueError) as error:  # too long, or with a null character
        raise must_be(parameter, "the path of a file", place) from error
    if absent:
        raise missing_file_error(absent[0])
    return files

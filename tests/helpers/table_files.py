"""Small files for tests of tables."""

from __future__ import annotations

import io
import time
import tracemalloc
import zipfile

import numpy as np

from partita.tables import Table, read_table


def write_file(folder, content, name="a.csv"):
    """Write text or bytes to a file, and return its path."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read_columns(path, **options):
    """Return the columns of a file as lists by name."""
    return read_table(path, **options).data.to_pydict()


def table_of(**columns):
    """Return a table of these columns that is not text."""
    import pyarrow as pa

    return Table(pa.table(columns), "here", "parquet")


def growth(work, size):
    """Return how much longer eight times the size takes: 8 if linear, 64 if quadratic."""

    def seconds(n, times):  # of the CPU, not of the clock: other work does not count
        spent = []
        for _ in range(times):
            start = time.process_time()
            work(n)
            spent.append(time.process_time() - start)
        return min(spent)

    return seconds(8 * size, 1) / seconds(size, 3)


def zip_of(path, **members):
    """Write a compressed zip of these members, and return its path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in members.items():
            out.writestr(name, content)
    return path


def npy_of(array):
    """Return the bytes of an .npy file."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def peak_of(read):
    """Return the largest number of bytes that Python allocated meanwhile."""
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

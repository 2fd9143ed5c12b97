"""`write_group_names`: other names of groups in a model file, and nothing else changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from partita.model_file.contents import read_contents
from partita.model_file.group_naming import GroupNames, check_group_names
from partita.safe_file.container import Container, write_container


def write_group_names(
    path: str | Path, group_names: Any, out: str | Path | None = None, *, force: bool = False
) -> GroupNames | None:
    """Write the names of groups to a model file, and return all of them.

    Groups that a mapping leaves out keep their names. The other fields and the arrays are copied as
    they are, also those that only a newer partita knows.

    Parameters
    ----------
    path : str or Path
        The model file.
    group_names : sequence of str, or mapping from numbers to str
        As of `save`.
    out : str or Path, optional
        The file to write; default: `path` is replaced.
    force : bool, default=False
        Whether `out` may replace another file.

    Examples
    --------
    >>> import tempfile
    >>> from partita import KMeans, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(KMeans(2, random_state=0).fit([[1], [2], [9]]), f"{folder}/a.partita")
    ...     write_group_names(f"{folder}/a.partita", {1: "high"})
    ...     load(f"{folder}/a.partita").saved_.group_names
    (None, 'high')
    (None, 'high')
    """
    contents = read_contents(path)
    names = check_group_names(group_names, contents.n_clusters, contents.saved.group_names)
    with Container(path) as file:
        header = file.header()
        arrays = {name: file.array(name) for name in file.array_names}
    header["group_names"] = None if names is None else list(names)
    write_container(path if out is None else out, header, arrays, force or out is None)
    return names

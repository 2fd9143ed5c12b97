"""Model files with a wrong value in any field or array, and everything a loaded model can do."""

from __future__ import annotations

import copy
import io
import json
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from helpers.damaged_models import npy
from partita import report, save
from partita.cli import show_model
from partita.model_file.contents import read_contents
from partita.model_file.loading import read_labeller

VALUES = (
    None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**62, 10**30, 10**400, -(10**400), 0.5, -0.0,
    1e308, -1e308, 5e-324, "", "x", "euclidean", "precomputed", "rbf", "cosine", "auto", "chi2",
    "additive_chi2", "polynomial", "sigmoid", "laplacian", "linear", "manhattan", "chebyshev",
    "haversine", "nan_euclidean", "mahalanobis", "jaccard", "minkowski", "drop", "separate",
    "\x1b[31m", "x" * 5000, [], [1], ["a", "b", "c"], [[1.0, 2.0, 3.0]] * 3, {}, {"a": 1},
    {"$float": "nan"}, {"$float": "inf"}, {"$float": "-inf"}, {"$tuple": []},
    {"$tuple": [1.0, 2.0]},
    {"$dict": [[2, 0.5]]}, {"$dict": [[None, None]]}, {"gamma": 1.0}, {"p": 2}, {"w": [1, 2, 3]},
)  # fmt: skip


def places(tree, path=()):
    """The paths of all values of a header, those of objects and lists included; of a list, two."""
    items = tree.items() if isinstance(tree, dict) else list(enumerate(tree))[:2]
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def mutate_header(header, rng):
    """Change a header in place; say how."""
    where = list(places(header))
    path = where[rng.integers(len(where))]
    inner, key = at(header, path[:-1]), path[-1]
    how = rng.integers(8)
    if how == 0 and isinstance(inner, dict):
        del inner[key]
        return f"{path} deleted"
    if how == 1:
        other = where[rng.integers(len(where))]
        value, theirs = copy.deepcopy(inner[key]), copy.deepcopy(at(header, other))
        if path != other[: len(path)] and other != path[: len(other)]:
            inner[key], at(header, other[:-1])[other[-1]] = theirs, value
            return f"{path} and {other} swapped"
    if how == 2:
        other = where[rng.integers(len(where))]
        inner[key] = copy.deepcopy(at(header, other))
        return f"{path} is a copy of {other}"
    if how == 3 and isinstance(inner[key], list) and inner[key]:
        inner[key] = inner[key][:-1] if rng.integers(2) else [*inner[key], inner[key][0]]
        return f"{path} has another length"
    if how == 4 and type(inner[key]) in (int, float):
        factor = (-1, 0, 2, 1000, 10**18)[rng.integers(5)]
        inner[key] *= factor
        return f"{path} times {factor}"
    inner[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
    return f"{path} is {str(inner[key])[:40]}"


def mutate_array(values, rng):
    """Return another array, and say how it differs."""
    if values.ndim == 0:
        return values.reshape(1), "one axis"
    n = len(values)
    some = rng.integers(n) if n else 0
    one = np.zeros_like(values, dtype=bool)
    if values.size:
        one.flat[rng.integers(values.size)] = True
    ways = {
        "transposed": lambda: values.T.copy(),
        "one shorter": lambda: values[:-1],
        "one longer": lambda: np.concatenate([values, values[:1]]),
        "no rows": lambda: values[:0],
        "one row": lambda: values[:1],
        "narrower": lambda: values[..., :-1],
        "wider": lambda: np.concatenate([values, values[..., :1]], axis=-1),
        "flat": lambda: values.ravel(),
        "three axes": lambda: values[None, None] if values.ndim == 1 else values[None],
        "a number": lambda: values.ravel()[:1].reshape(()),
        "float32": lambda: values.astype("f4"),
        "float64": lambda: values.astype("f8"),
        "int64": lambda: np.nan_to_num(values).astype("i8"),
        "uint8": lambda: np.nan_to_num(values).astype("u1"),
        "bool": lambda: values.astype(bool),
        "NaN": lambda: np.where(one, np.nan, values),
        "inf": lambda: np.where(one, np.inf, values),
        "huge": lambda: np.where(one, values.dtype.type(1e9), values),
        "larger": lambda: np.where(one, _largest(values.dtype), values).astype(values.dtype),
        "negative": lambda: -values,
        "one negative": lambda: np.where(one, -1, values).astype(values.dtype),
        "zeros": lambda: values * 0,
        "duplicate": lambda: np.where(np.arange(n) == some, values[0], values.T).T,
        "reversed": lambda: values[::-1].copy(),
        "swapped bytes": lambda: values.astype(values.dtype.newbyteorder()),
        "Fortran": lambda: np.asfortranarray(values),
        "plus one": lambda: values + values.dtype.type(1),
    }
    names = sorted(ways)
    while True:
        name = names[rng.integers(len(names))]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return ways[name](), name
            except (ValueError, IndexError, TypeError):  # it has no second axis, or no rows
                continue


def _largest(dtype):
    return (
        np.finfo(dtype).max
        if dtype.kind == "f"
        else 0
        if dtype.kind == "b"
        else np.iinfo(dtype).max
    )


def mutated(parts, rng):
    """The members of a file with one or two changes, and a description of these."""
    parts, said = dict(parts), []
    arrays = sorted(name for name in parts if name.endswith(".npy"))
    for _ in range(1 + (rng.random() < 0.2)):
        if arrays and rng.random() < 0.4:
            name = arrays[rng.integers(len(arrays))]
            values, how = mutate_array(np.load(io.BytesIO(parts[name])), rng)
            if rng.random() < 0.1:
                other = arrays[rng.integers(len(arrays))]
                parts[name], parts[other], how = parts[other], parts[name], f"swapped with {other}"
            else:
                parts[name] = npy(values)
            said.append(f"{name}: {how}")
        else:
            header = json.loads(parts["header.json"])
            said.append(mutate_header(header, rng))
            parts["header.json"] = json.dumps(header).encode()
    return parts, "; ".join(said)


# --- using a loaded model -------------------------------------------------------------------------


def suitable_rows(model, sparse):
    """Rows of the width that the model asks for; dissimilarities and affinities are >= 0."""
    inner = model[-1] if hasattr(model, "steps") else model
    steps = model.saved_.pipeline
    width = (steps and steps.n_features_in) or inner.n_features_in_
    rows = np.abs(np.random.default_rng(3).normal(5.0, 6.0, (6, width))) + 0.1
    return sp.csr_array(rows) if sparse else rows


def use_without_class(path, rows=None):
    """Do what the command line does with a file without the class of its model."""
    contents = read_contents(path)
    show_model.print_model(contents, path)
    show_model.to_dict(contents)
    labeller = read_labeller(path)
    steps = labeller.saved_.pipeline
    width = (steps and steps.n_features_in) or labeller.n_features_in_
    rows = np.full((2, width), 3.0) if rows is None else rows
    return labeller.predict(rows if steps is None else steps.apply(rows))


def use(model, rows, path, with_report=False):
    """Do everything that a fitted model can do; ValueErrors are answers, other errors are not."""
    inner = model[-1] if hasattr(model, "steps") else model
    uses = {
        "predict": lambda: model.predict(rows),
        "transform": lambda: model.transform(rows),
        "score": lambda: model.score(rows),
        "soft_membership": lambda: inner.soft_membership(rows),
        "membership_": lambda: inner.membership_ if hasattr(inner, "labels_") else None,
        "repr": lambda: (repr(model), str(getattr(inner, "stopped_by_", ""))),
        "trace": lambda: inner.trace_.to_dict() if hasattr(inner, "trace_") else None,
        "save": lambda: save(model, path, force=True),
    }
    if hasattr(inner, "inverse_transform"):
        uses["inverse_transform"] = lambda: inner.inverse_transform(np.zeros(3, int))
    if with_report:
        uses["report"] = lambda: report.render(report.Fitted(model, rows))
    for name, action in uses.items():
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                action()
        except NotFittedError:
            raise
        except AttributeError as error:
            if "not available with kernel=" not in str(error.__cause__ or error):
                raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error
        except ValueError as error:
            if isinstance(error, np.linalg.LinAlgError) or name == "save":
                raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error
        except Exception as error:
            raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error

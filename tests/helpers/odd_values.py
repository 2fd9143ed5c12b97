"""Values that no parameter expects, and those that only some do."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import scipy.sparse as sp


class Plain:
    """A class without arguments."""


def returning(value):
    return lambda *args, **keywords: value


ODD_VALUES = {
    "an array": np.array([1, 2]),
    "an array of text": np.array(["a", "b"]),
    "a square array": np.ones((3, 3)),
    "an array of no dimensions": np.array(2),
    "a text of no dimensions": np.array("auto"),
    "times": np.array(["2020-01-01"], dtype="datetime64[D]"),
    "no time": np.datetime64("NaT"),
    "a masked array": np.ma.array([[1.0, 2.0]], mask=[[True, False]]),
    "a sparse array": sp.csr_array(np.eye(3)),
    "a series": pd.Series([1, 2, 3]),
    "a frame": pd.DataFrame({"a": [1, 2]}),
    "an object array": np.array([[None, 1], [2, 3]], dtype=object),
    "an empty list": [],
    "an empty dictionary": {},
    "a set": {1, 2},
    "a mixed tuple": (1, "a"),
    "a long list": list(range(100_000)),
    "ragged": [[1, 2], [3]],
    "nested": [[[1]]],
    "an object": object(),
    "a class": Plain,
    "None": None,
    "True": True,
    "Ellipsis": ...,
    "a slice": slice(2),
    "-1": -1,
    "0": 0,
    "2**31": 2**31,
    "2**63": 2**63,
    "10**30": 10**30,
    "10**400": 10**400,
    "10**5000": 10**5000,  # Python does not print it
    "a list of 10**400": [[10**400, 1, 2]],
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "1e308": 1e308,
    "5e-324": 5e-324,
    "complex": 1 + 2j,
    "Decimal": Decimal(2),
    "Fraction": Fraction(3, 2),
    "float32": np.float32(2),
    "int64": np.int64(3),
    "an empty text": "",
    "a long text": "x" * 100_000,
    "half a surrogate pair": "a\ud800b",
    "a null character": "a\0b",
    "str_": np.str_("lloyd"),
    "no bytes": b"",
    "bytes": b"abc",
    "returns text": returning("text"),
    "returns None": returning(None),
    "returns complex": returning(1j),
    "returns NaN": returning(float("nan")),
    "returns a cube": returning(np.ones((2, 2, 2))),
    "returns ragged": returning([[1], [2, 3]]),
    "returns a dictionary": returning({}),
}

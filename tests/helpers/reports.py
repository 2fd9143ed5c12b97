"""Fits to report on, a parser of pages, and hostile text."""

from __future__ import annotations

import base64
import functools
import json
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_wine, make_blobs

from partita import KMeans, choose_k
from partita.diagnosis import Diagnosis
from partita.report import Fitted, silhouette_sample, write_report

VOID = {"meta", "link", "br", "wbr", "img", "input", "hr"}
NONE = Diagnosis("a fit", (), ())
EVIL = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "{{ 7*7 }}{% raw %}",
    "<!-- <![CDATA[ ]]> -->",
    "a\x00b\x1b[31m",
    "\u202egnp.exe\u202c",
    "\u2028\u2029",
    "\ud800",
    "&lt;b&gt;&amp;",
    "x" * 1_000_000,
    "",
)


class Page(HTMLParser):
    """The elements of a page, their attributes and texts; unbalanced elements are an error."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.texts = [], [], []
        self.raw = {}
        self.feed(text)
        self.close()
        assert not self.open, f"{self.open} are not closed"

    def handle_starttag(self, tag, attributes):
        assert len(dict(attributes)) == len(attributes), f"an attribute of {tag} is there twice"
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            attributes = self.elements[-1][1]
            kind = attributes.get("id", self.open[-1]) if "type" in attributes else self.open[-1]
            self.raw[kind] = self.raw.get(kind, "") + data
        else:
            self.texts.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    @property
    def shape(self):
        """What an attack would change: elements and the names of their attributes.

        Names may be broken where their characters allow it.
        """
        return [
            (tag, tuple(sorted(attributes))) for tag, attributes in self.elements if tag != "wbr"
        ]

    @property
    def text(self):
        return re.sub(r"[ \n\t]+", " ", " ".join(self.texts))

    @property
    def data(self):
        """The values of the map."""
        return json.loads(self.raw["data"])

    @property
    def names(self):
        return json.loads(self.raw["names"])


def blobs(n=60, k=3, d=4, seed=0):
    return make_blobs(n, centers=k, n_features=d, cluster_std=0.7, random_state=seed)[0]


def fitted(n=60, k=3, d=4, **more):
    X = blobs(n, k, d)
    return Fitted(KMeans(k, random_state=0).fit(X), X, **{"diagnosis": NONE, **more})


@functools.cache
def wine_report():
    data = load_wine()
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    sweep = choose_k(X, range(2, 6), criteria=("inertia", "silhouette", "bic"), random_state=0)
    model = KMeans(3, n_init=5, random_state=0).fit(X)
    return Fitted(
        model,
        X,
        original=data.data,
        names=data.feature_names,
        ids=[f"wine {i}" for i in range(len(X))],
        scaling=SimpleNamespace(kind="standard"),
        sweep=sweep,
        source="wine.csv",
        command="partita fit wine.csv --k 3",
        seed=0,
        seconds=0.25,
        versions={"partita": "0.1.0"},
        rows_total=180,
        left_out={"grower": "text"},
        fingerprint="sha256:abc",
    )


def saved(path, made):
    """Write a report, and return its path."""
    write_report(path, made)
    return path


def budget(rows, n, d):
    """Products of differences that so many of n rows take."""
    return rows * n * (d + silhouette_sample.DISTANCE_PRODUCTS)


def unpacked(text, kind):
    return np.frombuffer(base64.b64decode(text), kind)

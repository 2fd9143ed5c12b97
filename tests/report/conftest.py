"""A browser, and the reports that several files of tests read, each made once."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.browser import Browser
from helpers.reports import NONE, saved, wine_report

from partita import KMeans
from partita.report import Fitted


@pytest.fixture(scope="module")
def browser():
    opened = Browser()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def wine():
    return wine_report()


@pytest.fixture(scope="session")
def wine_page(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("wine") / "wine report.html", wine_report())


@pytest.fixture(scope="session")
def many_page(tmp_path_factory):
    """A hundred groups, more features than a phone is wide."""
    X = np.random.default_rng(0).normal(size=(4000, 16)) * 1e7
    ids = [f"a rather long identifier of row number {i}" for i in range(len(X))]
    model = KMeans(100, random_state=0, max_iter=3).fit(X)
    made = Fitted(model, X, ids=ids, diagnosis=NONE)
    return saved(tmp_path_factory.mktemp("many") / "many.html", made)


@pytest.fixture(scope="session")
def flat_page(tmp_path_factory):
    """Two features whose numbers are long."""
    X = np.random.default_rng(0).normal(size=(500, 2)) * 1e6 + 1e8
    model = KMeans(3, random_state=0).fit(X)
    made = Fitted(model, X, names=["first", "second"], diagnosis=NONE)
    return saved(tmp_path_factory.mktemp("flat") / "flat.html", made)

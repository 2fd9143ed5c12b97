"""The files that tests of damage start from."""

from __future__ import annotations

import pytest
from helpers.damaged_models import KINDS
from helpers.saved_models import fitted

from partita import save


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """For every kind: the model, and the bytes of its file."""
    folder, found = tmp_path_factory.mktemp("files"), {}
    for kind in KINDS:
        model = fitted(kind)
        save(model, folder / "a.partita", force=True)
        found[kind] = model, (folder / "a.partita").read_bytes()
    return found

"""A file labels rows without the class of its model, with the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.saved_models import CASES, NEW, fitted

from partita import SphericalKMeans, load, save
from partita.estimators.center_model import CenterModel
from partita.model_file.loading import read_labeller

CENTERED = [name for name in CASES if name.startswith(("kmeans", "minibatch", "spherical"))]


@pytest.mark.parametrize("case", CENTERED)
@pytest.mark.parametrize("rows", [1, 7, 40])
def test_labels_have_the_bits_of_the_estimator(case, rows, tmp_path):
    make = CASES[case][1]
    save(fitted(case), tmp_path / "a.partita")
    labeller = read_labeller(tmp_path / "a.partita")
    assert isinstance(labeller, CenterModel)
    X = make(NEW[:rows])
    labels = labeller.predict(np.ascontiguousarray(X) if hasattr(X, "columns") else X)
    expected = load(tmp_path / "a.partita").predict(X)
    assert labels.dtype == expected.dtype
    assert np.array_equal(labels, expected)


def test_rows_of_zeros_are_refused_as_by_the_estimator(tmp_path):
    model = SphericalKMeans(2, random_state=0).fit(NEW)
    save(model, tmp_path / "a.partita")
    errors = []
    for labeller in (model, read_labeller(tmp_path / "a.partita")):
        with pytest.raises(ValueError, match="rows of zeros") as error:
            labeller.predict(np.zeros((3, 3)))
        errors.append(str(error.value))
    assert errors[0] == errors[1]


def test_other_members_are_read_whole(tmp_path):
    model = fitted("medoids")
    save(model, tmp_path / "a.partita")
    labeller = read_labeller(tmp_path / "a.partita")
    assert type(labeller) is type(model)
    assert np.array_equal(labeller.predict(NEW), model.predict(NEW))

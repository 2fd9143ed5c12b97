"""`KMedoids(metric="gower")`: numbers, orders, categories and presences, with gaps."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partita
from partita import KMedoids

KINDS = {"size": "number", "grade": "ordinal", "colour": "nominal", "owns": "asymmetric"}
GRADES = ["low", "middle", "high"]
PARAMS = {"ordinal": {"grade": GRADES}, "asymmetric": ["owns"]}


def gower(table, weights=(1, 1, 1, 1)):
    """Dissimilarities (n, n) by Gower's formula, pair by pair."""
    coded = table.assign(grade=[GRADES.index(g) if g in GRADES else np.nan for g in table.grade])
    out = np.ones((len(table), len(table)))
    for i, j in itertools.product(range(len(table)), repeat=2):
        total = mass = 0.0
        absences = False
        for (name, kind), weight in zip(KINDS.items(), weights, strict=True):
            a, b = coded[name].iloc[i], coded[name].iloc[j]
            if pd.isna(a) or pd.isna(b):
                continue
            if kind == "asymmetric" and not (a or b):
                absences = True
                continue
            if kind in ("number", "ordinal"):
                extent = coded[name].max() - coded[name].min()
                total += weight * (abs(a - b) / extent if extent > 0 else 0.0)
            else:
                total += weight * (a != b)
            mass += weight
        out[i, j] = total / mass if mass else float(not absences)
    return out


def customers(seed, n, gaps=0.15):
    """A table of all four kinds of columns; every row has a value in the first one."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "size": rng.integers(0, 6, n).astype(float),
            "grade": rng.choice(GRADES, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "owns": rng.choice([True, False], n),
        }
    ).astype({"grade": object, "colour": object, "owns": object})
    for name in ("grade", "colour", "owns"):
        table.loc[rng.random(n) < gaps, name] = None
    return table


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")  # a few rows may be the same
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 12))
def test_distances_are_those_of_the_formula(seed, n):
    table = customers(seed, n)
    weights = np.random.default_rng(seed).choice([0.5, 1.0, 2.0], 4)
    params = {**PARAMS, "weights": weights}
    model = KMedoids(2, metric="gower", metric_params=params, random_state=0).fit(table)
    expected = gower(table, weights)[:, model.medoid_indices_]
    np.testing.assert_allclose(model.transform(table), expected, rtol=1e-12, atol=1e-15)
    assert np.array_equal(model.labels_, model.predict(table))
    assert model.inertia_ == pytest.approx(model.transform(table).min(axis=1).sum(), rel=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_search_finds_the_best_pair_of_rows(seed):
    table = customers(seed, 12, gaps=0.0)
    d = gower(table)
    best = min(d[:, list(pair)].min(axis=1).sum() for pair in itertools.combinations(range(12), 2))
    model = KMedoids(2, metric="gower", metric_params=PARAMS, quality="best", random_state=0)
    assert model.fit(table).inertia_ == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_repeated_rows_and_the_order_of_rows_does_not_matter(seed):
    table = customers(seed, 14)
    rng = np.random.default_rng(seed)
    weight, order = rng.integers(1, 4, 14), rng.permutation(14)
    best = KMedoids(2, metric="gower", metric_params=PARAMS, quality="best", random_state=0)
    weighted = best.fit(table, sample_weight=weight).inertia_
    repeated = table.loc[np.repeat(np.arange(14), weight)].reset_index(drop=True)
    assert best.fit(repeated).inertia_ == weighted
    assert best.fit(table.iloc[order], sample_weight=weight[order]).inertia_ == weighted


def test_the_bits_do_not_depend_on_threads_or_memory():
    table = customers(4, 300)
    fits = [
        KMedoids(4, metric="gower", n_threads=threads, memory_limit=limit, random_state=0)
        for threads, limit in ((1, None), (2, None), (2, 0))
    ]
    first, *others = [model.fit(table) for model in fits]
    for other in others:
        assert np.array_equal(first.medoid_indices_, other.medoid_indices_)
        assert first.inertia_ == other.inertia_


def test_frames_lists_and_masked_arrays_are_the_same_table():
    table = customers(5, 30)
    model = KMedoids(3, metric="gower", random_state=0)
    expected = model.fit(table).inertia_
    cells = table.to_numpy(dtype=object)
    masked = np.ma.MaskedArray(table.fillna("?").to_numpy(dtype=object), pd.isna(table).to_numpy())
    assert model.fit(cells.tolist()).inertia_ == expected
    assert model.fit(masked).inertia_ == expected
    pl = pytest.importorskip("polars")
    assert model.fit(pl.from_pandas(table)).inertia_ == expected


def test_new_rows_may_have_unseen_categories_and_values_beyond_the_range():
    table = customers(6, 30)
    model = KMedoids(3, metric="gower", metric_params=PARAMS, random_state=0).fit(table)
    row = table.iloc[[0]].assign(colour="violet", size=1e9)
    clipped = row.assign(size=table["size"].max())
    assert np.array_equal(model.transform(row), model.transform(clipped))
    medoids = table.iloc[model.medoid_indices_].reset_index(drop=True)
    assert model.predict(medoids).tolist() == [0, 1, 2]


def test_models_survive_files_and_pickles(tmp_path):
    table = customers(7, 30)
    model = KMedoids(3, metric="gower", metric_params=PARAMS, random_state=0).fit(table)
    partita.save(model, tmp_path / "model.partita")
    for copy in (partita.load(tmp_path / "model.partita"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(copy.transform(table), model.transform(table))


def test_medoids_are_rows_with_few_gaps():
    table = customers(8, 60, gaps=0.0)
    table.loc[:9, ["grade", "colour", "owns"]] = None
    model = KMedoids(4, metric="gower", random_state=0).fit(table)
    assert (model.medoid_indices_ > 9).all()
    gappy = customers(8, 200, gaps=0.3)  # a third of the rows are whole
    model = KMedoids(4, metric="gower", random_state=0).fit(gappy)
    assert gappy.notna().all(axis=1).iloc[model.medoid_indices_].all()


def test_a_quick_table_is_not_written_to_memory(monkeypatch):
    monkeypatch.setattr("partita.source.dissimilarities.QUICK_BYTES", 1000)
    table = customers(9, 80)
    quick = KMedoids(3, metric="gower", random_state=0).fit(table)
    assert quick.paths_ == ("fasterpam: columns computed as needed",)
    searched = KMedoids(3, metric="gower", random_state=0, quality="balanced").fit(table)
    assert "columns in memory" in searched.paths_[0]
    monkeypatch.undo()
    assert KMedoids(3, metric="gower", random_state=0).fit(table).inertia_ == quick.inertia_


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"ordinal": ["grade"]}, "Give their order"),
        ({"ordinal": {"grade": ["low", "high"]}}, "no place for 'middle'"),
        ({"asymmetric": ["colour"]}, "Say which value is present"),
        ({"weights": [1, 2]}, "4 numbers, one for each column"),
        ({"categorial": ["size"]}, "Did you mean 'categorical'"),
        ({"categorical": ["owns"], "asymmetric": ["owns"]}, "one kind for each column"),
    ],
)
def test_errors_say_what_to_do(params, text):
    with pytest.raises(ValueError, match=text):
        KMedoids(2, metric="gower", metric_params=params).fit(customers(0, 10, gaps=0.0))


def test_rows_of_gaps_only_are_named():
    table = customers(0, 10)
    table.loc[4] = [np.nan, None, None, None]
    with pytest.raises(ValueError, match=r"nothing but gaps in 1 row: 4\. Drop these rows"):
        KMedoids(2, metric="gower").fit(table)

"""Compare the bits of about 200 fits, over all members and paths, with those of another commit.

    python tests/same_bits.py write bits.json      # on the commit before
    python tests/same_bits.py compare bits.json    # after a change that must not alter any result

Only public names are used, so that the script runs on either side of a refactoring.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import partita
from partita import halting

FITTED = (
    "cluster_centers_", "labels_", "inertia_", "n_iter_", "medoid_indices_", "objective_interval_",
    "start_", "best_k", "diagonal_shift_", "n_swaps_",
)  # fmt: skip
PATHS = (
    "lloyd", "plain", "blocks", "neighbours", "panels", "hamerly", "yinyang", "prefix", "bytes",
)  # fmt: skip
INITS = ("k-means++", "k-means||", "mini-batch", "random", "box", "random-partition")


def tables() -> dict[str, np.ndarray]:
    """Name some data sets of different shape, scale and dtype."""
    rng = np.random.default_rng(5)
    centers = rng.normal(scale=8.0, size=(12, 6))
    blobs = centers[rng.integers(0, 12, 6000)] + rng.normal(size=(6000, 6))
    plane = rng.normal(size=(9, 2))[rng.integers(0, 9, 5000)] * 5 + rng.normal(size=(5000, 2))
    wide = rng.normal(size=(3000, 96)) * np.geomspace(10, 0.01, 96)
    outlier = plane.copy()
    outlier[7] = 1e8
    return {
        "iris": load_iris().data,
        "wine": load_wine().data,
        "digits": load_digits().data.astype(np.float32),
        "cancer": load_breast_cancer().data,
        "blobs": blobs,
        "offset": blobs + 1e6,
        "plane": plane.astype(np.float32),
        "outlier": outlier,
        "wide": wide.astype(np.float32),
        "lattice": rng.integers(0, 4, (2000, 3)).astype(np.float64),
        "bytes": load_digits().data.astype(np.uint8),
    }


def weights_for(n: int) -> np.ndarray:
    """Make whole and broken weights, some of them zero."""
    return np.random.default_rng(n).integers(0, 4, n) * 0.5


def cases() -> Iterator[tuple[str, Any]]:
    """Give every case a name and a function that returns a fitted model."""
    data = tables()
    for name, X in data.items():
        k = {"wide": 70, "digits": 64, "bytes": 10}.get(name, 9)
        for path in PATHS:
            if path == "prefix" and X.shape[1] < 64:
                continue
            if path == "blocks" and X.shape[1] > 8:
                continue
            model = partita.KMeans(k, algorithm=path, random_state=3)
            yield f"kmeans {name} {path}", lambda model=model, X=X: model.fit(X)
        weighted = partita.KMeans(5, random_state=1, n_init=3, n_threads=1)
        yield (
            f"kmeans {name} weighted",
            lambda m=weighted, X=X: m.fit(X, sample_weight=weights_for(len(X))),
        )
        single = partita.KMeans(1, random_state=1)
        yield f"kmeans {name} one", lambda m=single, X=X: m.fit(X)
        batch = partita.MiniBatchKMeans(6, random_state=2)
        yield f"minibatch {name}", lambda m=batch, X=X: m.fit(X)
        sphere = partita.SphericalKMeans(5, zero_rows="drop", random_state=2, n_init=2)
        yield f"spherical {name}", lambda m=sphere, X=X: m.fit(X)
    for init in INITS:
        for name in ("iris", "blobs", "plane"):
            model = partita.KMeans(6, init=init, random_state=8)
            yield f"start {init} {name}", lambda m=model, X=data[name]: m.fit(X)
    for empty in ("relocate", "keep", "drop"):
        start = np.vstack([data["wine"][:3], np.full((2, 13), 1e5)])
        model = partita.KMeans(5, init=start, n_init=1, empty=empty)
        yield f"empty {empty}", lambda m=model: m.fit(data["wine"])
    stops = {
        "target": halting.Target(50.0) | halting.MaxIter(4),
        "shift": halting.Shift(0.5),
        "decrease": halting.Decrease(1.0) & halting.MaxIter(2),
        "relative": halting.RelDecrease(0.01),
        "same": halting.SamePartition(),
        "when": halting.When(lambda trace: "enough" if len(trace) > 2 else None),
    }
    for name, halt in stops.items():
        model = partita.KMeans(4, halt=halt, random_state=0)
        yield f"halt {name}", lambda m=model: m.fit(data["iris"])
    yield from sparse_cases(data)
    yield from kernel_cases(data)
    yield from medoid_cases(data)
    yield from prototype_cases(data)
    yield from insight_cases(data)


def sparse_cases(data: dict[str, np.ndarray]) -> Iterator[tuple[str, Any]]:
    """K-means, directions and mini-batches of sparse rows."""
    text = sp.random_array((1500, 400), density=0.03, rng=np.random.default_rng(1), format="csr")
    digits = sp.csr_array(data["digits"])
    for name, X in (("text", text), ("digits", digits), ("single", text.astype(np.float32))):
        for cls in (partita.KMeans, partita.MiniBatchKMeans, partita.SphericalKMeans):
            more = {"zero_rows": "separate"} if cls is partita.SphericalKMeans else {}
            model = cls(8, random_state=4, **more)
            yield f"sparse {name} {cls.__name__}", lambda m=model, X=X: m.fit(X)


def kernel_cases(data: dict[str, np.ndarray]) -> Iterator[tuple[str, Any]]:
    """Kernels by name, given matrices, graphs, and the Nystrom approximation."""
    for name in ("iris", "wine", "digits"):
        X = data[name][:600]
        for kernel in ("rbf", "linear", "polynomial", "laplacian", "cosine"):
            model = partita.KernelKMeans(4, kernel=kernel, random_state=6, n_init=2)
            yield f"kernel {name} {kernel}", lambda m=model, X=X: m.fit(X)
        scaled = (X - X.mean(axis=0)) / (X.std(axis=0) + 1)
        gram = scaled.astype(np.float64) @ scaled.T.astype(np.float64)
        model = partita.KernelKMeans(4, kernel="precomputed", random_state=6)
        yield f"kernel {name} precomputed", lambda m=model, K=gram: m.fit(K)
        graph = sp.csr_array(
            np.exp(-np.maximum(np.add.outer(gram.diagonal(), gram.diagonal()) - 2 * gram, 0))
        )
        model = partita.KernelKMeans(3, kernel="normalized-cut", random_state=6)
        yield f"kernel {name} cut", lambda m=model, A=graph: m.fit(A)
        model = partita.KernelKMeans(3, kernel="nearest_neighbors", random_state=6)
        yield f"kernel {name} neighbours", lambda m=model, X=X: m.fit(X)
    for name in ("blobs", "plane", "digits"):
        model = partita.KernelKMeans(6, approximation="nystrom", random_state=0)
        yield f"kernel {name} nystrom", lambda m=model, X=data[name]: m.fit(X)
    for name in ("iris", "wine"):  # rows of the matrix are made again
        model = partita.KernelKMeans(6, approximation="exact", memory_limit=1e4, random_state=0)
        yield f"kernel {name} remade", lambda m=model, X=data[name]: m.fit(X)


def medoid_cases(data: dict[str, np.ndarray]) -> Iterator[tuple[str, Any]]:
    """Every search and several metrics."""
    for method in ("fasterpam", "pam", "alternate", "clara"):
        for name in ("iris", "wine", "plane"):
            model = partita.KMedoids(4, method=method, random_state=7)
            yield f"medoids {name} {method}", lambda m=model, X=data[name][:700]: m.fit(X)
    for seed in range(12):
        model = partita.KMedoids(5, random_state=seed, memory_limit=1e3 if seed % 2 else None)
        yield f"medoids seed {seed}", lambda m=model: m.fit(data["wine"])
        model = partita.KMeans(7, random_state=seed, n_init=2, n_threads=1 + seed % 2)
        yield f"kmeans seed {seed}", lambda m=model: m.fit(data["digits"])
    for metric in ("manhattan", "sqeuclidean", "cosine", "chebyshev", "braycurtis"):
        model = partita.KMedoids(3, metric=metric, random_state=7, n_init=2)
        yield f"medoids {metric}", lambda m=model: m.fit(data["wine"])
    X = data["iris"]
    matrix = np.abs(X[:, None] - X[None]).sum(axis=2)
    model = partita.KMedoids(3, metric="precomputed", random_state=1)
    yield "medoids precomputed", lambda m=model: m.fit(matrix, sample_weight=weights_for(150))
    model = partita.KMedoids(7, k_range=(2, 7), random_state=1)
    yield "medoids k_range", lambda m=model: m.fit(X)


def prototype_cases(data: dict[str, np.ndarray]) -> Iterator[tuple[str, Any]]:
    """Tables of numbers, and of some features cut into categories."""
    for name in ("iris", "wine", "plane"):
        X = data[name][:700].astype(np.float64)
        X[:, -1] = np.floor(4 * (X[:, -1] - X[:, -1].min()) / (np.ptp(X[:, -1]) + 1))
        model = partita.KPrototypes(4, categorical=[-1], random_state=7, n_init=3)
        weight = weights_for(len(X))
        yield f"prototypes {name}", lambda m=model, X=X: m.fit(X)
        yield f"prototypes {name} weights", lambda m=model, X=X, w=weight: m.fit(X, sample_weight=w)


class Answer:
    """Arrays that a case made, under the names that are compared."""

    def __init__(self, *values: Any) -> None:
        self.cluster_centers_ = np.concatenate(
            [np.ravel(np.asarray(v, np.float64)) for v in values]
        )


def insight_cases(data: dict[str, np.ndarray]) -> Iterator[tuple[str, Any]]:
    """What stands on fits: sweeps, merge trees, silhouettes, cells, factors."""
    for name in ("iris", "wine", "blobs"):
        X = data[name][:1500]
        for cls in (
            partita.KMeans,
            partita.SphericalKMeans,
            partita.KMedoids,
            partita.KernelKMeans,
        ):
            if cls is partita.KernelKMeans and name != "iris":
                continue
            if cls is partita.KMedoids and name == "blobs":
                continue

            def sweep(cls=cls, X=X):
                found = partita.choose_k(
                    X, range(1, 9), estimator=cls(random_state=0), random_state=0
                )
                return Answer(
                    [found.best_k],
                    *(
                        np.asarray(v, float)
                        for v in found.to_dict().values()
                        if np.asarray(v).dtype.kind in "fi"
                    ),
                )

            yield f"choose_k {name} {cls.__name__}", sweep

        def views(X=X):
            model = partita.KMeans(5, random_state=0).fit(X)
            tree = partita.merge_tree(model)
            found = partita.cells(model)
            return Answer(
                tree.prices, tree.cost_at(2), partita.silhouette_samples(X, model.labels_),
                found.margins(X) if hasattr(found, "margins") else [0], model.soft_membership(X),
                model.transform(X), partita.factorize(model, X).objective,
            )  # fmt: skip

        yield f"views {name}", views


def bits_of(model: Any) -> dict[str, str]:
    """Digest every fitted attribute that is compared."""
    out = {}
    for name in FITTED:
        value = getattr(model, name, None)
        if value is None:
            continue
        value = value.toarray() if sp.issparse(value) else np.asarray(value)
        value = value.astype(str) if value.dtype == object else value  # categories
        out[name] = f"{value.dtype}{value.shape}" + hashlib.sha256(value.tobytes()).hexdigest()[:16]
    trace = getattr(model, "trace_", None)
    if trace is not None:
        costs = np.array([[p.cost, p.cost_after, p.shift, p.moved_points] for p in trace])
        out["trace_"] = hashlib.sha256(costs.tobytes()).hexdigest()[:16]
    return out


def all_bits() -> dict[str, dict[str, str]]:
    """Run every case."""
    out = {}
    for name, run in cases():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                out[name] = bits_of(run())
            except (ValueError, TypeError) as error:
                out[name] = {"error": type(error).__name__}
    return out


def main(what: str, path: str) -> int:
    """Write the bits of this commit, or compare them with a file."""
    bits = all_bits()
    if what == "write":
        with open(path, "w") as file:
            json.dump(bits, file, indent=1, sort_keys=True)
        print(f"{len(bits)} cases written, {sum('error' in b for b in bits.values())} errors")
        return 0
    with open(path) as file:
        before = json.load(file)
    wrong = sorted(
        name for name in before.keys() | bits.keys() if before.get(name) != bits.get(name)
    )
    for name in wrong:
        print(f"differs: {name}: {before.get(name)} -> {bits.get(name)}")
    print(f"{len(bits)} cases compared, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))

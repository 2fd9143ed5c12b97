"""Draw the gallery again: `make gallery`. Data comes with scikit-learn or is generated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits, load_wine, make_blobs, make_circles
from sklearn.preprocessing import StandardScaler

from partita import KernelKMeans, KMeans, KMedoids, SphericalKMeans, choose_k
from partita.plots import (
    ClusterDisplay,
    CriteriaDisplay,
    IterationsDisplay,
    MergeTreeDisplay,
    ObjectiveDisplay,
    ProfileDisplay,
    SilhouetteDisplay,
)

FOLDER = Path(__file__).parent / "gallery"
MAX_BYTES = 60_000  # of a picture


def displays():
    """Yield the name and the display of every picture."""
    blobs = make_blobs(900, centers=9, cluster_std=0.9, random_state=3)[0]
    model = KMeans(9, random_state=0).fit(blobs)
    yield "clusters", ClusterDisplay.from_estimator(model, blobs)
    yield "silhouette", SilhouetteDisplay.from_estimator(model, blobs)
    yield "tree", MergeTreeDisplay.from_estimator(model)

    yield "criteria", CriteriaDisplay.from_sweep(choose_k(blobs, range(2, 16), random_state=0))

    slow = KMeans(9, init="random", n_init=1, random_state=1).fit(blobs)
    yield "iterations", IterationsDisplay.from_estimator(slow, blobs)
    objective = ObjectiveDisplay.from_estimator(model, name="k-means++")
    ObjectiveDisplay.from_estimator(slow, name="random rows").plot(objective.ax_)
    yield "objective", objective

    wine = load_wine(as_frame=True).data
    scaled = StandardScaler().set_output(transform="pandas").fit_transform(wine)
    wine_model = KMeans(3, n_init=10, random_state=0).fit(scaled)
    yield "profile", ProfileDisplay.from_estimator(wine_model, scaled)
    yield "projected", ClusterDisplay.from_estimator(wine_model, scaled)

    digits = load_digits().data
    yield "digits", ClusterDisplay.from_estimator(KMeans(10, random_state=0).fit(digits), digits)
    rings = make_circles(500, factor=0.3, noise=0.06, random_state=0)[0]
    yield "rings", ClusterDisplay.from_estimator(KernelKMeans(2, random_state=0).fit(rings), rings)
    cloud = np.random.default_rng(0).normal(size=(800, 2))
    cones = SphericalKMeans(5, random_state=0).fit(cloud)
    yield "directions", ClusterDisplay.from_estimator(cones, cloud)
    blocks = KMedoids(5, metric="manhattan", random_state=0).fit(cloud)
    yield "medoids", ClusterDisplay.from_estimator(blocks, cloud)


def main() -> None:
    """Write every picture; fail if one is too large."""
    FOLDER.mkdir(exist_ok=True)
    for name, display in displays():
        path = display.save(FOLDER / f"{name}.png", dpi=100)
        with Image.open(path) as image:  # fewer colours take a third of the bytes
            reduced = image.convert("RGB").quantize(96)
        reduced.save(path, optimize=True)
        size = path.stat().st_size
        print(f"{path.name:16} {size:6} bytes  {display.title}")
        if size > MAX_BYTES:
            raise SystemExit(f"{path} must have at most {MAX_BYTES} bytes, got {size}.")


if __name__ == "__main__":
    main()

"""Outliers carry means away, and leave medoids where they are."""

from __future__ import annotations

import numpy as np

from partita import KMeans, KMedoids

CENTERS = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])


def main() -> None:
    rng = np.random.default_rng(0)
    rows = np.concatenate([center + rng.normal(size=(190, 2)) for center in CENTERS])
    outliers = rng.uniform(300, 500, (30, 2))  # 5 % of all rows
    everything = np.concatenate([rows, outliers])

    # one cluster more than there are groups: room for the outliers
    models = {
        "means": KMeans(4, n_init=5, random_state=0),
        "medoids": KMedoids(4, n_init=5, random_state=0),
        "medoids, squared": KMedoids(4, metric="sqeuclidean", n_init=5, random_state=0),
    }
    print("how far the nearest center is from each of the three groups:")
    for name, model in models.items():
        centers = model.fit(everything).cluster_centers_
        gaps = np.linalg.norm(CENTERS[:, None] - centers, axis=2).min(axis=1)
        print(f"{name:>17}:", ", ".join(f"{gap:.2f}" for gap in gaps))

    chosen = KMedoids(k_range=(2, 8), random_state=0).fit(rows)
    print("groups without outliers, by the medoid silhouette:", len(chosen.medoid_indices_))
    for k, value in sorted(chosen.silhouettes_.items()):
        print(f"  K = {k}: {value:.3f}")


if __name__ == "__main__":
    main()

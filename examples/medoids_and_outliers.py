"""Outliers pull means away from the groups, but not medoids."""

from __future__ import annotations

import numpy as np

from partita import KMeans, KMedoids

CENTERS = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])


def main() -> None:
    rng = np.random.default_rng(0)
    rows = np.concatenate([center + rng.normal(size=(190, 2)) for center in CENTERS])
    outliers = rng.uniform(300, 500, (30, 2))  # 5 % of all rows
    X = np.concatenate([rows, outliers])

    # one more cluster than groups, for the outliers
    models = {
        "means": KMeans(4, n_init=5, random_state=0),
        "medoids": KMedoids(4, n_init=5, random_state=0),
        "medoids, squared": KMedoids(4, metric="sqeuclidean", n_init=5, random_state=0),
    }
    print("distance from each of the three groups to the nearest center:")
    for name, model in models.items():
        centers = model.fit(X).cluster_centers_
        distances = np.linalg.norm(CENTERS[:, None] - centers, axis=2).min(axis=1)
        print(f"{name:>17}:", ", ".join(f"{distance:.2f}" for distance in distances))

    model = KMedoids(k_range=(2, 8), random_state=0).fit(rows)
    print(
        "number of groups without outliers, by the medoid silhouette:", len(model.medoid_indices_)
    )
    for k, value in sorted(model.silhouettes_.items()):
        print(f"  K = {k}: {value:.3f}")


if __name__ == "__main__":
    main()

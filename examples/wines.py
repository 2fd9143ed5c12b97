"""Cluster 178 Italian wines by their chemistry: choose K, fit, describe and diagnose.

The wines come from three growers; the clustering does not use that.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from partita import KMeans, choose_k, diagnose, show_versions


def main() -> None:
    wine = load_wine()
    rows = StandardScaler().fit_transform(wine.data)
    sweep = choose_k(rows, range(2, 9), random_state=0)
    print(f"\nHow many clusters?\n\n{sweep}")
    model = KMeans(n_clusters=sweep.best_k, n_init=10, random_state=0).fit(rows)

    n, d = rows.shape
    total = float(((rows - rows.mean(axis=0)) ** 2).sum())
    print(f"\n{n} wines, {d} measurements, {sweep.best_k} clusters")
    print(f"J = {model.inertia_:.6f}, {1 - model.inertia_ / total:.1%} of the variance explained")
    print(f"stopped after {model.n_iter_} iterations: {model.stopped_by_}\n")

    print("iteration      cost     shift   moved")
    for step in model.trace_:
        print(f"{step.iteration:9} {step.cost:9.3f} {step.shift:9.4f} {step.moved_points:7}")

    print("\ncluster  wines  by grower    what sets it apart (in standard deviations)")
    for j, center in enumerate(model.cluster_centers_):
        members = model.labels_ == j
        growers = "/".join(str(count) for count in np.bincount(wine.target[members], minlength=3))
        top = np.argsort(-np.abs(center))[:3]
        traits = ", ".join(f"{wine.feature_names[t]} {center[t]:+.1f}" for t in top)
        print(f"{j:7} {members.sum():6}  {growers:10}   {traits}")
    print(f"\n{diagnose(model, rows)}\n")
    show_versions()


if __name__ == "__main__":
    main()

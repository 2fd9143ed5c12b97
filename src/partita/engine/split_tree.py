"""The tree of a bisecting fit: which cluster was split when, and the centers on both sides."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Floats, Ints
from partita.centers import Centers
from partita.exact_weights import Weights
from partita.source.protocol import Source
from partita.stats import ClusterStats


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SplitTree:
    """K − 1 splits of the node 0, all rows: split s makes of a node the nodes 2s + 1 and 2s + 2.

    Attributes
    ----------
    split : ndarray of shape (K − 1,)
        The node that each split divides, from the first split to the last.
    leaves : ndarray of shape (K,)
        The nodes that were not split, by the label of their rows: from left to right.
    centers : ndarray of shape (2K − 1, n_features)
        The centers of all nodes, in the dtype of X.
    stats : ClusterStats
        Weight, mean and sse of all nodes.
    costs : ndarray of shape (2K − 1,)
        The weighted sum of squared distances of the rows of each node to its center.
    """

    split: Ints
    leaves: Ints
    centers: Floats
    stats: ClusterStats
    costs: Floats

    @property
    def linkage(self) -> Floats:
        """The tree (K − 1, 4) in the format of SciPy: the last split is the first merge.

        The height of a merge is the decrease of the objective by its split, for clusters about
        their means. SciPy requires heights that never decrease: a merge that is cheaper than an
        earlier one repeats that height.
        """
        left = 2 * np.arange(len(self.split))[::-1] + 1
        heights = np.maximum.accumulate(self.stats.merge_price(left, left + 1))
        pairs, k = self.merges, len(self.leaves)
        size = np.ones(2 * k - 1)
        for t, (i, j) in enumerate(pairs.tolist()):
            size[k + t] = size[i] + size[j]
        return np.column_stack([pairs, heights, size[k:]]).astype(np.float64)

    @property
    def merges(self) -> Ints:
        """Pairs (K − 1, 2) that undo the splits, the last one first, as SciPy numbers clusters.

        Leaves have their labels, and the t-th merge makes cluster K + t.
        """
        k = len(self.leaves)
        number = np.empty(2 * k - 1, np.intp)
        number[self.leaves] = np.arange(k)
        number[self.split[::-1]] = k + np.arange(k - 1)
        return np.sort(number[1:].reshape(-1, 2)[::-1], axis=1)

    def first(self, k: int) -> SplitTree:
        """The tree of the first k − 1 splits."""
        nodes = np.arange(2 * k - 1)
        split = self.split[: k - 1]
        return SplitTree(
            split, leaves_of(split), self.centers[nodes], self.stats.take(nodes), self.costs[nodes]
        )

    def numbered(self, order: Ints) -> SplitTree:
        """The tree in which the leaf that now has label order[j] has label j."""
        return replace(self, leaves=self.leaves[order])

    def labels_in(self, fewer: SplitTree) -> Ints:
        """For each label (K,), that of its rows in the tree of fewer splits."""
        parent = np.zeros(len(self.centers), np.intp)
        parent[1:] = np.repeat(self.split, 2)
        node, known = self.leaves.copy(), len(fewer.centers)
        while (is_new := node >= known).any():
            node[is_new] = parent[node[is_new]]
        label = np.zeros(known, np.int32)
        label[fewer.leaves] = np.arange(len(fewer.leaves))
        return label[node]

    def label_rows(self, source: Source) -> Ints:
        """Send every row down to a leaf: to the nearer center at each split, the left on ties."""
        rows_of: dict[int, Ints] = {0: np.arange(source.n)}
        for s, node in enumerate(self.split.tolist()):
            rows_of |= self._halves(source, rows_of.pop(node), s)
        labels = np.empty(source.n, np.int32)
        for label, leaf in enumerate(self.leaves.tolist()):
            labels[rows_of[leaf]] = label
        return labels

    def _halves(self, source: Source, rows: Ints, s: int) -> dict[int, Ints]:
        """The rows of the two nodes of the s-th split."""
        left, side = 2 * s + 1, np.full(len(rows), -1, np.int32)
        if len(rows):
            whole = len(rows) == source.n
            some = source if whole else source.subset(rows, Weights.of(None, len(rows)))
            some.assign(returned_centers(self.centers[left : left + 2]), side, None)
        return {left: rows[side == 0], left + 1: rows[side == 1]}


def leaves_of(split: Ints) -> Ints:
    """The nodes (K,) that are not split, from left to right."""
    split_of = {node: s for s, node in enumerate(split.tolist())}
    found, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        if node in split_of:
            left = 2 * split_of[node] + 1
            waiting += [left + 1, left]
        else:
            found.append(node)
    return np.array(found, dtype=np.intp)


def returned_centers(centers: Floats) -> Centers:
    """Centers as they are returned to the user, in the form of the engine."""
    return Centers(np.ascontiguousarray(centers, dtype=np.float64), np.zeros(centers.shape[1]))

"""The optimum of K-means for a handful of rows, by all partitions, in exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction


def labellings(n, k):
    """All partitions of n rows into at most k clusters, as restricted growth strings."""
    strings = [[0]]
    for _ in range(n - 1):
        strings = [
            [*head, label] for head in strings for label in range(min(max(head) + 2, k))
        ]  # fmt: skip
    return strings


def cost_of_set(rows, weight):
    """Σ w‖x − mean‖² = Σ w_i w_l ‖x_i − x_l‖² over pairs, / Σ w, exactly."""
    pairs = [
        weight[i] * weight[j] * sum((a - b) ** 2 for a, b in zip(rows[i], rows[j], strict=True))
        for i in range(len(rows))
        for j in range(i)
    ]
    return sum(pairs, Fraction(0)) / sum(weight)


def optimum(rows, weight, k):
    """The least J of at most k clusters, as a fraction, and its labels."""
    rows = [[Fraction(float(value)) for value in row] for row in rows]
    weight = [Fraction(float(value)) for value in weight]
    known = {}
    best, best_labels = None, None
    for labels in labellings(len(rows), k):
        total = Fraction(0)
        for label in set(labels):
            members = tuple(i for i, own in enumerate(labels) if own == label)
            if members not in known:
                known[members] = cost_of_set(
                    [rows[i] for i in members], [weight[i] for i in members]
                )
            total += known[members]
        if best is None or total < best:
            best, best_labels = total, labels
    return best, best_labels

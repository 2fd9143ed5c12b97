"""`partition_fingerprint`: a text that identifies rows in partitions, however they are cut."""

from __future__ import annotations

import hashlib
import operator
from dataclasses import dataclass

import numpy as np

from partita._kernels.weighted_draws import LEAF_ROWS
from partita.source.partitions import Part, Partitions

DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class LeafDigests:
    """The sum of the hashes of some leaves; those of all leaves add up."""

    total: int

    def __add__(self, other: LeafDigests) -> LeafDigests:
        return LeafDigests((self.total + other.total) % (1 << 8 * DIGEST_BYTES))


def hash_leaves(part: Part) -> LeafDigests:
    """Hash every leaf of a partition: its number, its rows and their weights, bit by bit."""
    found = LeafDigests(0)
    for i in range(0, len(part.rows), LEAF_ROWS):
        rows = slice(i, i + LEAF_ROWS)
        digest = hashlib.blake2b(str(part.start + i).encode(), digest_size=DIGEST_BYTES)
        for values in (part.rows[rows], None if part.weight is None else part.weight[rows]):
            if values is not None:
                little = values.dtype.newbyteorder("<")
                digest.update(np.ascontiguousarray(values, dtype=little).data)
        found += LeafDigests(int.from_bytes(digest.digest(), "big"))
    return found


def partition_fingerprint(partitions: Partitions) -> str:
    """Return a hash of all rows and weights, in one pass over them where they are.

    It depends on the shape, the dtype, every bit and the order of the rows, and not on how they are
    cut: partitions begin at multiples of a leaf. Hashes of leaves are added modulo 2^128, so only
    one number travels.
    """
    shape = int(partitions.starts[-1]), partitions.d
    kind = "weighted" if partitions.weighted else "dense"
    total = partitions.total(hash_leaves, operator.add).total
    head = f"{kind} {shape} {partitions.dtype.newbyteorder('<').str} {total:x}"
    return f"leaves-128:{hashlib.blake2b(head.encode(), digest_size=DIGEST_BYTES).hexdigest()}"

"""Merge trees: fuse the two clusters that cost least, again and again."""

from partita.merging.tree import MergeTree, merge_tree

__all__ = ["MergeTree", "merge_tree"]

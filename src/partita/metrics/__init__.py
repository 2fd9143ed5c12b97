"""Measures of a partition: silhouettes and criteria."""

"""Certificates: how much lower than that of a partition any objective can be."""

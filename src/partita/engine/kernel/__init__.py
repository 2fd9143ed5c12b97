"""Kernel K-means: the step, definiteness, and the Nyström approximation."""

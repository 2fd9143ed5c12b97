"""Lower bounds of the objective of K-means: what no partition into k clusters can beat."""

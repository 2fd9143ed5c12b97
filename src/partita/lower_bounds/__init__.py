"""Lower bounds of the objective of K-means, of all partitions into k clusters."""

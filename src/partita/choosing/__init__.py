"""How many clusters, and how good they are."""

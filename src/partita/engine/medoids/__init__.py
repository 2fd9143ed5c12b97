"""K-medoids: the loop over a search, swaps, and alternation."""

"""New rows compared with those of the fit: how far they lie from their clusters, and drift."""

"""`KernelKMeans` and what only it needs."""

"""`KMedoids` and what only it needs."""

"""The choice of the number of clusters."""

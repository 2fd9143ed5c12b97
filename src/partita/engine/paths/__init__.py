"""Exact ways to make a pass with less work, and the scheduler that chooses among them."""

"""Rigorous lower bounds of J from prices of points: the dual of the programme of partitions."""

"""Best partitions, and the proof: dynamic programming, enumeration, branch and bound."""

"""Groups in words and numbers: what sets each apart, a name for it, and how clear they are."""

"""Progress for people: bars with the time left, and Ctrl-C that keeps the result."""

"""Where data lives: memory now, and every other place through the same few methods."""

"""Files of plain arrays and one JSON header: whatever is in them, reading them runs no code."""

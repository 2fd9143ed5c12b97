"""K-prototypes: tables of numbers and categories."""

"""The search beyond local minima: behind `quality="balanced"` and `quality="best"`."""

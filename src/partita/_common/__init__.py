"""Helpers that every layer may use: threads, memory, text, random state, atomic files."""

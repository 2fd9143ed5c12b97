"""Adapters that ask each library for the same thing: one file per task."""

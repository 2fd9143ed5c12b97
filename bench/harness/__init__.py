"""Shared parts of all benchmarks: processes, timing, memory, data, tables."""

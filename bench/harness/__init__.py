"""What every benchmark needs: processes, timing, memory, data, tables."""

"""Sources of rows: dense, sparse, or read block by block; and tables for kernels and medoids."""

"""Rows of files, read block by block: files may be larger than memory."""

"""Compiled kernels, and their common parts: threads, memory, row access and matrix products."""

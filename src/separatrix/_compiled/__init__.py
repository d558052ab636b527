"""Compiled kernels, and what they share: threads, memory, access to rows, and matrix products."""

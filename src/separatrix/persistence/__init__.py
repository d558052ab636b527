"""The model file, and what must hold of what stands in it."""

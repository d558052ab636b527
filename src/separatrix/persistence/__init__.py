"""The model file, and the conditions that its contents have to meet."""

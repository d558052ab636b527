"""Training mistakes: those of a model, and the fewest that any hyperplane can make."""

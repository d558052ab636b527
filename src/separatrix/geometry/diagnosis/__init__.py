"""The checks of a diagnosis, which find what will hurt a linear classifier."""

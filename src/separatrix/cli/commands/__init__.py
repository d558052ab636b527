"""One command a file, found by its name."""

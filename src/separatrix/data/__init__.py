"""The rows as the solvers see them: designs, labels, validation, moments, columns, hashes."""

"""From the scores of rows to their classes and probabilities."""

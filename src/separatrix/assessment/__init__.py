"""Facts about a fitted model: scores, intervals, weights, findings, records."""

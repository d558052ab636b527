"""Exact arithmetic: sums of products, fractions, whole-number weights, quadratic programs."""

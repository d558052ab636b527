"""Fits that solve equations: least squares, Gaussians, polynomials, and inference."""

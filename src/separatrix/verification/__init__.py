"""Certificates of fitted models, from this library and others, in float64 and in exact numbers."""

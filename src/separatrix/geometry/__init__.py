"""Exact statements about data: hyperplanes, separability, margins and bounds."""

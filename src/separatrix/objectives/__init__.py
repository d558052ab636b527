"""Objectives and proofs about them: losses over data, penalties, bounds."""

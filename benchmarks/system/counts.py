"""Regressions of counts, as :mod:`benchmarks.system.estimators` measures all estimators."""

from __future__ import annotations

from benchmarks.system import Setup
from benchmarks.system.estimators import COUNTS, LEFT, lines, measured, notes

__all__ = ["LEFT", "lines", "measure", "notes"]


def measure(setup: Setup) -> dict:
    return measured(setup, lambda task: task.kind == COUNTS)

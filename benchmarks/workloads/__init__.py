"""The workloads: one data set a file, loaded only when a row of it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from fnmatch import fnmatchcase

from benchmarks.workloads.base import Data, Row, Workload

NAMES = ("reviews", "adult", "dense", "embeddings", "digits")

__all__ = ["NAMES", "Data", "Row", "Workload", "load_workloads", "match"]


def load_workloads() -> list[Workload]:
    """Every workload, in the table's order. None of the data is read yet."""
    modules = (importlib.import_module(f"{__name__}.{name}") for name in NAMES)
    return [module.WORKLOAD for module in modules]


def match(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is asked for: patterns are words or globs, none of them means all names."""
    patterns = list(patterns)
    return not patterns or any(
        fnmatchcase(name, p) or fnmatchcase(name, f"{p} *") for p in patterns
    )

"""The workloads: one data set a file, loaded only when a row of it is requested."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from benchmarks.workloads import adult, dense, digits, embeddings, images, reviews, topics
from benchmarks.workloads.base import Data, Row, Workload

__all__ = ["Data", "Row", "Workload", "load_workloads", "match"]


def load_workloads() -> list[Workload]:
    """Every workload, in the table's order. None of the data is read yet."""
    others = (embeddings, adult, dense, images, topics, digits)
    return [reviews.WORKLOAD, reviews.PAIRS, *(module.WORKLOAD for module in others)]


def match(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name matches: patterns are words or globs, none of them means all names."""
    patterns = list(patterns)
    return not patterns or any(
        fnmatchcase(name, p) or fnmatchcase(name, f"{p} *") for p in patterns
    )

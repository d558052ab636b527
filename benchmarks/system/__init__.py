"""The figures besides the table: growth, threads, limits, memory, cold start, prediction, paths.

One figure a module, each with ``measure(setup)``, which returns what goes into the JSON document,
and ``lines(figure)``, the table with the requirements and whether they are met. Every measurement
runs in a fresh process (`child`), so that nothing is warm that would not be.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

# Nothing is imported here: the processes that time an import start through this package.
FIGURES = {
    "scaling": "benchmarks.system.scaling",
    "threads": "benchmarks.system.threads",
    "limits": "benchmarks.system.limits",
    "memory": "benchmarks.system.memory",
    "cold start": "benchmarks.system.cold_start",
    "prediction": "benchmarks.system.prediction",
    "paths": "benchmarks.system.paths",
    "L1 paths": "benchmarks.system.l1_paths",
    "estimators": "benchmarks.system.estimators",
    "counts": "benchmarks.system.counts",
}


@dataclass(frozen=True)
class Setup:
    """The settings with which a figure is measured.

    ``stock`` holds the workloads' data; ``threads`` is the number of threads of every fit, except
    where that is varied; ``limit`` is in seconds a fit.
    """

    stock: Any
    threads: int
    repeats: int
    limit: float
    quick: bool
    say: Callable[[str], None]


def chosen(patterns: Iterable[str]) -> list[str]:
    """The figures that match the patterns; all of them if there are no patterns."""
    patterns = list(patterns)
    return [name for name in FIGURES if not patterns or any(fnmatchcase(name, p) for p in patterns)]


def figure(name: str) -> Any:
    """The module that measures a figure."""
    return importlib.import_module(FIGURES[name])


def verdict(met: bool) -> str:
    return "met" if met else "NOT MET"

"""What the table leaves out: growth, threads, limits, memory, starting cold, predicting, paths.

One figure a module, each with ``measure(setup)``, which returns what goes into the JSON document,
and ``lines(figure)``, the table with what was asked for and whether it is met. Every measurement
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
    """What a figure is measured with.

    ``stock`` holds the workloads' data, ``threads`` are those of every fit but where they are the
    question, ``limit`` is in seconds a fit.
    """

    stock: Any
    threads: int
    repeats: int
    limit: float
    quick: bool
    say: Callable[[str], None]


def chosen(patterns: Iterable[str]) -> list[str]:
    """The figures that are asked for; none of the patterns means all of them."""
    patterns = list(patterns)
    return [name for name in FIGURES if not patterns or any(fnmatchcase(name, p) for p in patterns)]


def figure(name: str) -> Any:
    """The module that measures a figure."""
    return importlib.import_module(FIGURES[name])


def verdict(met: bool) -> str:
    return "met" if met else "NOT MET"

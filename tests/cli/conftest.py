"""What the tests of the command line share: a terminal, and tables in the test's own folder."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import terminal

run, undrawn = terminal.run, terminal.undrawn

SOURCE = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """Let a process in another folder find the package where it is not installed."""
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))


@pytest.fixture(scope="session")
def _kept() -> dict[Any, Any]:
    """The outputs and new files of commands, by the arguments and the files that were there."""
    return {}


@pytest.fixture
def once(run, tmp_path, _kept) -> Callable[..., terminal.Ran]:
    """Run a command that other tests run on the same files: it is run for the first of them alone.

    Its files are written into the folder of each; what it changes elsewhere, in a folder of a cache
    for instance, is not. A path in the test's own folder is named as it is from there.
    """

    def files() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}

    def run_once(*words: Any) -> terminal.Ran:
        named = [os.path.relpath(w, tmp_path) if isinstance(w, Path) else str(w) for w in words]
        there = files()
        key = (*named, *sorted(there.items()))
        if key not in _kept:
            ran = run(*named)
            _kept[key] = ran, dict(files().items() - there.items())
        ran, made = _kept[key]
        for name, content in made.items():
            (tmp_path / name).write_bytes(content)
        return ran

    return run_once


def write_csv(path: Path, header: list[str], rows: list[list[Any]]) -> Path:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


@pytest.fixture
def make_csv(tmp_path):
    """Write a table into the test's own folder."""

    def make(name: str, header: list[str], rows: list[list[Any]]) -> Path:
        return write_csv(tmp_path / name, header, rows)

    return make


@pytest.fixture
def people(tmp_path) -> Path:
    """A hundred people of two kinds: numbers, a category, missing cells, labels with an order."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(100):
        age, hours = rng.normal(40, 10), rng.normal(35, 8)
        job = ["clerk", "cook", "?"][rng.integers(3)]
        rich = age + hours + 8 * (job == "clerk") + rng.normal(0, 6) > 77
        rows.append([f"{age:.2f}", f"{hours:.2f}", job, ">50K" if rich else "<=50K"])
        if i % 25 == 0:
            rows[-1][1] = ""
    return write_csv(tmp_path / "people.csv", ["age", "hours", "job", "income"], rows)


@pytest.fixture
def model(once, people) -> Path:
    """A model of the people."""
    assert once("fit", people, "--target", "income", "-o", "people.separatrix").code == 0
    return people.with_suffix(".separatrix")

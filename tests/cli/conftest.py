"""A terminal for the tests: run a command in an empty folder and look at what it printed."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from separatrix.cli import main

SOURCE = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """Let a process in another folder find the package where it is not installed."""
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.out)

    @property
    def lines(self) -> dict[str, str]:
        """The labelled lines of stdout."""
        return {line[:10].strip(): line[10:] for line in self.out.splitlines() if line[:1] != " "}

    @property
    def labels(self) -> list[str]:
        """The labels on stdout in their order; a table has one."""
        return [line[:10].rstrip() for line in self.out.splitlines() if line[:1] != " "]

    @property
    def weights(self) -> list[list[str]]:
        """The table of weights on stdout: its head, and a list of words a weight."""
        lines = self.out.splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("weights   feature"))
        stop = start + 1
        while stop < len(lines) and lines[stop].startswith(" " * 10):
            stop += 1
        return [re.split(r"  +", line[10:].strip()) for line in lines[start:stop]]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run one command in the test's own folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEPARATRIX_DEBUG", raising=False)

    def run_command(*words: str) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run_command


@pytest.fixture
def undrawn(monkeypatch):
    """Leave the pictures out of reports: most of the time goes into them, and numbers need none."""
    monkeypatch.setattr("separatrix.report.pictures._plans", lambda *_: iter(()))


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
def model(run, people) -> Path:
    """A model of the people."""
    assert run("fit", people, "--target", "income", "-o", "people.separatrix").code == 0
    return people.with_suffix(".separatrix")

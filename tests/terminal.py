"""A terminal for tests: run a command in the test's own folder and look at what it printed.

A folder of tests has the fixtures where its ``conftest.py`` names them.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import pytest

from separatrix.cli import main


class Ran(NamedTuple):
    """The exit code of a command, and what it printed."""

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

    def line(self, label: str) -> str:
        """The only line with this label on stdout."""
        (found,) = (line for line in self.out.splitlines() if line.startswith(f"{label:<10}"))
        return found[10:]

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

    def run_command(*words: Any) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run_command


@pytest.fixture
def undrawn(monkeypatch):
    """Leave the pictures out of reports: most of the time goes into them, and numbers need none."""
    monkeypatch.setattr("separatrix.report.pictures._plans", lambda *_: iter(()))

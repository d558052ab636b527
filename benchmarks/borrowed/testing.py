"""A plugin for pytest that records which tests use the classes, and the outcome of each.

Environment variables give whose classes are used (``BORROWED_FROM``, theirs or ours) and the file
of the record (``BORROWED_INTO``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.borrowed.watching import Watch

_watch = Watch(ours=os.environ["BORROWED_FROM"] == "ours")
_found: dict[str, dict[str, Any]] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any) -> Iterator[None]:
    _watch.taken()
    result = yield
    _found.setdefault(item.nodeid, {"error": "no report"})["used"] = _watch.taken()
    return result


def pytest_runtest_logreport(report: Any) -> None:
    if report.when != "call" and not report.failed and not report.skipped:
        return
    error = None
    if report.skipped:
        error = "skipped"
    elif report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        error = str(report.longrepr if crash is None else crash.message)[:300]
    _found.setdefault(report.nodeid, {})["error"] = error


def pytest_sessionfinish() -> None:
    Path(os.environ["BORROWED_INTO"]).write_text(json.dumps(_found))

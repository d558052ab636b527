"""Calls a function in a fresh process, and gives back what it returned.

``python -m benchmarks.system.child MODULE:FUNCTION '{"name": value}'`` prints one line of JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.system import Setup
    from benchmarks.worker import Stored
    from benchmarks.workloads.base import Row

ROOT = Path(__file__).resolve().parents[2]
THREADS = (
    "SEPARATRIX_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def threads(n: int) -> dict[str, str]:
    """The variables that set ``n`` threads for every library; they are read when it loads."""
    return dict.fromkeys(THREADS, str(n))


def fresh(function: str, limit: float, environment: dict[str, str], /, **arguments: Any) -> Any:
    """The value of ``"module:function"`` for ``arguments`` (all of it as JSON), in a new process.

    Raises
    ------
    RuntimeError
        If the process fails, with the last line of its standard error, or takes longer than
        ``limit`` seconds.
    """
    command = [sys.executable, "-m", "benchmarks.system.child", function, json.dumps(arguments)]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{function} took longer than {limit:.0f} s") from None
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise RuntimeError(f"{function} failed: {last[0]}")
    return json.loads(done.stdout.splitlines()[-1])


def on_row(
    function: str,
    setup: Setup,
    stored: Stored,
    row: Row,
    environment: dict[str, str],
    /,
    **arguments: Any,
) -> Any:
    """Call `fresh` with a function of a row and of its data in the form that comes first."""
    where = {"folder": str(stored.folder), "row": asdict(row), "form": stored.forms[0]}
    return fresh(function, 10.0 * setup.limit, environment, **where, **arguments)


def main() -> None:
    name, function = sys.argv[1].split(":")
    result = getattr(importlib.import_module(name), function)(**json.loads(sys.argv[2]))
    print(json.dumps(result))


if __name__ == "__main__":
    main()

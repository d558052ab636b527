"""Processes that end in the middle of their work: copies of one that has imported the library."""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np

from separatrix import LinearSVC, cli
from separatrix.scale import scan
from separatrix.scale.passes import watch_passes
from separatrix.solvers.driver import watch


@functools.cache
def _context() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["separatrix.models", "separatrix.cli.commands.fit.run"])
    return context


def started(work: Callable[..., None], *given: Any) -> BaseProcess:
    """Start a process that runs a function of this file."""
    process = _context().Process(target=work, args=given)
    process.start()
    return process


def ended(work: Callable[..., None], *given: Any) -> int | None:
    """The exit code of a process that runs a function of this file: negative for a signal."""
    process = started(work, *given)
    process.join()
    return process.exitcode


def killed_scan(path: Path, cache: Path, stage: str) -> None:
    """Scan a file, and die when a half of its rows has been through a stage."""

    def end(reached: str, rows: int, n_rows: int) -> None:
        if reached == stage and 2 * rows >= n_rows:
            os.kill(os.getpid(), signal.SIGKILL)

    scan(path, "y", cache=cache, memory="1MB", on_progress=end)


def killed_command(number: int, *words: str) -> None:
    """Run a command, and die after the first block of a pass over the rows."""

    def end(progress: Any) -> None:
        if progress.number == number:
            os.kill(os.getpid(), signal.SIGKILL)

    with watch_passes(end):
        cli.main([*words])


def interrupted_fit(path: Path) -> None:
    """Press Ctrl-C a while after a long fit has begun, and write down what came of it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 50)), rng.integers(2, size=20_000)
    model = LinearSVC(loss="hinge", solver="dual", tol=1e-15, max_iter=10**9, C=100.0)
    pressed: list[threading.Timer] = []

    def press(_: Any) -> None:
        if not pressed:
            pressed.append(threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)))
            pressed[0].start()

    try:
        with watch(press):
            model.fit(X, y)
    except KeyboardInterrupt:
        path.write_text(f"{model.certificate_.status} {model.coef_.shape} {len(pressed)}")

"""The progress of reading a table, for whoever shows it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

HowFar = Callable[[], float]
"""A function that gives the share of a scan that is done, of 1; below 0 where it is unknown."""

# Shows a reading, given the function of the share that is done and the approximate number of rows.
Watcher = Callable[[HowFar, "int | None"], AbstractContextManager[Any]]
_watchers: list[Watcher] = []


@contextlib.contextmanager
def watch_reading(watcher: Watcher) -> Iterator[None]:
    """Enter `watcher` around every reading inside.

    Parameters
    ----------
    watcher : callable
        Takes a function of the share of the present scan that is done, which any thread may call,
        and about how many rows there are (None where that is not known); gives a context.
    """
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


@contextlib.contextmanager
def watched(connection: Any, about: Callable[[], int | None]) -> Iterator[None]:
    """Let what DuckDB reads through a connection be watched, if anybody wants to."""
    if not _watchers:
        yield
        return
    connection.execute("SET enable_progress_bar = true")
    connection.execute("SET enable_progress_bar_print = false")
    with contextlib.ExitStack() as stack:
        for watcher in _watchers:
            stack.enter_context(watcher(lambda: connection.query_progress() / 100.0, about()))
        yield

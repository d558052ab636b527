"""Passes over the blocks: run, counted, reported, and kept for a fit that continues later."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.scale.blocks import BlockedData
from separatrix.scale.checkpoints import Checkpoint
from separatrix.scale.engines import Engine, Local, Task
from separatrix.scale.folds import BlockFolds, in_folds
from separatrix.scale.shared_passes import PassScheduler


@dataclass(frozen=True)
class PassProgress:
    """The progress of a pass over the blocks.

    Attributes
    ----------
    number : int
        The number of the pass, from 1.
    rows, n_rows : int
        The number of rows that are done, and of all rows.
    seconds : float
        Seconds since the pass began.
    """

    number: int
    rows: int
    n_rows: int
    seconds: float

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.rows / self.seconds if self.seconds > 0.0 else 0.0


_watchers: ContextVar[tuple[Callable[[PassProgress], None], ...]] = ContextVar("passes", default=())


@contextlib.contextmanager
def watch_passes(callback: Callable[[PassProgress], None]) -> Iterator[None]:
    """Call ``callback`` after every block of the passes inside the ``with`` statement."""
    token = _watchers.set((*_watchers.get(), callback))
    try:
        yield
    finally:
        _watchers.reset(token)


class Passes:
    """The passes of one fit.

    Parameters
    ----------
    data : BlockedData
    engine : Engine, optional
        The engine that makes the passes; by default that of the data, or this process.
    checkpoint : Checkpoint, optional
        The checkpoint that keeps the results of the passes.

    Attributes
    ----------
    count : int
        The number of passes so far.
    seconds : float
        Seconds that the passes took together.
    """

    def __init__(
        self, data: BlockedData, engine: Engine | None = None, checkpoint: Checkpoint | None = None
    ) -> None:
        self.data, self.checkpoint = data, checkpoint
        self.engine = engine or data.engine or Local()
        self.placed = self.engine.place(data.blocks)
        self.count = 0
        self.seconds = 0.0
        self.rounds: PassScheduler | None = None
        # Whether rows have weights of their own; for numbers the pass for their facts finds it out.
        self.weighted = bool(np.any(data.class_rows != data.class_totals))
        # Where the rows of every block are among those of all folds.
        self.folds: list[BlockFolds] | None = None
        # The part of the fit whose points are kept, where these come one after another.
        self.part = ""

    def sums(
        self, task: Task, shared: Any, check: Callable[[], None] | None = None
    ) -> dict[str, np.ndarray]:
        """The sums over all blocks of the results of a function.

        Within rounds (:mod:`~separatrix.scale.shared_passes`) others share the pass.
        """
        member = None if self.rounds is None else self.rounds.member
        if member is not None:
            return member.ask(task, shared, check)
        return self.at_once(task, shared, check)

    def at_once(
        self, task: Task, shared: Any, check: Callable[[], None] | None = None
    ) -> dict[str, np.ndarray]:
        """:meth:`sums`, by a pass of its own."""
        self._keep_all()
        start = time.perf_counter()
        each: tuple[Any, ...] = ()
        if self.folds is not None:
            task, shared, each = in_folds, (task, shared), (self.folds,)
        try:
            return self.engine.reduce(task, self.placed, shared, self._on_progress(check), *each)
        finally:
            self.seconds += time.perf_counter() - start

    def each(
        self,
        task: Task,
        shared: Any,
        check: Callable[[], None] | None = None,
        each: Any = None,
    ) -> Iterator[Any]:
        """The results of a function for every block, one after another."""
        if self.folds is not None and each is None:
            task, shared, each = in_folds, (task, shared), self.folds
        on_progress = self._on_progress(check)
        for k, result in enumerate(self.engine.map(task, self.placed, shared, each)):
            on_progress(k)
            yield result

    def _on_progress(self, check: Callable[[], None] | None) -> Callable[[int], None]:
        self.count += 1
        number, start, total = self.count, time.perf_counter(), self.data.n_rows
        rows = 0

        def on_progress(k: int) -> None:
            nonlocal rows
            rows += self.data.blocks[k].n_rows
            seconds = time.perf_counter() - start
            for watcher in _watchers.get():
                watcher(PassProgress(number, rows, total, seconds))
            if check is not None:
                check()

        return on_progress

    def keep(self, theta: np.ndarray, account: dict[str, np.ndarray]) -> None:
        """Write down what is known of a point, so that it need not be found out again."""
        if self.checkpoint is None:
            return
        member = None if self.rounds is None else self.rounds.member
        self.checkpoint.hold(self.part if member is None else member.name, theta, account)
        if member is None:
            self.checkpoint.save(self.count)

    def _keep_all(self) -> None:
        """Write down what fits that share passes have held, before the next pass."""
        if self.checkpoint is not None and self.rounds is not None and self.count > 0:
            self.checkpoint.save(self.count)

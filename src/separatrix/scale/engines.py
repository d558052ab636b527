"""Engines: what goes over the blocks, and where.

An engine has three methods.  ``place`` puts blocks where they will be worked on, ``map`` applies a
function to the rows of every block, and ``reduce`` adds up what a function gives, along the tree of
:mod:`~separatrix.scale.sums`, wherever parts of it are worked out.  Everything else, the objective,
the method, the certificate, knows blocks and sums and no engine.  A function is given the rows of a
block, what all blocks share and what belongs to that block alone; it must be importable by name, so
that it can be sent to another process.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from separatrix._compiled import pool
from separatrix.scale.blocks import Block, Rows
from separatrix.scale.sums import TreeSum

#: ``task(rows, shared, own)``: the rows of a block, the data that all blocks share, and its own.
Task = Callable[[Rows, Any, Any], Any]


class Engine(ABC):
    """The face of an engine; subclass it to add one.

    Examples
    --------
    One block after another, in the calling process:

    >>> import numpy as np
    >>> from separatrix import LogisticRegression
    >>> from separatrix.scale import Engine, scan
    >>> class Sequential(Engine):
    ...     def map(self, task, blocks, shared, each=None):
    ...         for block, own in zip(blocks, each or [None] * len(blocks)):
    ...             yield task(block.load(), shared, own)
    >>> data = scan(np.arange(8.0)[:, None], [0, 0, 1, 0, 1, 0, 1, 1], block_rows=3)
    >>> LogisticRegression().fit(data, engine=Sequential()).certificate_.status
    'optimal'
    """

    def place(self, blocks: Sequence[Block]) -> Sequence[Any]:
        """Put the blocks where they will be worked on; what :meth:`map` takes for them."""
        return blocks

    @abstractmethod
    def map(
        self, task: Task, blocks: Sequence[Any], shared: Any, each: Sequence[Any] | None = None
    ) -> Iterator[Any]:
        """The results of a function for every block, in the order of the blocks.

        Parameters
        ----------
        task : callable
            ``task(rows, shared, own)``, importable by name, which depends on nothing else.
        blocks : sequence
            The blocks as :meth:`place` gave them.
        shared : object
            The object that is sent to every worker once.
        each : sequence, optional
            The data that belong to each block alone; None for every block by default.
        """

    def reduce(
        self,
        task: Task,
        blocks: Sequence[Any],
        shared: Any,
        on_progress: Callable[[int], None] | None = None,
        each: Sequence[Any] | None = None,
    ) -> dict[str, np.ndarray]:
        """The sums over all blocks of the arrays that a function gives.

        Parameters
        ----------
        task : callable
            ``task(rows, shared, own)`` gives arrays by name, and is as for :meth:`map`.
        blocks : sequence
            The blocks as :meth:`place` gave them.
        shared : object
            The object that is sent to every worker once.
        on_progress : callable, optional
            Called with the number of each block that is done.
        each : sequence, optional
            As for :meth:`map`.

        Returns
        -------
        dict of str to ndarray
            Sums whose bits depend on the blocks and their order alone.
        """
        total = TreeSum()
        results = self.map(task, blocks, shared, each)
        try:
            for k, part in enumerate(results):
                total.add(part)
                if on_progress is not None:
                    on_progress(k)
        finally:
            close = getattr(results, "close", None)
            if close is not None:
                close()
        return total.value()


def work(task: Task, block: Block, shared: Any, own: Any) -> Any:
    """A function of one block, on one thread, so that its sums depend on nothing but the block."""
    with pool.alone():
        return task(block.load().bounded(), shared, own)


def in_order(
    function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], workers: int, name: str
) -> Iterator[Any]:
    """The results of a function for tuples of arguments, in their order, by threads of a name."""
    if workers == 1 or len(calls) == 1:
        yield from itertools.starmap(function, calls)
        return
    with ThreadPoolExecutor(workers, name) as threads:
        # One more than can be worked on is under way, so that no thread waits; not all of them,
        # because each result is held until it is its turn.
        waiting: deque[Future[Any]] = deque()
        try:
            for call in calls:
                waiting.append(threads.submit(function, *call))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class Local(Engine):
    """Threads of this process: compiled loops and reading let each other run.

    Parameters
    ----------
    workers : int, optional
        Blocks that are worked on at once; by default :func:`separatrix.threads`.  The result has
        the same bits for every number.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.scale import Local, scan
    >>> def count(rows, shared, own):
    ...     return {"rows": np.array(float(len(rows)))}
    >>> data = scan(np.eye(6), [0, 1, 0, 1, 0, 1], block_rows=2)
    >>> engine = Local(workers=2)
    >>> float(engine.reduce(count, engine.place(data.blocks), None)["rows"])
    6.0
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers

    def map(
        self, task: Task, blocks: Sequence[Any], shared: Any, each: Sequence[Any] | None = None
    ) -> Iterator[Any]:
        workers = pool.n_threads() if self.workers is None else self.workers
        own = [None] * len(blocks) if each is None else each
        calls = [(task, block, shared, mine) for block, mine in zip(blocks, own, strict=True)]
        with pool.one_blas_thread():
            yield from in_order(work, calls, workers, "separatrix-block")

"""Dask: blocks on the workers of a cluster, by the futures of ``distributed``.

Blocks lie with the workers and stay there.  Rows in memory are sent once; blocks of files are
descriptions, which every worker opens by itself, so the files must have the same path for all of
them.  A pass sends what all blocks share to every worker once, and a task for some consecutive
blocks to where they lie.  A task is a part of the tree of :mod:`~separatrix.scale.sums` and gives
one sum; the sums of several tasks are added up by one of their workers, and so on up the tree, so
that only its root is sent to the client.  Where the last such sums were so small that a message
costs more than they do, the client fetches those of all tasks and adds them up itself.  The tree is
that of the blocks and not of the workers, so the sums have the same bits for any number of workers,
whoever adds them up, and after one of them died: what was lost with it is sent again and computed
again, and it is the same.

Not ``dask.array``: a pass is a function of each block and nothing else, which futures express
directly.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import itertools
import pickle
import queue
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary, finalize

import numpy as np
import scipy.sparse as sp

from separatrix._compiled.tuning import Tuned
from separatrix.exceptions import DataError, imported
from separatrix.messages import quoted
from separatrix.scale.blocks import ArrayBlock, Block, Rows
from separatrix.scale.engines import Engine, Task, work
from separatrix.scale.sums import FAN_IN, Sum, TreeSum


@dataclass(frozen=True)
class Tuning:
    """The limits of waiting for the cluster, which decide about errors and about no number.

    Parameters
    ----------
    tries : int
        The number of times that data or a task are sent to workers that die before the pass fails.
    answer : float
        Seconds that a scheduler has to answer in.
    patience : float
        Seconds without any worker after which the pass fails.
    look : float
        Seconds between looks at whether what is fetched is still there.
    """

    tries: int = 3
    answer: float = 5.0
    patience: float = 30.0
    look: float = 2.0


tuned = Tuned(Tuning())

# Blocks of a task, at most: to submit one and to learn of its end costs the scheduler and the
# client some milliseconds, as much as a block of 65,536 rows costs its worker.
_TOGETHER = 16
# Tasks for each thread, at least, where there are as many blocks: fewer are not shared out evenly.
_TASKS = 2
# Tasks that are under way for each thread of the cluster: one is worked on, and the others wait
# beside it, so that no worker waits for the driver.
_AHEAD = 4
# Bytes that one message brings to a worker, or a block where that is larger.
_MESSAGE = 1 << 26
# Bytes that go with the tasks, all of them together, or come back from them; larger objects go to
# the workers by themselves, and are added up by them.
_SMALL = 1 << 20


def client_of(client: Any) -> tuple[Any, bool]:
    """A connected client, from a client or from a scheduler's address, and whether it is a new one.

    Raises
    ------
    ConnectionError
        Where no scheduler answers.
    TypeError
        For something else.
    """
    distributed = imported("distributed", "the Dask engine", extra="dask")
    if isinstance(client, distributed.Client):
        if client.asynchronous:
            raise TypeError("Dask(client) needs a client that is not asynchronous")
        return client, False
    if not isinstance(client, str):
        raise TypeError(
            "Dask(client) needs a distributed.Client or the address of a scheduler such as "
            f"'tcp://127.0.0.1:8786', not {quoted(client, 60)}"
        )
    try:
        return distributed.Client(client, set_as_default=False, timeout=tuned.now.answer), True
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {client}; start one with 'dask scheduler', or give the "
            "address that it prints"
        ) from error


def _close(client: Any) -> None:
    """End a connection; where the scheduler is gone, there is none."""
    with contextlib.suppress(Exception):
        client.close(timeout=tuned.now.answer)


class Held:
    """The rows of a block as a worker holds them, with the memory that they take."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def load(self) -> Rows:
        return self.rows

    def __sizeof__(self) -> int:
        # Without it the cluster would take a block for some bytes, and move it to an idle worker.
        return 64 + self.rows.nbytes

    # Arrays come from another process as parts of a message.

    def __getstate__(self) -> Any:
        writeable = [array.flags.writeable for array in self.rows.arrays]
        return self.rows, writeable

    def __setstate__(self, state: Any) -> None:
        rows, writeable = state
        self.rows = settled(rows)
        for array, flag in zip(self.rows.arrays, writeable, strict=True):
            if not flag:
                array.flags.writeable = False


def settled(rows: Rows) -> Rows:
    """The rows in arrays as NumPy makes them, copied where they are not.

    An array that is a part of a message begins at any byte of it and may not be written to: NumPy
    adds it up in another order, and compiled loops are compiled anew for it.
    """

    def usual(array: Any) -> Any:
        return None if array is None else np.require(array, requirements=["A", "W"])

    matrix = rows.matrix
    if sp.issparse(matrix):
        parts = usual(matrix.data), usual(matrix.indices), usual(matrix.indptr)
        matrix = type(matrix)(parts, shape=matrix.shape, copy=False)
    else:
        matrix = usual(matrix)
    return Rows(matrix, usual(rows.target), usual(rows.weights), usual(rows.squares))


@dataclass(frozen=True, eq=False)
class ClusterBlock(Block):
    """Rows that a cluster made and keeps.

    Attributes
    ----------
    future : distributed.Future
        The future of an object with ``load``; the cluster computes it anew where it is lost.
    """

    future: Any
    n_rows: int = 0
    n_stored: int = 0
    nbytes: int = 0
    place: str = "a Dask collection"

    def load(self) -> Rows:
        """The rows, brought here."""
        (held,) = fetched(self.future.client, [self.future])
        rows: Rows = held.load()
        return rows


@dataclass(eq=False)
class _Placed:
    """A block, and the future of its rows where they were sent."""

    block: Block
    future: Any = None

    @property
    def is_lost(self) -> bool:
        """Whether these are rows that the cluster made, has no more and cannot make again."""
        made = isinstance(self.block, ClusterBlock)
        # What is merely "lost" is on its way again.
        return made and self.future.status == "cancelled"


@dataclass(eq=False)
class _Node:
    """A task: of consecutive blocks, or of the sums of other tasks.

    Attributes
    ----------
    first : int
        The number of the first of the blocks.
    members : list of _Placed
        The blocks of a leaf.
    own : list
        The data that belong to each of the blocks alone.
    home : int
        The worker whose memory has the rows, or their files, from the last pass.
    children : list of _Node
    level : int
        The height above the leaves.
    future : distributed.Future or None
        The future of the result, as long as it is needed.
    submitted : int
        The number of times that the task was given to the cluster.
    is_done : bool
        Whether the end of a leaf was reported.
    """

    first: int = 0
    members: list[_Placed] = field(default_factory=list)
    own: list[Any] = field(default_factory=list)
    home: int = 0
    children: list[_Node] = field(default_factory=list)
    level: int = 0
    future: Any = None
    submitted: int = 0
    is_done: bool = False

    @property
    def has_failed(self) -> bool:
        """Whether the task has come to an end that is no result."""
        return self.future is not None and self.future.status in ("error", "cancelled")

    @property
    def place(self) -> str:
        """The origin of the rows, for messages."""
        node = self
        while node.children:
            node = node.children[0]
        return node.members[0].block.place

    def walk(self) -> Iterator[_Node]:
        """The tasks below this one, and it itself."""
        for child in self.children:
            yield from child.walk()
        yield self


def _walk(tops: Iterable[_Node]) -> Iterator[_Node]:
    """All tasks of some trees, the children of each task before it."""
    for top in tops:
        yield from top.walk()


def _tree_over(nodes: list[_Node]) -> _Node:
    """The task at the root of a tree of sums over other tasks, of which there is one at least."""
    level = 0
    while len(nodes) > 1:
        level += 1
        runs = [nodes[k : k + FAN_IN] for k in range(0, len(nodes), FAN_IN)]
        nodes = [_Node(children=run, level=level) if len(run) > 1 else run[0] for run in runs]
    return nodes[0]


def _keys(name: str, nodes: Sequence[_Node]) -> list[str]:
    """Keys of tasks, which Dask's dashboard shows by their name."""
    words = name.strip("_").replace("_", "-")
    return [f"separatrix-{words}-{uuid.uuid4().hex}" for _ in nodes]


def _results_of(
    call: bytes, shared: bytes | None, own: bytes | None, held: Sequence[Any]
) -> Iterator[Any]:
    """The results of a function for some blocks, one after another."""
    # All in bytes, so that arrays are as NumPy makes them; and so that the scheduler, which reads
    # what it is given, has nothing to read.
    task, blocks, mine, common = pickle.loads(call)
    if shared is not None:
        common = pickle.loads(shared)
    if own is not None:
        mine = pickle.loads(own)
    given = iter(held)
    for block, x in zip(blocks, mine, strict=True):
        yield work(task, next(given) if block is None else block, common, x)


def _run(*given: Any) -> bytes:
    """The results for some blocks, on a worker."""
    return pickle.dumps(list(_results_of(*given)), protocol=pickle.HIGHEST_PROTOCOL)


def _add_up(*given: Any) -> Sum:
    """The sum of the results for some blocks, on a worker."""
    total = TreeSum()
    for part in _results_of(*given):
        total.add(part)
    return total.total()


def _join(sums: Sequence[Sum], is_root: bool) -> Sum:
    """The sum of the sums of several tasks, on a worker; the root is rounded once."""
    total = Sum()
    for part in sums:
        total.add(part)
    return Sum(total.value()) if is_root else total


class Dask(Engine):
    """The workers of a Dask cluster.

    Rows that are in memory are sent once, and stay with the workers as long as the data are in use
    here.  Files must have the same path for all workers.

    Parameters
    ----------
    client : distributed.Client or str
        A client, or the address of a scheduler.  Workers should have one thread each
        (``--nthreads 1``); they and the scheduler need the versions of Python, NumPy, Numba and
        this library that the client has.

    Raises
    ------
    ImportError
        Where ``distributed`` is not installed: ``pip install "separatrix[dask]"``.
    ConnectionError
        Where no scheduler answers, it has no workers, or they die again and again.

    Notes
    -----
    Coefficients have the same bits for every number of workers, for they are sums in the order of
    the blocks, each computed by one thread, and after a worker died, for what was lost with it is
    sent and computed again.  They are those of :class:`Local`, too, on processors of one kind.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> from separatrix import LogisticRegression
    >>> from separatrix.scale import Dask, scan
    >>> data = scan(np.arange(12.0)[:, None], [0, 0, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1], block_rows=4)
    >>> with Client(processes=False, n_workers=1, dashboard_address="127.0.0.1:0") as client:
    ...     model = LogisticRegression().fit(data, engine=Dask(client))
    >>> model.certificate_.status
    'optimal'
    """

    def __init__(self, client: Any) -> None:
        self.client, made = client_of(client)
        # A connection that was made here ends with the engine, however that comes to its end.
        self._closed = finalize(self, _close, self.client) if made else None
        self._sent: WeakKeyDictionary[Block, Any] = WeakKeyDictionary()
        # The bytes of the last sum of each kind of pass, by the first of its blocks.
        self._sizes: WeakKeyDictionary[Block, dict[tuple[str, int], int]] = WeakKeyDictionary()
        # Who reaches a scheduler on the loopback reaches its workers, without a detour.
        local = ("inproc://", "tcp://127.", "tcp://[::1]")
        self._direct = True if self.address.startswith(local) else None

    @property
    def address(self) -> str:
        """The scheduler's address."""
        return str(self.client.scheduler.address)

    def __repr__(self) -> str:
        return f"Dask({self.address!r})"

    def close(self) -> None:
        """End the connection, if it was made here."""
        if self._closed is not None:
            self._closed()

    def __enter__(self) -> Dask:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- the three methods of an engine -----------------------------------------------------------

    def place(self, blocks: Sequence[Block]) -> Sequence[Any]:
        with self.connected():
            placed = [_Placed(block) for block in blocks]
            for one in placed:
                if isinstance(one.block, ClusterBlock):
                    one.future = self._future_of(one.block)
            for leaf in self._leaves(placed):
                self._send(leaf)
            return placed

    def map(
        self, task: Task, blocks: Sequence[Any], shared: Any, each: Sequence[Any] | None = None
    ) -> Iterator[Any]:
        with self.connected():
            yield from self._map(task, blocks, shared, each)

    def _map(
        self, task: Task, blocks: Sequence[Any], shared: Any, each: Sequence[Any] | None
    ) -> Iterator[Any]:
        leaves = iter(self._leaves(blocks, each))
        most = max(_AHEAD * sum(self._workers().values()), 2)
        sent = _Shared(self, task, shared, most)
        waiting: deque[_Node] = deque()
        # Results that come together must fit in memory here; the first ones show their size.
        together = 1
        try:
            while True:
                if len(waiting) <= most // 2:
                    more = list(itertools.islice(leaves, most - len(waiting)))
                    self._submit(sent, more, _run)
                    waiting.extend(more)
                if not waiting:
                    return
                for results in self._results(sent, self._done(waiting, together)):
                    self._release([waiting.popleft()])
                    together = max(1, _MESSAGE // len(results))
                    yield from pickle.loads(results)
        finally:
            self._cancel(waiting)

    def reduce(
        self,
        task: Task,
        blocks: Sequence[Any],
        shared: Any,
        on_progress: Callable[[int], None] | None = None,
        each: Sequence[Any] | None = None,
    ) -> dict[str, np.ndarray]:
        with self.connected():
            leaves = self._leaves(blocks, each)
            if not leaves:
                return {}
            sent = _Shared(self, task, shared, len(leaves))
            sizes = self._sizes.setdefault(blocks[0].block, {})
            small = len(leaves) * sizes.get(sent.kind, _SMALL) <= _SMALL
            tops = leaves if small else [_tree_over(leaves)]
            total = TreeSum()
            try:
                for part in self._climb(tops, sent, on_progress):
                    total.add(part)
            finally:
                self._cancel(_walk(tops))
            found = total.value()
            sizes[sent.kind] = sum(value.nbytes for value in found.values())
            return found

    # --- the tree ---------------------------------------------------------------------------------

    def _leaves(self, placed: Sequence[_Placed], each: Sequence[Any] | None = None) -> list[_Node]:
        """The tasks of all blocks, each of as many as lie below one sum of the tree."""
        workers = self._workers()
        size, threads = 1, sum(workers.values())
        # The cluster decides where its own rows lie: a block's neighbour may lie elsewhere.
        if not any(isinstance(one.block, ClusterBlock) for one in placed):
            while (more := FAN_IN * size) <= _TOGETHER and more * _TASKS * threads <= len(placed):
                size = more
        own = [None] * len(placed) if each is None else each
        leaves = [
            _Node(k, list(placed[k : k + size]), list(own[k : k + size]))
            for k in range(0, len(placed), size)
        ]
        # Neighbours are on one worker, so that few of their sums are sent; but not so many of them
        # that the others would have to wait for their turn.
        run = FAN_IN * len(workers)
        for first in range(0, len(leaves), run):
            some = leaves[first : first + run]
            for k, leaf in enumerate(some):
                leaf.home = k * len(workers) // len(some)
        return leaves

    def _climb(
        self, tops: Sequence[_Node], sent: _Shared, on_progress: Callable[[int], None] | None
    ) -> list[Sum]:
        """The sums of some tasks in their order, once they have come up the tree."""
        from distributed import KilledWorker

        ends: queue.SimpleQueue[tuple[_Node, Any]] = queue.SimpleQueue()
        missing: set[_Node] = set()
        while True:
            missing.update(top for top in tops if top.future is None)
            self._submit_tree(tops, sent, ends)
            if self._watch(missing, ends, on_progress):
                with contextlib.suppress(CancelledError, KilledWorker):
                    found = self._fetched(tops)
                    self._release(tops)
                    return found
            failed: list[_Node] = []
            for node in _walk(tops):
                waits = any(child in failed for child in node.children)
                if node.has_failed or (waits and node.future.status != "finished"):
                    failed.append(node)
            if any(node.has_failed and self._is_fault(node) for node in failed):
                # The error of the first block counts; blocks before it may be under way.
                for node in _walk(tops):
                    if node.future is not None and self._is_fault(node):
                        self._fetched([node])
            self._give_up(failed or tops)
            sent.again()

    @staticmethod
    def _is_fault(node: _Node) -> bool:
        """Whether a task ends with an error of its own, and not with its worker; waits for it."""
        from distributed import KilledWorker

        error = node.future.exception()
        return error is not None and not isinstance(error, KilledWorker)

    def _submit_tree(
        self, tops: Sequence[_Node], sent: _Shared, ends: queue.SimpleQueue[tuple[_Node, Any]]
    ) -> None:
        """Give the cluster the tasks whose results are needed, but for those that it has."""
        levels: dict[int, list[_Node]] = {}

        def visit(node: _Node) -> None:
            if node.future is None:
                for child in node.children:
                    visit(child)
                levels.setdefault(node.level, []).append(node)

        for top in tops:
            visit(top)
        for level, nodes in sorted(levels.items()):
            if level == 0:
                self._submit(sent, nodes, _add_up)
            else:
                given = [[child.future for child in node.children] for node in nodes]
                # Before blocks that have not begun, for it makes room.
                self._started(nodes, self.client.map(
                    _join, given, [node in tops for node in nodes],
                    key=_keys("add", nodes), pure=False, priority=level,
                ))  # fmt: skip
            for node in nodes:
                node.future.add_done_callback(lambda future, node=node: ends.put((node, future)))

    def _watch(
        self,
        missing: set[_Node],
        ends: queue.SimpleQueue[tuple[_Node, Any]],
        on_progress: Callable[[int], None] | None,
    ) -> bool:
        """Wait until no task is missing, or one has failed; whether it is the former."""
        require_some = self._patience()
        while True:
            try:
                node, future = ends.get(timeout=tuned.now.look)
            except queue.Empty:
                require_some()
                continue
            if future is not node.future:
                continue
            if node.has_failed:
                return False
            # What it was made of is not needed any more.
            self._release(node.children)
            if node.members and not node.is_done:
                node.is_done = True
                if on_progress is not None:
                    for k in range(node.first, node.first + len(node.members)):
                        on_progress(k)
            missing.discard(node)
            if not missing:
                return True

    # --- the scheduler ----------------------------------------------------------------------------

    @contextlib.contextmanager
    def connected(self) -> Iterator[None]:
        """Report in one sentence that the scheduler is gone, whatever that makes a call end with.

        Raises
        ------
        ConnectionError
            In place of any exception that is raised inside, where the connection has ended.
        """
        self._require_scheduler()
        try:
            yield
        except Exception:
            self._require_scheduler()
            raise

    def _require_scheduler(self) -> None:
        """Raise ConnectionError where the connection has ended."""
        if self.client.status == "running":
            return
        raise ConnectionError(
            f"the Dask scheduler at {self.address} is gone; start it again, connect again, "
            "and continue from the checkpoint if there is one"
        ) from None

    def _nthreads(self) -> dict[str, int]:
        """The threads of every worker, by address, as the scheduler reports them."""
        since = time.monotonic()
        while True:
            self._require_scheduler()
            try:
                found: dict[str, int] = self.client.sync(
                    self.client.scheduler.ncores, workers=None, callback_timeout=tuned.now.answer
                )
                return found
            except OSError:  # TimeoutError is one, and so is a connection that was closed
                # It may be busy; where it is gone, the connection reports that.
                if time.monotonic() - since > tuned.now.patience:
                    raise
                time.sleep(0.1)

    # --- futures ----------------------------------------------------------------------------------

    def _workers(self) -> dict[str, int]:
        """The threads of every worker, by address, in an order that stays."""
        workers = self._nthreads()
        if not workers:
            with contextlib.suppress(TimeoutError):
                self.client.wait_for_workers(1, timeout=tuned.now.patience)
            workers = self._nthreads()
        if not workers:
            raise self._nobody()
        return dict(sorted(workers.items()))

    def _patience(self) -> Callable[[], None]:
        """Return a check for who waits: it raises where there has been no worker for a while."""
        since = time.monotonic()

        def require_some() -> None:
            nonlocal since
            if self._nthreads():
                since = time.monotonic()
            elif time.monotonic() - since > tuned.now.patience:
                raise self._nobody() from None

        return require_some

    def calls(
        self, function: Callable[..., Any], common: Any, parts: Iterable[Sequence[Any]]
    ) -> list[Any]:
        """Delayed calls of a function, with what they have in common in the graph once."""
        from dask.delayed import delayed

        shared = delayed(common, name=f"separatrix-shared-{uuid.uuid4().hex}")
        call = delayed(function, pure=False)
        return [call(shared, *part) for part in parts]

    def computed(self, calls: Sequence[Any]) -> list[Any]:
        """Futures of delayed calls; what they have in common may be large."""
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GB"}):
            futures: list[Any] = self.client.compute(list(calls))
        return futures

    def on_every_worker(self, function: Callable[..., Any], *given: Any) -> list[Any]:
        """The results of a function on each of the workers, of which there is one at least."""
        self._workers()
        # One that died meanwhile does not matter.
        return list(self.client.run(function, *given, on_error="ignore").values())

    def _nobody(self) -> ConnectionError:
        return ConnectionError(
            f"the Dask scheduler at {self.address} has no workers; start some with "
            f"'dask worker {self.address} --nthreads 1'"
        )

    def _home(self, leaf: _Node) -> str:
        """The worker that a leaf is at home with, of those that there are."""
        workers = list(self._workers())
        return workers[leaf.home % len(workers)]

    def _future_of(self, block: ClusterBlock) -> Any:
        other = str(block.future.client.scheduler.address)
        if other != self.address:
            raise DataError(
                f"the row blocks are on the cluster at {other}, and the engine uses the cluster at "
                f"{self.address}; scan the collection with a client of the latter"
            )
        return block.future

    def _send(self, leaf: _Node, *, anew: bool = False) -> None:
        """Bring rows that are in memory here to the worker whose task they belong to."""
        lacking = []
        for one in leaf.members:
            if isinstance(one.block, ArrayBlock):
                one.future = None if anew else self._sent.get(one.block)
                if one.future is None or one.future.status != "finished":
                    lacking.append(one)
        if not lacking:
            return
        address = self._home(leaf)
        # Little at a time: what is on its way is there twice.
        while lacking:
            batch, size = [lacking.pop(0)], 0
            while lacking and size < _MESSAGE:
                size += batch[-1].block.load().nbytes
                batch.append(lacking.pop(0))
            futures = self._scatter([Held(one.block.load()) for one in batch], address)
            for one, future in zip(batch, futures, strict=True):
                one.future = self._sent[one.block] = future

    def _scatter(
        self, things: list[Any], address: str | None = None, *, everywhere: bool = False
    ) -> list[Any]:
        """Futures of things that a worker is given: a certain one, as long as it lives, or all."""
        how = {"direct": self._direct, "timeout": tuned.now.answer}
        for _ in range(tuned.now.tries):
            near = [address] if address in self._workers() else None
            try:
                futures: list[Any] = self.client.scatter(
                    things,
                    workers=near,
                    hash=False,
                    **({"broadcast": True} if everywhere else how),
                )
                return futures
            except (OSError, ValueError, KeyError):
                # It died meanwhile; who is there knows the scheduler a moment later.
                time.sleep(0.2)
        raise self.lost()

    def lost(self, over: str = "the rows sent to them") -> ConnectionError:
        """Return the error of workers that die, whichever of them works on something."""
        return ConnectionError(
            f"workers of the Dask cluster at {self.address} died again and again while they worked "
            f"on {over}: they may lack memory (use smaller blocks, or fewer workers on each "
            "machine)"
        )

    def _submit(self, sent: _Shared, leaves: Sequence[_Node], function: Any) -> None:
        """Give the cluster the tasks of some leaves, each to the worker that it is at home with."""
        calls: dict[str | None, list[_Node]] = {}
        workers: list[str] = []
        for leaf in leaves:
            if leaf.submitted:
                # With a worker what had been sent to it is lost: the cluster has no other copy.
                self._send(leaf, anew=True)
            # Rows are where they lie, and a task goes to them.
            bound = leaf.submitted == 0 and leaf.members[0].future is None
            if bound:
                workers = workers or list(self._workers())
            calls.setdefault(workers[leaf.home % len(workers)] if bound else None, []).append(leaf)
        for address, some in calls.items():
            near = {} if address is None else {"workers": [address], "allow_other_workers": True}
            small, large = [], []
            for leaf in some:
                call, own = sent.call(leaf)
                small.append(call)
                large.append(own)
            futures = self.client.map(
                function,
                small,
                [sent.future] * len(some),
                large,
                [[one.future for one in leaf.members if one.future] for leaf in some],
                key=_keys(f"pass_{sent.name}", some),
                pure=False,
                **near,
            )
            self._started(some, futures)

    @staticmethod
    def _started(nodes: Sequence[_Node], futures: Sequence[Any]) -> None:
        for node, future in zip(nodes, futures, strict=True):
            node.future = future
            node.submitted += 1

    def _done(self, waiting: Sequence[_Node], most: int) -> list[_Node]:
        """The first groups, once they are done; no more than a number."""
        from distributed import wait

        first, require_some = waiting[0], self._patience()
        while not first.future.done():
            try:
                with self.client.as_current():
                    wait([first.future], timeout=tuned.now.look)
            except CancelledError:
                break
            except TimeoutError:
                require_some()
        # Those that are done come together, for every request takes its time.
        some = itertools.islice(waiting, most)
        done = list(itertools.takewhile(lambda leaf: leaf.future.status == "finished", some))
        return done or [first]

    def _results(self, sent: _Shared, done: Sequence[_Node]) -> Iterator[bytes]:
        """The results of leaves, in their order; lost ones are computed again."""
        if len(done) > 1:
            try:
                found = self._fetched(done)
            except Exception:
                # The error is of one of them; fetching each by itself finds out which.
                pass
            else:
                yield from found
                return
        for leaf in done:
            yield self._result(sent, leaf)

    def _result(self, sent: _Shared, leaf: _Node) -> bytes:
        from distributed import KilledWorker

        while True:
            try:
                (results,) = self._fetched([leaf])
                return results
            except (CancelledError, KilledWorker):
                self._give_up([leaf])
                sent.again()
                self._submit(sent, [leaf], _run)

    def _fetched(self, nodes: Sequence[_Node]) -> list[Any]:
        return self.fetched([node.future for node in nodes])

    def fetched(self, futures: Sequence[Any]) -> list[Any]:
        """The results of futures, or one sentence where no worker is there to give them."""
        return fetched(self.client, futures, self._direct, self._patience())

    def gathered(self, futures: Sequence[Any], over: str) -> list[Any]:
        """The results of futures; the first of several errors, in the order of the futures.

        ``over``: what they work on, for the error of workers that die of it.
        """
        from distributed import KilledWorker

        try:
            try:
                return self.fetched(futures)
            except (ConnectionError, KilledWorker):
                raise
            except Exception:
                return [one for future in futures for one in self.fetched([future])]
        except KilledWorker:
            raise self.lost(over) from None

    def _give_up(self, nodes: Sequence[_Node]) -> None:
        """Forget that tasks failed with their workers, so that they are submitted again.

        Raises
        ------
        ConnectionError
            If that would be of no use.
        """
        self._require_scheduler()
        self._cancel(nodes)
        for node in nodes:
            if node.submitted >= tuned.now.tries:
                raise self.lost(node.place)
            if any(one.is_lost for one in node.members):
                raise ConnectionError(
                    f"rows of {node.place} on the Dask cluster at {self.address} were lost with "
                    "its workers; scan the collection again"
                )
            node.future = None

    @staticmethod
    def _release(nodes: Iterable[_Node]) -> None:
        """Let the cluster forget results; this takes no request, and cancelling tasks does.

        A future that is merely dropped may live on in the traceback of a wait that has timed out,
        and its result with it, until the next collection of garbage.
        """
        for node in nodes:
            if node.future is not None:
                node.future.release()
                node.future = None

    def _cancel(self, nodes: Iterable[_Node]) -> None:
        """Take tasks back, or forget that they failed."""
        futures = [node.future for node in nodes if node.future is not None]
        # Where the scheduler is gone, so are they.
        if futures and self.client.status == "running":
            with contextlib.suppress(Exception):
                self.client.cancel(futures)


def fetched(
    client: Any,
    futures: Sequence[Any],
    direct: bool | None = None,
    require_some: Callable[[], None] = lambda: None,
) -> list[Any]:
    """``client.gather``, begun again where something is lost on its way.

    A worker that loses power while it answers may leave ``gather`` waiting for that answer, even
    when the scheduler has noticed that the worker is gone, and has had its tasks computed anew.
    ``require_some`` is called between looks.
    """
    patience = tuned.now.look
    while True:
        gathering = asyncio.run_coroutine_threadsafe(
            client.gather(list(futures), direct=direct, asynchronous=True), client.loop.asyncio_loop
        )
        waited = 0.0
        try:
            # What is not yet computed takes as long as it takes.
            while waited < patience and client.status == "running":
                if concurrent.futures.wait([gathering], timeout=tuned.now.look).done:
                    results: list[Any] = gathering.result()
                    return results
                require_some()
                states = {future.status for future in futures}
                waited += tuned.now.look if states == {"finished"} else 0.0
                if not states <= {"finished", "pending"}:
                    break
        finally:
            gathering.cancel()
        if client.status != "running":
            raise ConnectionError("the connection to the scheduler has ended")
        # A message that takes long is not cut off for ever.
        patience *= 2.0


class _Shared:
    """The function of a pass and what all blocks share: with the tasks, or on every worker."""

    def __init__(self, engine: Dask, task: Task, shared: Any, most: int) -> None:
        self._engine, self._task, self._most = engine, task, most
        # The name of the tasks on Dask's dashboard.
        self.name = getattr(task, "__name__", "task")
        self._bytes = pickled(shared)
        # Passes of the same task that share as much give sums of the same size.
        self.kind = self.name, len(self._bytes)
        self._small = None if len(self._bytes) * most > _SMALL else shared
        self.future: Any = None
        self.again()

    def again(self) -> None:
        """Send it to every worker, where it does not go with the tasks."""
        if len(self._bytes) * self._most > _SMALL:
            (self.future,) = self._engine._scatter([self._bytes], everywhere=True)

    def call(self, leaf: _Node) -> tuple[bytes, Any]:
        """The data that go with a task, and the future of data that are too large for that."""
        blocks = [one.block if one.future is None else None for one in leaf.members]
        own, future = leaf.own, None
        if any(mine is not None for mine in own):
            given = pickled(own)
            if len(given) * self._most > _SMALL:
                (future,) = self._engine._scatter([given])
                own = []
        return pickled((self._task, blocks, own, self._small)), future


def pickled(call: Any) -> bytes:
    """Functions by name where they can be imported, and by what they are otherwise."""
    import cloudpickle

    return bytes(cloudpickle.dumps(call))

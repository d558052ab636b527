"""Dask: blocks on the workers of a cluster, by the futures of ``distributed``.

Blocks lie with the workers and stay there.  Rows in memory are sent once; blocks of files are
descriptions, which every worker opens by itself, so the files must have the same path for all of
them.  A pass sends what all blocks share to every worker once, and a task to each block where it
lies.  Results are taken in the order of the blocks, so the sums have the same bits for any number
of workers, and after one of them died: what was lost with it is sent again and computed again,
and it is the same.

Not ``dask.array``: what is asked for here is a function of each block and nothing else, which
futures say directly.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import itertools
import pickle
import time
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, finalize

import numpy as np
import scipy.sparse as sp

from separatrix.exceptions import DataError
from separatrix.messages import quoted
from separatrix.scale.blocks import ArrayBlock, Block, Rows
from separatrix.scale.engines import Engine, Task, work

__all__ = ["ClusterBlock", "Dask", "Held", "client_of", "require_distributed"]

# Blocks of a task, at most: to submit one and to hear of it costs the scheduler and the driver some
# milliseconds, as much as a block of 65,536 rows costs its worker.
_TOGETHER = 16
# Tasks that are under way for each thread of the cluster: one is worked on, and the others wait
# beside it, so that no worker waits for the driver.
_AHEAD = 4
# How often what was lost with a worker is sent again before it is said that it cannot be done.
_TRIES = 3
# Seconds that a scheduler has to answer in.
_ANSWER = 5.0
# Seconds without any worker after which it is said that there is none.
_PATIENCE = 30.0
# Seconds between looks at whether what is fetched is still there.
_LOOK = 2.0
# Bytes that one message brings to a worker, or a block where that is larger.
_MESSAGE = 1 << 26
# What goes with the tasks, all of them together; larger things go to the workers by themselves.
_SMALL = 1 << 20


def require_distributed() -> Any:
    """The package, or the sentence of how to get it.

    Raises
    ------
    ImportError
        Where it is not installed.
    """
    try:
        import distributed
    except ImportError:
        raise ImportError(
            'the Dask engine needs distributed: pip install "separatrix[dask]"'
        ) from None
    return distributed


def client_of(client: Any) -> tuple[Any, bool]:
    """A connected client of a client or of a scheduler's address, and whether it was made here.

    Raises
    ------
    ConnectionError
        Where no scheduler answers.
    TypeError
        For something else.
    """
    distributed = require_distributed()
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
        return distributed.Client(client, set_as_default=False, timeout=_ANSWER), True
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {client}; start one with 'dask scheduler', or give the "
            "address that it prints"
        ) from error


def _close(client: Any) -> None:
    """End a connection; where the scheduler is gone, there is nothing to say goodbye to."""
    with contextlib.suppress(Exception):
        client.close(timeout=_ANSWER)


class Held:
    """The rows of a block as a worker holds them, with the memory that they take."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def load(self) -> Rows:
        return self.rows

    def __sizeof__(self) -> int:
        # Without it the cluster would take a block for some bytes, and move it to whoever is idle.
        return 64 + nbytes_of(self.rows)

    # Arrays come from another process as parts of a message.

    def __getstate__(self) -> Any:
        writeable = [array.flags.writeable for array in _arrays(self.rows)]
        return self.rows, writeable

    def __setstate__(self, state: Any) -> None:
        rows, writeable = state
        self.rows = settled(rows)
        for array, flag in zip(_arrays(self.rows), writeable, strict=True):
            if not flag:
                array.flags.writeable = False


def settled(rows: Rows) -> Rows:
    """The rows in arrays as NumPy makes them, copied where they are not.

    What is a part of a message begins at any byte of it and may not be written to: NumPy adds it
    up in another order, and compiled loops are compiled anew for it.
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


def _arrays(rows: Rows) -> list[np.ndarray]:
    """What the rows consist of."""
    matrix = rows.matrix
    parts = [matrix.data, matrix.indices, matrix.indptr] if sp.issparse(matrix) else [matrix]
    rest = (rows.target, rows.weights, rows.squares)
    return [*parts, *(part for part in rest if part is not None)]


def nbytes_of(rows: Rows) -> int:
    """Bytes of the arrays of some rows."""
    return sum(int(array.nbytes) for array in _arrays(rows))


@dataclass(frozen=True, eq=False)
class ClusterBlock(Block):
    """Rows that a cluster made and keeps.

    Attributes
    ----------
    future : distributed.Future
        Of what has ``load``; the cluster computes it anew where it is lost.
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
    """A block, the task that it belongs to, and the future of its rows where they were sent."""

    block: Block
    group: int
    future: Any = None


@dataclass(eq=False)
class _Group:
    """Blocks of one task, and what belongs to each alone."""

    members: list[_Placed]
    own: list[Any]
    future: Any = None


def _run(call: bytes, shared: bytes | None, own: bytes | None, held: Sequence[Any]) -> bytes:
    """On a worker: the function of some blocks, one after another."""
    # All in bytes, so that arrays are as NumPy makes them; and so that the scheduler, which reads
    # what it is given, has nothing to read.
    task, blocks, mine, common = pickle.loads(call)
    if shared is not None:
        common = pickle.loads(shared)
    if own is not None:
        mine = pickle.loads(own)
    given = iter(held)
    results = [
        work(task, next(given) if block is None else block, common, x)
        for block, x in zip(blocks, mine, strict=True)
    ]
    return pickle.dumps(results, protocol=pickle.HIGHEST_PROTOCOL)


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

    # --- the three verbs --------------------------------------------------------------------------

    def place(self, blocks: Sequence[Block]) -> Sequence[Any]:
        with self.connected():
            return self._place(blocks)

    def _place(self, blocks: Sequence[Block]) -> Sequence[Any]:
        threads = sum(self._workers().values())
        # Every thread gets equally many tasks.
        tasks = threads * -(-len(blocks) // (threads * _TOGETHER))
        placed = [_Placed(block, k * tasks // len(blocks)) for k, block in enumerate(blocks)]
        for k, one in enumerate(placed):
            if isinstance(one.block, ClusterBlock):
                # Where it lies is for the cluster to say, and its neighbour may lie elsewhere.
                one.group, one.future = tasks + k, self._future_of(one.block)
        self._send([one for one in placed if isinstance(one.block, ArrayBlock)])
        return placed

    def map(
        self, task: Task, blocks: Sequence[Any], shared: Any, each: Sequence[Any] | None = None
    ) -> Iterator[Any]:
        with self.connected():
            yield from self._map(task, blocks, shared, each)

    def _map(
        self, task: Task, blocks: Sequence[Any], shared: Any, each: Sequence[Any] | None
    ) -> Iterator[Any]:
        own = [None] * len(blocks) if each is None else each
        pairs = zip(blocks, own, strict=True)
        groups = iter(
            _Group(*map(list, zip(*members, strict=True)))
            for _, members in itertools.groupby(pairs, key=lambda pair: pair[0].group)
        )
        workers = self._workers()
        most = max(_AHEAD * sum(workers.values()), 2)
        sent = _Shared(self, task, shared, most)
        waiting: deque[_Group] = deque()
        # What comes together must find room here; how much it is the first results tell.
        together = 1
        try:
            while True:
                if len(waiting) <= most // 2:
                    more = list(itertools.islice(groups, most - len(waiting)))
                    self._submit(sent, more, list(workers))
                    waiting.extend(more)
                if not waiting:
                    return
                for results in self._results(sent, self._done(waiting, together)):
                    waiting.popleft()
                    together = max(1, _MESSAGE // len(results))
                    yield from pickle.loads(results)
        finally:
            self._cancel(waiting)

    # --- the scheduler ----------------------------------------------------------------------------

    @contextlib.contextmanager
    def connected(self) -> Iterator[None]:
        """Say in one sentence that the scheduler is gone, whatever that makes a call end with.

        Raises
        ------
        ConnectionError
            In place of what is raised inside, where the connection has ended.
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
        """The threads of every worker, by address, as the scheduler says."""
        since = time.monotonic()
        while True:
            self._require_scheduler()
            try:
                found: dict[str, int] = self.client.sync(
                    self.client.scheduler.ncores, workers=None, callback_timeout=_ANSWER
                )
                return found
            except OSError:  # TimeoutError is one, and so is a connection that was closed
                # It may be busy; where it is gone, the connection says so.
                if time.monotonic() - since > _PATIENCE:
                    raise
                time.sleep(0.1)

    # --- futures ----------------------------------------------------------------------------------

    def _workers(self) -> dict[str, int]:
        """The threads of every worker, by address, in an order that stays."""
        workers = self._nthreads()
        if not workers:
            with contextlib.suppress(TimeoutError):
                self.client.wait_for_workers(1, timeout=_PATIENCE)
            workers = self._nthreads()
        if not workers:
            raise self._nobody()
        return dict(sorted(workers.items()))

    def _nobody(self) -> ConnectionError:
        return ConnectionError(
            f"the Dask scheduler at {self.address} has no workers; start some with "
            f"'dask worker {self.address} --nthreads 1'"
        )

    def _future_of(self, block: ClusterBlock) -> Any:
        other = str(block.future.client.scheduler.address)
        if other != self.address:
            raise DataError(
                f"the row blocks are on the cluster at {other}, and the engine uses the cluster at "
                f"{self.address}; scan the collection with a client of the latter"
            )
        return block.future

    def _send(self, some: Sequence[_Placed], *, anew: bool = False) -> None:
        """Bring rows that are in memory here to workers, those of a task to the same one."""
        lacking: dict[str, list[_Placed]] = {}
        workers = list(self._workers())
        for one in some:
            one.future = None if anew else self._sent.get(one.block)
            if one.future is None or one.future.status != "finished":
                lacking.setdefault(workers[one.group % len(workers)], []).append(one)
        for address, mine in lacking.items():
            # Little at a time: what is on its way is there twice.
            while mine:
                batch, size = [mine.pop(0)], 0
                while mine and size < _MESSAGE:
                    size += nbytes_of(batch[-1].block.load())
                    batch.append(mine.pop(0))
                futures = self._scatter([Held(one.block.load()) for one in batch], address)
                for one, future in zip(batch, futures, strict=True):
                    one.future = self._sent[one.block] = future

    def _scatter(self, things: list[Any], address: str | None = None) -> list[Any]:
        """Futures of things that a worker is given: a certain one, as long as it lives."""
        for _ in range(_TRIES):
            near = [address] if address in self._workers() else None
            try:
                futures: list[Any] = self.client.scatter(
                    things, workers=near, hash=False, direct=self._direct, timeout=_ANSWER
                )
                return futures
            except (OSError, ValueError, KeyError):
                # It died meanwhile; who is there knows the scheduler a moment later.
                time.sleep(0.2)
        raise self._lost()

    def _everywhere(self, thing: Any) -> Any:
        """The future of a thing that every worker is given."""
        for _ in range(_TRIES):
            self._workers()
            try:
                (future,) = self.client.scatter([thing], broadcast=True, hash=False)
                return future
            except (OSError, ValueError, KeyError):
                time.sleep(0.2)
        raise self._lost()

    def _lost(self, over: str = "the rows sent to them") -> ConnectionError:
        return ConnectionError(
            f"workers of the Dask cluster at {self.address} died again and again while they worked "
            f"on {over}: they may lack memory (use smaller blocks, or fewer workers on each "
            "machine)"
        )

    def _submit(self, sent: _Shared, groups: Sequence[_Group], workers: list[str]) -> None:
        """Give the cluster the tasks of some groups."""
        calls: dict[str | None, list[_Group]] = {}
        for group in groups:
            calls.setdefault(self._where(group, workers), []).append(group)
        hosts = {address: _host(address) for address in workers}
        for host, some in calls.items():
            near: dict[str, Any] = {}
            if host is not None:
                there = [address for address in workers if hosts[address] == host]
                near = {"workers": there, "allow_other_workers": True}
            small, large = [], []
            for group in some:
                call, own = sent.call(group)
                small.append(call)
                large.append(own)
            futures = self.client.map(
                _run,
                small,
                [sent.future] * len(some),
                large,
                [[one.future for one in group.members if one.future] for group in some],
                key=[f"separatrix-{uuid.uuid4().hex}" for _ in some],
                pure=False,
                **near,
            )
            for group, future in zip(some, futures, strict=True):
                group.future = future

    def _where(self, group: _Group, workers: list[str]) -> str | None:
        """The machine whose memory has the files of a group from the last pass, if it matters."""
        first = group.members[0]
        if first.future is not None or len({_host(address) for address in workers}) == 1:
            return None
        return _host(workers[first.group % len(workers)])

    def _done(self, waiting: Sequence[_Group], most: int) -> list[_Group]:
        """The first groups, once they are done; no more than a number."""
        from distributed import wait

        first, since = waiting[0], time.monotonic()
        while not first.future.done():
            try:
                with self.client.as_current():
                    wait([first.future], timeout=_LOOK)
            except CancelledError:
                break
            except TimeoutError:
                if self._nthreads():
                    since = time.monotonic()
                elif time.monotonic() - since > _PATIENCE:
                    raise self._nobody() from None
        # Those that are done come together, for every question takes its time.
        some = itertools.islice(waiting, most)
        done = list(itertools.takewhile(lambda group: group.future.status == "finished", some))
        return done or [first]

    def _results(self, sent: _Shared, done: Sequence[_Group]) -> Iterator[bytes]:
        """What groups gave, in their order; what was lost is computed again."""
        if len(done) > 1:
            try:
                found = self._fetched(done)
            except Exception:
                # The error is of one of them; asking each finds out which.
                pass
            else:
                yield from found
                return
        for group in done:
            yield self._result(sent, group)

    def _fetched(self, groups: Sequence[_Group]) -> list[bytes]:
        return fetched(self.client, [group.future for group in groups], self._direct)

    def _cancel(self, groups: Sequence[_Group]) -> None:
        """Take the tasks back, or forget that they failed."""
        futures = [group.future for group in groups if group.future is not None]
        # Where the scheduler is gone, so are they.
        if futures and self.client.status == "running":
            with contextlib.suppress(Exception):
                self.client.cancel(futures)

    def _result(self, sent: _Shared, group: _Group) -> bytes:
        from distributed import KilledWorker

        for left in reversed(range(_TRIES)):
            try:
                (results,) = self._fetched([group])
                return results
            except (CancelledError, KilledWorker):
                if not left:
                    break
                self._require_scheduler()
                self._cancel([group])
                if any(_is_lost(one) for one in group.members):
                    raise ConnectionError(
                        f"rows of {group.members[0].block.place} on the Dask cluster at "
                        f"{self.address} were lost with its workers; scan the collection again"
                    ) from None
                # With a worker what had been sent to it is lost: the cluster has no other copy.
                in_memory = [one for one in group.members if isinstance(one.block, ArrayBlock)]
                self._send(in_memory, anew=True)
                sent.again()
                self._submit(sent, [group], list(self._workers()))
        raise self._lost(group.members[0].block.place)


def fetched(client: Any, futures: Sequence[Any], direct: bool | None = None) -> list[Any]:
    """``client.gather``, begun again where something is lost on its way.

    A worker that loses power while it answers may leave ``gather`` waiting for that answer, even
    when the scheduler has noticed that the worker is gone, and has had its tasks computed anew.
    """
    patience = _LOOK
    while True:
        gathering = asyncio.run_coroutine_threadsafe(
            client.gather(list(futures), direct=direct, asynchronous=True), client.loop.asyncio_loop
        )
        waited = 0.0
        try:
            # What is not yet computed takes as long as it takes.
            while waited < patience and client.status == "running":
                if concurrent.futures.wait([gathering], timeout=_LOOK).done:
                    results: list[Any] = gathering.result()
                    return results
                states = {future.status for future in futures}
                waited += _LOOK if states == {"finished"} else 0.0
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
        self._bytes = pickled(shared)
        self._small = None if len(self._bytes) * most > _SMALL else shared
        self.future: Any = None
        self.again()

    def again(self) -> None:
        """Send it to every worker, where it does not go with the tasks."""
        if len(self._bytes) * self._most > _SMALL:
            self.future = self._engine._everywhere(self._bytes)

    def call(self, group: _Group) -> tuple[bytes, Any]:
        """What a task is told, and the future of what is too much to tell."""
        blocks = [one.block if one.future is None else None for one in group.members]
        own, future = group.own, None
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


def _is_lost(placed: _Placed) -> bool:
    """Whether rows that the cluster made are there no more, and cannot be made again."""
    made = isinstance(placed.block, ClusterBlock)
    # What is merely "lost" is on its way again.
    return made and placed.future.status == "cancelled"


def _host(address: str) -> str:
    return address.rpartition(":")[0]

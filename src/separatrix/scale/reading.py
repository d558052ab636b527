"""Readers of files: threads of this process, or the workers of a cluster.

A task is a function of what all tasks share and of one part of the files.  It is importable by
name, and what it gives depends on nothing else, so that it is the same wherever it runs.  Facts
about columns are merged in a tree on the cluster, and nothing but the merged ones comes back.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import tempfile
import threading
import uuid
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from separatrix.scale.dask_engine import Dask, pickled
from separatrix.scale.engines import in_order
from separatrix.tables import source_files as files

#: ``task(shared, part)``
Task = Callable[[Any, Any], Any]
#: ``merge(parts)``: one record of facts of several, in their order.
Merge = Callable[[Sequence[Any]], Any]

# Records of facts that are merged at once.
_TOGETHER = 8
# Earlier data that tasks share and that a worker keeps; such data are unpacked there once.
_KEPT = 2
# Cluster tasks whose results are fetched at once, and what they work on.
_BATCH, _FILES = 16, "the files"


# --- DuckDB, one connection for every session in a process ----------------------------------------


@dataclass(frozen=True)
class Session:
    """The connections and the memory with which DuckDB reads files.

    Attributes
    ----------
    identity : str
        The key by which connections are found, one in each process.
    memory : int
        The memory of DuckDB in bytes.
    folder : str
        The folder in which DuckDB may write what does not fit in memory.
    readers : int
        The number of threads of a process that may fetch rows at once.
    """

    identity: str
    memory: int
    folder: str
    readers: int


@dataclass(eq=False)
class Opened:
    """The connection of a session in this process.

    Attributes
    ----------
    connection
    session : Session
        The session that it was last used for.
    gate : Semaphore
        The semaphore that limits the readers that fetch rows at once.
    tables : dict
        Tables of the levels of columns, by the columns' keys.
    """

    connection: Any
    session: Session
    gate: threading.Semaphore
    tables: dict[str, Any] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


_lock = threading.Lock()
_sessions: dict[str, Opened] = {}
_local = threading.local()


def opened(session: Session) -> Opened:
    """The connection of a session in this process, opened at its first use.

    Where the session has another memory or other readers by now, the connection goes on with them:
    to open a database takes longer than to read a small file.
    """
    with _lock:
        found = _sessions.get(session.identity)
        if found is None:
            folder = Path(session.folder)
            try:
                # A worker on another machine has no such folder yet.
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError:
                # Nor need it be allowed to make one; DuckDB makes this where it needs room.
                folder = Path(tempfile.gettempdir(), f"separatrix-{session.identity[:16]}")
            with files.limited(session.memory, folder):
                connection = files.connect()
            # A query then runs in the thread that calls it, in the order of the rows.
            connection.execute("SET threads = 1")
            connection.execute("SET parquet_metadata_cache = true")
            found = Opened(connection, session, threading.Semaphore(session.readers))
            _sessions[session.identity] = found
        elif found.session != session:
            files.limit(found.connection, session.memory)
            found.session, found.gate = session, threading.Semaphore(session.readers)
        return found


def cursor(session: Session) -> Any:
    """This thread's cursor of a session."""
    own = getattr(_local, "cursors", None)
    if own is None:
        own = _local.cursors = {}
    found = opened(session)
    if own.get(session.identity, (None, None))[0] is not found:
        own[session.identity] = (found, found.connection.cursor())
    return own[session.identity][1]


def close(session: Session) -> None:
    """Close the connection of a session in this process."""
    with _lock:
        found = _sessions.pop(session.identity, None)
    getattr(_local, "cursors", {}).pop(session.identity, None)
    if found is not None:
        found.connection.close()


# --- readers --------------------------------------------------------------------------------------


class Readers(ABC):
    """Threads or workers that read parts of files.

    Attributes
    ----------
    shares_cache : bool
        Whether all of them write to the same folder of the cache.
    """

    shares_cache = True

    def at_most(self, tasks: int) -> Readers:
        """Readers that work in this process on so many tasks at once."""
        return self

    @abstractmethod
    def map(self, task: Task, shared: Any, parts: Sequence[Any]) -> Iterator[Any]:
        """The results of a task for all parts, in their order."""

    def merged(self, task: Task, shared: Any, parts: Sequence[Any], merge: Merge) -> Any:
        """The merged results of a task for all parts, of which there is one at least."""
        found: list[Any] = []
        for one in self.map(task, shared, parts):
            found.append(one)
            if len(found) > _TOGETHER:
                found = [merge(found)]
        return merge(found)

    @abstractmethod
    def close(self, session: Session) -> None:
        """Close the connections of a session wherever there are some."""


class LocalReaders(Readers):
    """Threads of this process.

    Parameters
    ----------
    workers : int
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def at_most(self, tasks: int) -> Readers:
        return LocalReaders(max(1, min(self.workers, tasks)))

    def map(self, task: Task, shared: Any, parts: Sequence[Any]) -> Iterator[Any]:
        calls = [(shared, part) for part in parts]
        yield from in_order(task, calls, self.workers, "separatrix-scan")

    def close(self, session: Session) -> None:
        close(session)


class ClusterReaders(Readers):
    """The workers of a Dask cluster.

    Parameters
    ----------
    engine : Dask
    folder : str
        A folder in the cache that was made here, with a name that no other machine has.
    """

    def __init__(self, engine: Dask, folder: str) -> None:
        self.engine = engine
        with engine.connected():
            found = engine.on_every_worker(os.path.isdir, folder)
        self.shares_cache = bool(found) and all(found)

    def map(self, task: Task, shared: Any, parts: Sequence[Any]) -> Iterator[Any]:
        with self.engine.connected():
            futures = deque(self.engine.computed(self._calls(task, shared, parts)))
            try:
                while futures:
                    some = [futures[k] for k in range(min(_BATCH, len(futures)))]
                    for result in self.engine.gathered(some, _FILES):
                        futures.popleft()
                        yield pickle.loads(result)
            finally:
                if futures and self.engine.client.status == "running":
                    with contextlib.suppress(Exception):
                        self.engine.client.cancel(list(futures))

    def merged(self, task: Task, shared: Any, parts: Sequence[Any], merge: Merge) -> Any:
        from dask.delayed import delayed

        with self.engine.connected():
            call, how = delayed(_merged, pure=False), pickled(merge)
            level = [call(how, one) for one in self._calls(task, shared, parts)]
            while len(level) > 1:
                level = [
                    call(how, *level[first : first + _TOGETHER])
                    for first in range(0, len(level), _TOGETHER)
                ]
            try:
                (found,) = self.engine.gathered(self.engine.computed(level), _FILES)
            except ConnectionError:
                raise
            except Exception:
                # The first part that fails, in the order of the parts, has the error.
                return super().merged(task, shared, parts, merge)
        return pickle.loads(found)

    def close(self, session: Session) -> None:
        close(session)
        if self.engine.client.status == "running":
            with contextlib.suppress(Exception):
                self.engine.client.run(close, session)

    def _calls(self, task: Task, shared: Any, parts: Sequence[Any]) -> list[Any]:
        common = uuid.uuid4().hex, pickled((task, shared))
        return self.engine.calls(_done, common, [(pickled(part),) for part in parts])


# --- on a worker ----------------------------------------------------------------------------------

_shared: OrderedDict[str, Any] = OrderedDict()


def _done(common: tuple[str, bytes], part: bytes) -> bytes:
    """The result of a task for a part, in bytes, so that arrays are as NumPy makes them."""
    key, packed = common
    with _lock:
        known = _shared.get(key)
    if known is None:
        known = pickle.loads(packed)
        with _lock:
            _shared[key] = known
            for old in list(itertools.islice(_shared, max(len(_shared) - _KEPT, 0))):
                del _shared[old]
    task, shared = known
    return pickle.dumps(task(shared, pickle.loads(part)), protocol=pickle.HIGHEST_PROTOCOL)


def _merged(how: bytes, *packed: bytes) -> bytes:
    if len(packed) == 1:
        return packed[0]
    merge = pickle.loads(how)
    found = merge([pickle.loads(one) for one in packed])
    return pickle.dumps(found, protocol=pickle.HIGHEST_PROTOCOL)

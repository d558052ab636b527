"""Threads: their number, the pool that runs compiled loops side by side, the control of BLAS.

It imports nothing heavy: the number can be set before anything else is loaded, and the search of a
table for missing values runs here, too.
"""

from __future__ import annotations

import contextlib
import functools
import math
import numbers
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from types import TracebackType
from typing import Any, TypeVar, overload

from separatrix._compiled.tuning import Tuned

_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T")


@dataclass(frozen=True)
class Tuning:
    """The rules by which work is split among threads and into parts.

    Parameters
    ----------
    parallel_work : float
        The number of multiplications below which a second thread costs more than it saves.
        Measured on two cores: to hand over half of a product and to learn that it is done takes
        0.03 to 0.1 ms, for a sleeping thread has to wake; a product with CSR rows makes a million
        multiplications in 0.5 ms.
    part_work : float
        The least number of multiplications in a part of larger work.
    parts : int
        The largest number of parts: enough for the cores that most machines have, and few enough
        that adding up their results costs little beside the work itself.
    backlog : int
        The largest number of calls that wait for each thread.
    """

    parallel_work: float = 1_000_000
    part_work: float = 500_000
    parts: int = 8
    backlog: int = 16


tuned = Tuned(Tuning())


class _Shares:
    """Tasks, and the threads that were called to take a share of them.

    A thread that wakes when all is done finds its place taken, so that no thread waits for it.
    """

    def __init__(self, tasks: list[Callable[[], Any]], helpers: int) -> None:
        # Any free thread takes the next one: nothing depends on which thread that is.
        self._left = deque(tasks)
        self.places = [threading.Lock() for _ in range(helpers)]
        self.errors: list[BaseException] = []

    def work(self) -> None:
        """Take tasks until there is none left."""
        _local.inside = True
        try:
            while True:
                try:
                    task = self._left.popleft()
                except IndexError:
                    return
                task()
        finally:
            _local.inside = False

    def help(self, place: threading.Lock) -> None:
        """Take tasks in a thread that was called, unless it is too late."""
        if not place.acquire(blocking=False):
            return
        try:
            self.work()
        except BaseException as error:
            self.errors.append(error)
        finally:
            place.release()

    def close(self) -> None:
        """Wait for the threads at work, and let no other thread begin."""
        for place in self.places:
            place.acquire()


class _Pool:
    """The threads that the calls of all Python threads share, for one number of them.

    A share is worked on, in a thread of the pool or in the calling one, while a token is held.
    There are as many tokens as threads, so that together they never use more cores than that.
    """

    def __init__(self, size: int) -> None:
        self.tokens: SimpleQueue[None] = SimpleQueue()
        self._calls: SimpleQueue[tuple[_Shares, threading.Lock]] = SimpleQueue()
        self._size, self._threads = size, 0
        for _ in range(size):
            self.tokens.put(None)

    def call(self, shares: _Shares, place: threading.Lock) -> None:
        """Let one of the threads help, once there is a token."""
        if self._threads < self._size:
            # Where no thread can be started, the calling thread does all of the work.
            with contextlib.suppress(RuntimeError):
                threading.Thread(target=self._serve, name="separatrix", daemon=True).start()
                self._threads += 1
        # Where the threads are too busy to answer, more calls would only pile up.
        if self._threads and self._calls.qsize() < tuned.now.backlog * self._size:
            self._calls.put((shares, place))

    def _serve(self) -> None:
        while True:
            shares, place = self._calls.get()
            if not place.locked():
                self.tokens.get()
                shares.help(place)
                self.tokens.put(None)
            # These hold arrays, and the next call may be a long time coming.
            del shares, place


# The pools by their numbers of threads: a pool in use must outlive a change of the number.
_pools: dict[int, _Pool] = {}
_local = threading.local()


class _Limited(contextlib.AbstractContextManager[None]):
    """A context in which BLAS uses no more threads than a number."""

    def __init__(self, blas: _Blas, limit: int) -> None:
        self._blas, self._limit = blas, limit

    def __enter__(self) -> None:
        self._blas.enter(self._limit)

    def __exit__(self, *error: object) -> None:
        self._blas.leave(self._limit)


class _Blas:
    """The number of threads of BLAS: one for the process, limited by the threads that compute.

    Where several limits are in force at once, from several Python threads, the lowest counts,
    and the last to leave restores the number that the first found.
    """

    def __init__(self) -> None:
        # This is imported when it is needed; it comes with scikit-learn.
        from threadpoolctl import ThreadpoolController

        self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        # Newer versions let one thread of Python alone change the number, and silently ignore the
        # others.  Here the limits of all of them are counted, and any may be the first.
        self._setters = [
            getattr(library, "_real_set_num_threads", library.set_num_threads)
            for library in self._libraries
        ]
        self._lock = threading.Lock()
        self._limits: list[int] = []
        # The number of each library at first, and the number set since: to query it takes time.
        self._own: list[int] = []
        self._set: list[int] = []

    def limited(self, limit: int) -> _Limited:
        return _Limited(self, limit)

    def enter(self, limit: int) -> None:
        with self._lock:
            if not self._limits:
                self._own = [library.num_threads for library in self._libraries]
                self._set = list(self._own)
            # Within a limit that is as low nothing changes, and to find that out takes time.
            lower = not self._limits or limit < min(self._limits)
            self._limits.append(limit)
            if lower:
                self._apply()

    def leave(self, limit: int) -> None:
        with self._lock:
            self._limits.remove(limit)
            if not self._limits or limit < min(self._limits):
                self._apply()

    def _apply(self) -> None:
        most = min(self._limits, default=math.inf)
        for k, own in enumerate(self._own):
            number = own if own <= most else int(most)
            if self._set[k] != number:
                self._setters[k](number)
                self._set[k] = number

    def after_fork(self) -> None:
        # The threads that would have restored it are not in the child.
        self._lock = threading.Lock()
        self._limits = []
        self._apply()


_the_blas: _Blas | None = None
_first = threading.Lock()


def _blas() -> _Blas:
    global _the_blas
    # Two threads that come first at once would take each other's limit for BLAS's own number.
    with _first:
        if _the_blas is None:
            _the_blas = _Blas()
        return _the_blas


def _after_fork() -> None:
    global _first
    _pools.clear()
    _local.inside = _local.in_turn = False
    _first = threading.Lock()
    if _the_blas is not None:
        _the_blas.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """A context in which this thread's work is not split: it is itself a part of something larger.

    Its sums then depend on the work alone, whatever the number of threads.
    """
    before = getattr(_local, "inside", False)
    _local.inside = True
    try:
        with one_blas_thread():
            yield
    finally:
        _local.inside = before


@contextlib.contextmanager
def one_after_another() -> Iterator[None]:
    """A context in which this thread's work is split as everywhere, and run on this thread alone.

    Within it, one of several tasks of :func:`run` gives the same bits as by itself.
    """
    before = getattr(_local, "inside", False), getattr(_local, "in_turn", False)
    _local.inside, _local.in_turn = False, True
    try:
        with one_blas_thread():
            yield
    finally:
        _local.inside, _local.in_turn = before


def one_blas_thread() -> contextlib.AbstractContextManager[None]:
    """A context in which BLAS leaves the threads to its caller.

    Its own threads wait for each other busily at the end of every product, and where the machine
    is busy otherwise, for as long as a time slice of the scheduler: many small products then
    take a hundred times as long.
    """
    return _blas().limited(1)


def bounded_blas() -> contextlib.AbstractContextManager[None]:
    """A context in which BLAS uses at most the number of threads of :func:`separatrix.threads`."""
    # By default it takes all cores of the machine, and ignores the quota of a container.
    number = n_threads()
    return _blas().limited(number) if number < _cores() else contextlib.nullcontext()


@functools.cache
def _cores() -> int:
    """The number of cores of the machine, which is the default of BLAS."""
    return os.cpu_count() or 1


def with_one_blas_thread(function: _F) -> _F:
    """The function, called within :func:`one_blas_thread`.

    The context is around all of its products: a thread of BLAS that one of them woke would go on
    waiting busily for the next one, on a core that is needed.
    """

    @functools.wraps(function)
    def within(*args: Any, **options: Any) -> Any:
        with one_blas_thread():
            return function(*args, **options)

    return within  # type: ignore[return-value]


def ranges(n: int, work: float, most: float = math.inf) -> list[tuple[int, int]]:
    """Contiguous row ranges to work on side by side; a single range where the work is small.

    Their number determines how sums are rounded, so it depends on the problem alone, never on
    the number of threads or on the load of the machine.  Within a part of something larger there
    is a single one, since there is no further core.

    Parameters
    ----------
    n : int
        The number of rows.
    work : float
        The number of multiplications for all rows.
    most : float
        The largest number of parts, where the result of each of them is large.
    """
    if work < tuned.now.parallel_work or getattr(_local, "inside", False):
        return [(0, n)]
    parts = int(min(tuned.now.parts, max(2.0, min(work / tuned.now.part_work, most))))
    parts = max(1, min(parts, n))
    return [(n * k // parts, n * (k + 1) // parts) for k in range(parts)]


def threads_here() -> int:
    """The number of threads that :func:`run` shares tasks among; one within a task of its own."""
    # Within a part there is no further core, and a thread that waits for one would wait for ever.
    part = getattr(_local, "inside", False) or getattr(_local, "in_turn", False)
    return 1 if part else n_threads()


def run(tasks: list[Callable[[], Any]]) -> None:
    """Run the tasks, side by side where there are several."""
    size = threads_here()
    number = min(size, len(tasks))
    if number <= 1:
        for task in tasks:
            task()
        return
    pool = _pools.get(size)
    if pool is None:
        pool = _pools.setdefault(size, _Pool(size))
    # This thread takes one of the shares: another one would have to be woken.
    shares = _Shares(tasks, number - 1)
    for place in shares.places:
        pool.call(shares, place)
    pool.tokens.get()
    try:
        shares.work()
    finally:
        pool.tokens.put(None)
        shares.close()
        # A traceback holds the frames whose variables hold its error: a cycle, and with it arrays.
        errors, shares.errors = shares.errors, []
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()


def run_and_add(
    work: Callable[..., Any], ranges: list[tuple[int, int]], make: Callable[[], tuple[Any, ...]]
) -> tuple[Any, ...]:
    """Run work over ranges of rows, each part with arrays of its own, and add these up.

    Parameters
    ----------
    work : callable
        A function that is called with the arrays of its part, and the first and the last row.
    ranges : list of (int, int)
    make : callable
        A function that gives the arrays of a part, filled with zeros.

    Returns
    -------
    tuple of ndarray
        The sums of the arrays of all parts, one part after another.
    """
    parts = [make() for _ in ranges]
    run([functools.partial(work, *own, a, b) for (a, b), own in zip(ranges, parts, strict=True)])
    for part in parts[1:]:
        for total, more in zip(parts[0], part, strict=True):
            total += more
    return parts[0]


def aside(task: Callable[[], _T]) -> Callable[[], _T]:
    """Begin a task on a thread of its own; return a function that waits for its result or error.

    The thread does not keep a process from ending.
    """
    future: Future[_T] = Future()

    def work() -> None:
        try:
            future.set_result(task())
        except BaseException as error:
            future.set_exception(error)

    try:
        threading.Thread(target=work, name="separatrix-aside", daemon=True).start()
    except RuntimeError:  # there is no room for another
        work()
    return future.result


# --- the number of threads --------------------------------------------------------------------

_VARIABLE = "SEPARATRIX_THREADS"
_chosen: int | None = None


class _Setting:
    """A number that was set; as a context manager it restores the one before at the end."""

    def __init__(self, previous: int | None) -> None:
        self._previous = previous

    def __repr__(self) -> str:
        return f"threads({n_threads()})"

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        global _chosen
        _chosen = self._previous


@overload
def threads() -> int: ...
@overload
def threads(n: int | None) -> _Setting: ...
def threads(n: Any = ...) -> int | _Setting:
    """Set the number of threads of fits and predictions in this process, or return it.

    ``threads()`` returns the number; ``threads(n)`` sets it from now on, and in a ``with``
    statement until its end; ``threads(None)`` goes back to the default.

    The default is the environment variable ``SEPARATRIX_THREADS``.  Where it is not set, it is
    the number of cores that the process may use (its affinity and the quota of its container
    count; two hardware threads of one core are two), and ``OMP_NUM_THREADS`` if that is less:
    joblib's worker processes, where each has its share of the cores, set it.

    Work is split into parts by its size, and not by the number of threads or by how busy the
    machine is, so fits have the same bits for any number.  Small products are not split.
    BLAS is held to one thread in fits, and to the number in predictions.  Calls from several
    Python threads share one pool, and their parts together never run on more than ``n`` cores.

    A child process made by ``os.fork()`` has a pool of its own. But a fork while another thread
    computes with several threads of BLAS may wait for ever, inside ``os.fork()`` itself, because
    OpenBLAS then waits for its threads: there use the start methods ``"forkserver"`` or
    ``"spawn"`` of :mod:`multiprocessing`, or hold BLAS to one thread by ``threads(1)`` or
    ``OPENBLAS_NUM_THREADS=1``.

    Parameters
    ----------
    n : int or None, optional
        The number of threads, at least 1; may be more than there are cores.

    Returns
    -------
    int or context manager
        Without ``n`` the number of threads; otherwise a context manager that restores the earlier
        number when it is left.

    Raises
    ------
    ValueError
        For an ``n``, or a value of ``SEPARATRIX_THREADS``, that is no whole number from 1.

    Examples
    --------
    >>> import separatrix
    >>> from sklearn.datasets import load_iris
    >>> with separatrix.threads(1):
    ...     model = separatrix.LogisticRegression().fit(*load_iris(return_X_y=True))
    ...     separatrix.threads()
    1
    """
    global _chosen
    if n is ...:
        return n_threads()
    # A bool is a number to Python, but a mistake here.
    good = isinstance(n, numbers.Integral) and n is not True and n is not False and int(n) >= 1
    if not (n is None or good):
        raise ValueError(
            f"threads({n!r}) must be given a whole number of at least 1, or None for the default."
        )
    if n is None:
        _default.cache_clear()
    setting = _Setting(_chosen)
    _chosen = None if n is None else int(n)
    return setting


def n_threads() -> int:
    """The number of threads in force."""
    return _default() if _chosen is None else _chosen


def from_environment() -> int | None:
    """The number in ``SEPARATRIX_THREADS``, or None where it is not set."""
    given = os.environ.get(_VARIABLE, "").strip()
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and int(given) > 0):
        raise ValueError(
            f"{_VARIABLE}={given!r} must be a whole number of at least 1; change it or unset it."
        )
    return int(given)


@functools.cache
def _default() -> int:
    given = from_environment()
    if given is not None:
        return given
    # Imported when needed; it comes with scikit-learn.  It counts logical cores, as BLAS does:
    # the rows of a sparse matrix wait for memory, and a core's second thread fills the wait.
    from joblib import cpu_count

    available = int(cpu_count())
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(available, int(limit)) if limit.isdigit() and int(limit) > 0 else available


if hasattr(os, "register_at_fork"):
    # A child process may have other cores.
    os.register_at_fork(after_in_child=_default.cache_clear)

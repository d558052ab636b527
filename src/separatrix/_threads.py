"""How many threads this process uses: one number for fits and predictions, and one knob.

Imports nothing heavy, so that the knob can be turned before anything else is loaded.
"""

from __future__ import annotations

import functools
import numbers
import os
from types import TracebackType
from typing import Any, overload

__all__ = ["from_environment", "n_threads", "threads"]

_VARIABLE = "SEPARATRIX_THREADS"
_chosen: int | None = None


class _Setting:
    """A number that was set, and as a context manager the one before it at the end."""

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
    """Set how many threads fits and predictions of this process use, or tell how many.

    ``threads()`` tells the number; ``threads(n)`` sets it from now on, and in a ``with``
    statement until its end; ``threads(None)`` goes back to the default.

    The default is the environment variable ``SEPARATRIX_THREADS``.  Where it is not set, it is
    the number of cores that the process may use (its affinity and the quota of its container
    count; two hardware threads of one core are two), and ``OMP_NUM_THREADS`` if that is less:
    joblib's worker processes, where each has its share of the cores, set it.

    Work is split into as many parts as there are threads, however busy the machine is, so the
    same number and the same random state give the same bits.  Small products are not split.
    BLAS is held to the number during fits and predictions.  Calls from several Python threads
    share one pool, and their parts together never run on more than ``n`` cores.

    A child process made by ``os.fork()`` has a pool of its own. But to fork while another thread
    computes with several threads of BLAS may wait for ever, inside ``os.fork()`` itself, because
    OpenBLAS then waits for its threads: there use the start methods ``"forkserver"`` or
    ``"spawn"`` of :mod:`multiprocessing`, or hold BLAS to one thread by ``threads(1)`` or
    ``OPENBLAS_NUM_THREADS=1``.

    Parameters
    ----------
    n : int or None, optional
        At least 1; may be more than there are cores, to repeat a fit of another machine to the
        bit.

    Returns
    -------
    int or context manager
        The number without ``n``; otherwise what restores the earlier one when left.

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
    # A bool is a number to Python, and a mistake here.
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
    """What ``SEPARATRIX_THREADS`` says, or None where it says nothing."""
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
    # Loaded when it is needed; it comes with scikit-learn.  Logical cores, as BLAS counts them:
    # the rows of a sparse matrix wait for memory, and a core's second thread fills the wait.
    from joblib import cpu_count

    available = int(cpu_count())
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(available, int(limit)) if limit.isdigit() and int(limit) > 0 else available


if hasattr(os, "register_at_fork"):
    # A child process may have been given other cores.
    os.register_at_fork(after_in_child=_default.cache_clear)

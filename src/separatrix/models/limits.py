"""Limits of time, which count from the beginning of ``fit``."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])

# When the fit under way began, on the clock of :func:`time.perf_counter`.
_begun: ContextVar[float | None] = ContextVar("begun", default=None)


CERTIFIED_GAP = "the certified relative gap, `{default}` by default"


@contextlib.contextmanager
def counting(begun: float | None) -> Iterator[None]:
    """Let the time limits of the fits inside the block count from a moment.

    Parameters
    ----------
    begun : float or None
        On the clock of :func:`time.perf_counter`; None for limits that count from the moment at
        which they are used.
    """
    token = _begun.set(begun)
    try:
        yield
    finally:
        _begun.reset(token)


def counted(fit: _F) -> _F:
    """The method ``fit``, whose time limit counts from its call."""

    @functools.wraps(fit)
    def within(self: Any, *args: Any, **options: Any) -> Any:
        # Estimators that solve equations have no limit.
        limited = vars(self).get("time_limit") is not None
        with counting(time.perf_counter() if limited else None):
            return fit(self, *args, **options)

    return within  # type: ignore[return-value]


def remaining(time_limit: float | None) -> float | None:
    """The seconds left of a time limit, and next to nothing where it has passed."""
    begun = _begun.get()
    if time_limit is None or begun is None:
        return time_limit
    return seconds_to(begun + time_limit)


def deadline_of(time_limit: float | None) -> float:
    """When a time limit ends, on the clock of :func:`time.perf_counter`."""
    if time_limit is None:
        return math.inf
    begun = _begun.get()
    return (time.perf_counter() if begun is None else begun) + time_limit


def seconds_to(deadline: float, parts: int = 1) -> float | None:
    """The limit in seconds of one of so many fits that share the time left; None where none is.

    A limit of zero would be none; the least one ends a fit at its first look at the clock.
    """
    if deadline == math.inf:
        return None
    return max(deadline - time.perf_counter(), 1e-9) / parts


def shared_deadline(deadline: float, parts: int) -> float:
    """The deadline of one of so many fits that share the time left."""
    # A look at the clock counts where fits are short.
    if parts == 1 or deadline == math.inf:
        return deadline
    now = time.perf_counter()
    return now + max(deadline - now, 1e-9) / parts

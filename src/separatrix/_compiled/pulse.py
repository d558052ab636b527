"""The function that long operations call between parts, so that limits or Ctrl-C can end them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

_beat: ContextVar[Callable[[], None] | None] = ContextVar("beat", default=None)


@contextlib.contextmanager
def beating(beat: Callable[[], None] | None) -> Iterator[None]:
    """Let long operations inside the block call ``beat``, which raises where they are to end.

    Parameters
    ----------
    beat : callable or None
        A function that is called from any thread; None lets the operations run to their end.
    """
    token = _beat.set(beat)
    try:
        yield
    finally:
        _beat.reset(token)


def _nothing() -> None:
    pass


def current() -> Callable[[], None]:
    """The function to call between parts; the parts may be on other threads than this one."""
    return _beat.get() or _nothing

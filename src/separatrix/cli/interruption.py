"""Ctrl-C and SIGTERM in the middle of a fit: the best model so far is kept."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Whether a fit was interrupted; true or false once the fit is over."""

    def __init__(self) -> None:
        self.happened = False

    def __bool__(self) -> bool:
        return self.happened


@contextlib.contextmanager
def fitting(model: Any) -> Iterator[Interruption]:
    """Let an interruption end the fit but not the command, when there is a model to save."""
    interruption = Interruption()
    try:
        with _terminate_like_interrupt():
            yield interruption
    except KeyboardInterrupt:
        # Set last of all, so its presence means that the rest is there too.
        if not hasattr(model, "certificate_"):
            raise
        interruption.happened = True


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Once a model is fitted, let no signal cut off the saving, which is short."""
    with _handling(dict.fromkeys(_SIGNALS, signal.SIG_IGN)):
        yield


@contextlib.contextmanager
def _terminate_like_interrupt() -> Iterator[None]:
    """SIGTERM ends a fit as Ctrl-C does.

    It is handed to whoever handles SIGINT at that moment, because a fit has a handler of its own
    that lets the current iteration come to its end. Outside a fit there is nothing to save, and
    SIGTERM keeps its usual effect, which is immediate even inside a long call of another library.
    """

    def terminate(number: int, frame: FrameType | None) -> None:
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            handler(signal.SIGINT, frame)

    handlers: dict[signal.Signals, Any] = {signal.SIGTERM: terminate}
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # So a shell starts background jobs, and then a fit would not install its own handler.
        handlers[signal.SIGINT] = signal.default_int_handler
    with _handling(handlers):
        yield


@contextlib.contextmanager
def _handling(handlers: dict[signal.Signals, Any]) -> Iterator[None]:
    """Handle some signals in another way for a while; outside the main thread, change nothing."""
    previous = {}
    with contextlib.suppress(ValueError):
        for number, handler in handlers.items():
            previous[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)

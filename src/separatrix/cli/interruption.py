"""Ctrl-C and SIGTERM: one line, or in the middle of a fit the best model so far.

Imports next to nothing, so that Ctrl-C is handled from the start.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from separatrix import __version__

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_INTERRUPTED = 130
MESSAGE = "interrupted; nothing was written"
# Python's own frame of every import that is going on.
_IMPORT = "<frozen importlib._bootstrap>"


def ending_imports() -> None:
    """Let Ctrl-C in the middle of an import end the process, from now on."""
    # A shell starts background jobs with Ctrl-C ignored, and a caller may handle it otherwise.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with contextlib.suppress(ValueError):  # outside the main thread
            signal.signal(signal.SIGINT, _end_imports)


def _end_imports(number: int, frame: FrameType | None) -> None:
    """As Python's own handler, but an import ends together with the process.

    An exception in the middle of an import is lost where compiled modules print it and go on, or
    where it is taken for a sign that a library is not there.  While modules are loaded there is
    nothing to save.
    """
    while frame is not None:
        if frame.f_code.co_filename == _IMPORT:
            report_interruption()
            os._exit(_INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


def report_interruption() -> None:
    """Print that the command was interrupted, without a module that may be half imported."""
    with contextlib.suppress(Exception):  # a stream that is closed
        if "--json" in sys.argv:
            print(_DOCUMENT % __version__)
        sys.stdout.flush()
    with contextlib.suppress(Exception):
        print(f"error     {MESSAGE}", file=sys.stderr, flush=True)


# What separatrix.cli.output would print.
_DOCUMENT = f"""{{
  "schema": "separatrix/error",
  "version": 1,
  "library_version": "%s",
  "exit_code": {_INTERRUPTED},
  "error": {{
    "type": "KeyboardInterrupt",
    "message": "{MESSAGE}"
  }}
}}"""


def no_longer(code: int) -> None:
    """Once the command is done, let no Ctrl-C make an error of it while Python ends."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if code == _INTERRUPTED:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        # Python would end by the signal itself where an interruption went through code that
        # was made by exec, as that of named tuples.
        os._exit(_INTERRUPTED)


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
    if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, _end_imports):
        # Background jobs are started with it ignored. A fit puts its own handler in the place of
        # Python's alone.
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

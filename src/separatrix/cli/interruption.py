"""Ctrl-C and SIGTERM: one line, or in the middle of a fit the best model so far.

Imports next to nothing, so that Ctrl-C is handled from the start.
"""

from __future__ import annotations

import atexit
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
    """Let Ctrl-C in the middle of an import end the process, from now on.

    It ends at once where Ctrl-C came before, which the handler of ``separatrix.__main__`` notes.
    """
    handled = signal.getsignal(signal.SIGINT)
    noted = getattr(handled, "noted", None)
    # A shell starts background jobs with Ctrl-C ignored, and a caller may handle it otherwise.
    if handled is signal.default_int_handler or noted is not None:
        with contextlib.suppress(ValueError):  # outside the main thread
            signal.signal(signal.SIGINT, _end_imports)
    if noted:
        report_interruption()
        os._exit(_INTERRUPTED)


def _end_imports(number: int, frame: FrameType | None) -> None:
    """Handle Ctrl-C as Python does, but let an import end together with the process.

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


# The document that separatrix.cli.output would print.
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
    """Let no Ctrl-C make an error of a command that is done, while Python ends.

    The process is left at once after an interruption, and where a thread of the command is still at
    work: Python would take down modules and libraries under compiled code that runs in them.
    """
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    # An interruption that went through code made by exec, as that of named tuples, would besides
    # make Python end by the signal itself.
    interrupted = code == _INTERRUPTED
    if not (interrupted or _threads_at_work()):
        return
    if not interrupted:
        with contextlib.suppress(Exception):
            atexit._run_exitfuncs()
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    with contextlib.suppress(Exception):
        sys.stderr.flush()
    os._exit(code)


def _threads_at_work() -> bool:
    """Whether there are threads that Python would not wait for."""
    threading = sys.modules.get("threading")
    return threading is not None and any(thread.daemon for thread in threading.enumerate())


class Interruption:
    """Whether a command was interrupted once it had something to keep."""

    def __init__(self) -> None:
        self.happened = False

    def __bool__(self) -> bool:
        return self.happened

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal by keeping it in mind."""
        self.happened = True


@contextlib.contextmanager
def keeping(model: Any) -> Iterator[Interruption]:
    """Let an interruption end the fit in the block, but not what keeps the fitted model.

    Before there is a model an interruption ends the command, and from then on it is noted.
    """
    interruption = Interruption()

    def handle(number: int, frame: FrameType | None) -> None:
        # Set last of all, so its presence means that the rest is there too.
        if not hasattr(model, "certificate_"):
            raise KeyboardInterrupt
        interruption.note(number, frame)

    handle.gives_way = True  # type: ignore[attr-defined]
    with _terminate_like_interrupt(handle):
        yield interruption


@contextlib.contextmanager
def fitting(model: Any, interruption: Interruption | None = None) -> Iterator[Interruption]:
    """Let an interruption end the fit but not the command, when there is a model to save."""
    interruption = Interruption() if interruption is None else interruption
    try:
        with _terminate_like_interrupt():
            yield interruption
    except KeyboardInterrupt:
        if not hasattr(model, "certificate_"):
            raise
        interruption.happened = True


@contextlib.contextmanager
def undisturbed() -> Iterator[Interruption]:
    """Let no signal cut off the saving once there is something to save; it is short.

    It is noted, for the exit code.
    """
    interruption = Interruption()
    with _handling(dict.fromkeys(_SIGNALS, interruption.note)):
        yield interruption


@contextlib.contextmanager
def _terminate_like_interrupt(handle: Any = signal.default_int_handler) -> Iterator[None]:
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
    now = signal.getsignal(signal.SIGINT)
    if now in (signal.SIG_IGN, _end_imports, signal.default_int_handler):
        # Background jobs are started with it ignored. A fit puts its own handler in the place of
        # Python's, and of those that give way.
        handlers[signal.SIGINT] = handle
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

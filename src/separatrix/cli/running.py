"""Runs one command: turns whatever ends it into an exit code and one sentence."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Iterator

import click

from separatrix._compiled import memory
from separatrix.cli.app import cli
from separatrix.cli.interruption import MESSAGE
from separatrix.cli.output import (
    Exit,
    error_document,
    print_document,
    say,
    silence,
)
from separatrix.cli.wording import TERMINAL
from separatrix.exceptions import DataError, ModelFileError
from separatrix.messages import said_by


def run(argv: list[str]) -> int:
    """Run the command that `argv` names and return its exit code."""
    with _forgiving_streams():
        return _run(argv)


def _run(argv: list[str]) -> int:
    try:
        # Not cli.main, which has its own idea of what a broken pipe and Ctrl-C mean.
        with cli.make_context("separatrix", argv or ["--help"]) as context:
            code = cli.invoke(context)
        sys.stdout.flush()
        return int(code or 0)
    except BrokenPipeError:  # ``separatrix --help | head -1`` is a normal end
        silence(sys.stdout)
        return int(Exit.DONE)
    except click.exceptions.Exit as error:  # --help, --version
        return error.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "separatrix"
        return _fail(
            argv, Exit.USAGE, error, f"{_sentence(error.format_message())} (see {path} --help)"
        )
    except (click.Abort, KeyboardInterrupt) as error:
        return _fail(argv, Exit.INTERRUPTED, error, MESSAGE)
    except (ImportError, MemoryError, OSError, RuntimeError) as error:
        short = memory.message_for(error)
        if short is not None:
            return _fail(argv, Exit.BAD_INPUT, error, TERMINAL(short))
        if isinstance(error, OSError):
            return _refuse(argv, error)
        return _tell_bug(argv, error)
    except (DataError, ModelFileError, click.ClickException) as error:
        return _refuse(argv, error)
    except Exception as error:
        return _tell_bug(argv, error)


def _refuse(argv: list[str], error: BaseException) -> int:
    return _fail(argv, Exit.BAD_INPUT, error, _sentence(_message(error)))


def _tell_bug(argv: list[str], error: BaseException) -> int:
    told = f"{type(error).__name__}: {error}".strip().splitlines()[0]
    return _fail(
        argv,
        Exit.BUG,
        error,
        f"this is a bug in separatrix ({told}); SEPARATRIX_DEBUG=1 shows where",
    )


def _fail(argv: list[str], code: Exit, error: BaseException, message: str) -> int:
    try:
        sys.stdout.flush()
    except OSError:  # a full disk under stdout would fail once more when the interpreter ends
        silence(sys.stdout)
    if os.environ.get("SEPARATRIX_DEBUG"):
        traceback.print_exception(error)
    # The options of a command that could not be parsed are not known, so the words are searched.
    if "--json" in argv:
        print_document(error_document(code, error, message))
    say("error", message)
    return int(code)


def _message(error: BaseException) -> str:
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the output'}: {error.strerror}"
    return TERMINAL(said_by(error))


def _sentence(message: str) -> str:
    """One line, without the full stop that what follows would contradict."""
    return " ".join(message.split()).rstrip(".")


@contextlib.contextmanager
def _forgiving_streams() -> Iterator[None]:
    """Open what is closed, buffer what is raw, and escape what a terminal has no letter for."""
    previous = sys.stdin, sys.stdout, sys.stderr
    # A stream that the caller has closed (``>&-``) is None.
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    raw = getattr(sys.stdout, "buffer", None)
    buffered = None
    if isinstance(raw, io.RawIOBase):
        # Unbuffered (PYTHONUNBUFFERED): one raw write may take a part and drop the rest, as on
        # a disk that is filling up; a buffer goes on until all is written or an error says why.
        buffered = io.BufferedWriter(raw)
        sys.stdout = io.TextIOWrapper(
            buffered,
            encoding=sys.stdout.encoding,
            errors=sys.stdout.errors,
            line_buffering=True,
        )
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            if stream.encoding.lower().replace("-", "") != "utf8":
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        yield
    finally:
        if buffered is not None:
            # Let go of the raw stream, which is the caller's, instead of closing it.
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.detach()  # type: ignore[union-attr]
                buffered.detach()
        sys.stdin, sys.stdout, sys.stderr = previous

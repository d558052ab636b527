"""Runs one command: turns whatever ends it into an exit code and one sentence."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback

import click

from separatrix.cli.commands import cli
from separatrix.cli.output import (
    Exit,
    error_document,
    in_options,
    print_document,
    say,
    silence,
)
from separatrix.exceptions import DataError, ModelFileError


def run(argv: list[str]) -> int:
    """Run the command that `argv` names and return its exit code."""
    _make_streams_forgiving()
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
        return _fail(argv, Exit.INTERRUPTED, error, "interrupted; nothing was written")
    except (DataError, ModelFileError, OSError, click.ClickException) as error:
        return _fail(argv, Exit.BAD_INPUT, error, in_options(_sentence(_message(error))))
    except MemoryError as error:
        return _fail(argv, Exit.BAD_INPUT, error, "the data do not fit into the memory")
    except Exception as error:
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
    return str(error)


def _sentence(message: str) -> str:
    """One line, without the full stop that what follows would contradict."""
    return " ".join(message.split()).rstrip(".")


def _make_streams_forgiving() -> None:
    """A terminal that lacks a letter of a column name gets its escape, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            if stream.encoding.lower().replace("-", "") != "utf8":
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]

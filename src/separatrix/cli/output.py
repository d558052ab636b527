"""What the commands print: text for people, one JSON document for programs, and exit codes.

Answers go to stdout; warnings, notes, errors and progress go to stderr.
"""

from __future__ import annotations

import contextlib
import enum
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

import click

from separatrix import __version__
from separatrix.assessment.documents import jsonable
from separatrix.cli.wording import TERMINAL
from separatrix.messages import said_by

JSON_VERSION = 1
_LABEL_WIDTH = 10

# How a warning of scikit-learn starts that needs no telling: whether a target is a quantity is
# settled before, and in words of this library.
MANY_CLASSES = "The number of unique classes is greater than"


class Exit(enum.IntEnum):
    """The exit codes; they mean the same for every command."""

    DONE = 0
    NEGATIVE = 1
    USAGE = 2
    BAD_INPUT = 3
    ABOVE_TOL = 4
    BUG = 70
    INTERRUPTED = 130


class Output:
    """Where a command sends what it has to say.

    Parameters
    ----------
    command : str
        The command's name, which becomes part of the document's schema.
    as_json : bool
        Whether one JSON document on stdout replaces the text.
    quiet : bool
        Whether to keep warnings, notes and reports of what was done to itself.
    """

    def __init__(self, command: str, *, as_json: bool, quiet: bool) -> None:
        self.command = command
        self.as_json = as_json
        self.quiet = quiet
        self.warnings: list[str] = []

    def report(self, label: str, text: str) -> None:
        """Print a labelled line about what was done; `quiet` leaves it out."""
        if not self.as_json and not self.quiet:
            _labelled(label, text, sys.stdout)

    def answer(self, label: str, text: str) -> None:
        """Print a labelled line that is what the user asked for."""
        if not self.as_json:
            _labelled(label, text, sys.stdout)

    def text(self, text: str = "") -> None:
        """Print a line of an answer as it is."""
        if not self.as_json:
            write(printable(text) + "\n")

    def warn(self, message: str) -> None:
        """Tell of something that may be wrong."""
        message = TERMINAL(message)
        self.warnings.append(message)
        if not self.quiet:
            say("warning", message)

    def note(self, message: str) -> None:
        """Tell of something worth knowing."""
        if not self.quiet:
            say("note", TERMINAL(message))

    def document(self, code: Exit, body: dict[str, Any]) -> None:
        """Print the JSON document, when one is asked for."""
        if self.as_json:
            print_document(_document(self.command, code, {**body, "warnings": self.warnings}))

    @contextlib.contextmanager
    def telling_warnings(self) -> Iterator[None]:
        """Retell Python's warnings as lines; a fit above ``tol`` has its own line already."""
        from sklearn.exceptions import ConvergenceWarning

        def show(message: Warning | str, *_: Any, **__: Any) -> None:
            self.warn(" ".join(TERMINAL(said_by(message)).split()))

        with warnings.catch_warnings():
            warnings.simplefilter("default")
            for category in (ConvergenceWarning, DeprecationWarning, PendingDeprecationWarning):
                warnings.simplefilter("ignore", category)
            warnings.filterwarnings("ignore", message=MANY_CLASSES)
            warnings.showwarning = show
            yield


def say(label: str, message: str) -> None:
    """Print a labelled line on stderr."""
    _labelled(label, message, sys.stderr)


def _labelled(label: str, text: str, stream: TextIO) -> None:
    head = label.ljust(_LABEL_WIDTH)
    if use_color(stream):
        color = {"error": "red", "warning": "yellow"}.get(label, "cyan")
        head = click.style(head, fg=color)
    write(head + printable(text) + "\n", stream, color=use_color(stream))


def write(text: str, stream: TextIO | None = None, *, color: bool = False) -> None:
    """Write to stdout or another stream; a reader that has gone away is no error.

    ``separatrix fit ... | head -1`` wants one line, and the model all the same.
    """
    stream = sys.stdout if stream is None else stream
    try:
        click.echo(text, file=stream, nl=False, color=color)
    except BrokenPipeError:
        silence(stream)


def silence(stream: TextIO) -> None:
    """Send what a stream still holds, and all that follows, to nowhere."""
    with contextlib.suppress(OSError, ValueError):  # a stream in memory has no file number
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def use_color(stream: TextIO) -> bool:
    """Whether a stream is a terminal that wants colours (``NO_COLOR`` says no)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def printable(text: str) -> str:
    """Escape what could move a terminal's cursor: names and labels come from untrusted files."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


# --------------------------------------------------------------------------------------------
# JSON


def _document(command: str, code: Exit, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "schema": f"separatrix/{command}",
        "version": JSON_VERSION,
        "library_version": __version__,
        "exit_code": int(code),
        **body,
    }


def error_document(code: Exit, error: BaseException, message: str) -> dict[str, Any]:
    """What ``--json`` prints when a command fails."""
    return _document("error", code, {"error": {"type": type(error).__name__, "message": message}})


def print_document(document: dict[str, Any]) -> None:
    """Print one JSON document on stdout, in the strict form of the standard."""
    text = json.dumps(jsonable(document), indent=2, ensure_ascii=False, allow_nan=False)
    # JSON escapes only those control characters that have no place in it; a terminal obeys others.
    text = re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text)
    # Text from a file can hold unpaired surrogates, which no encoding of a stream accepts.
    write(text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n")


# --------------------------------------------------------------------------------------------
# Words


def short(name: Any, limit: int = 60) -> str:
    """A name in a line or a table; the end of a very long one is left out."""
    text = str(name)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def aligned(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """Lay rows of words out in columns: the first to the left, the others to the right."""
    rows = [[printable(word) for word in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        indent
        + "  ".join(
            word.ljust(width) if i == 0 else word.rjust(width)
            for i, (word, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]

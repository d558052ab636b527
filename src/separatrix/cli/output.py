"""The output of the commands: text for people, one JSON document for programs, and exit codes.

Answers go to stdout; warnings, notes, errors and progress go to stderr.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import json
import math
import os
import re
import shutil
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TextIO

import click

from separatrix import __version__
from separatrix._compiled.memory import is_tight
from separatrix.assessment.documents import jsonable
from separatrix.cli.wording import TERMINAL
from separatrix.messages import counted
from separatrix.messages.markup import table_text

JSON_VERSION = 1
LABEL_WIDTH = 10

# How a warning of scikit-learn starts that needs no report: whether a target is a quantity is
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
    """The output of a command.

    Parameters
    ----------
    command : str
        The command's name, which becomes part of the document's schema.
    as_json : bool
        Whether one JSON document on stdout replaces the text.
    quiet : bool
        Whether to suppress warnings, notes and reports of what was done.
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
        """Print a labelled line of the result."""
        if not self.as_json:
            _labelled(label, text, sys.stdout)

    def reported(self, label: str, lines: Sequence[str]) -> None:
        """Print lines below one another about what was done, the first with a label."""
        if not self.as_json and not self.quiet:
            _below(label, lines)

    def answered(self, label: str, lines: Sequence[str]) -> None:
        """Print lines below one another of an answer, the first with a label."""
        if not self.as_json:
            _below(label, lines)

    def text(self, text: str = "") -> None:
        """Print a line of an answer as it is."""
        if not self.as_json:
            write(printable(text) + "\n")

    def below(self, text: str) -> None:
        """Print a sentence below the answer that it belongs to, under its first word."""
        if not self.as_json:
            write(" " * LABEL_WIDTH + _wrapped(printable(text), sys.stdout) + "\n")

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Print a table as part of an answer, apart from what is above it."""
        self.text()
        for line in aligned(rows):
            self.text(line)

    def warn(self, message: str) -> None:
        """Warn of something that may be wrong."""
        message = TERMINAL(message)
        self.warnings.append(message)
        if not self.quiet:
            print_message("warning", message)

    def note(self, message: str) -> None:
        """Note something worth knowing."""
        if not self.quiet:
            print_message("note", TERMINAL(message))

    def document(self, code: Exit, body: dict[str, Any]) -> None:
        """Print the JSON document, under ``--json``."""
        if self.as_json:
            print_document(_document(self.command, code, {**body, "warnings": self.warnings}))

    @contextlib.contextmanager
    def reporting_warnings(self) -> Iterator[None]:
        """Report Python's warnings as lines; a fit above ``tol`` has its own line already."""
        from separatrix.exceptions import ConventionWarning

        def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
            # scikit-learn's, by its name: to import it takes longer than some commands do.
            if all(kind.__name__ != "ConvergenceWarning" for kind in category.__mro__):
                self.warn(" ".join(TERMINAL(message).split()))

        with warnings.catch_warnings():
            warnings.simplefilter("default")
            old = DeprecationWarning, PendingDeprecationWarning
            # Who types a command comes from no other library.
            for category in (ConventionWarning, *old):
                warnings.simplefilter("ignore", category)
            warnings.filterwarnings("ignore", message=MANY_CLASSES)
            warnings.showwarning = show
            yield


def print_message(label: str, message: str) -> None:
    """Print a labelled line on stderr."""
    _labelled(label, message, sys.stderr)


def terminal_width() -> int:
    """Return the width of standard output, or of a page where it is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 100


def _below(label: str, lines: Sequence[str]) -> None:
    """Lines of a width that suits the terminal, with a label before the first."""
    first, *others = (_drawn(printable(line), sys.stdout) for line in lines)
    head = label.ljust(LABEL_WIDTH)
    if use_color(sys.stdout):
        head = click.style(head, fg="cyan")
    rest = "".join(f"{'':{LABEL_WIDTH}}{line}\n" for line in others)
    write(f"{head}{first}\n{rest}", sys.stdout, color=use_color(sys.stdout))


def _drawn(line: str, stream: TextIO) -> str:
    """A line whose bars are of signs that the stream can write."""
    try:
        line.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return re.sub("[\u2589-\u258f]", "", line.replace("\u2588", "#")).rstrip()
    return line


def _labelled(label: str, text: str, stream: TextIO) -> None:
    head = label.ljust(LABEL_WIDTH)
    if use_color(stream):
        color = {"error": "red", "warning": "yellow"}.get(label, "cyan")
        head = click.style(head, fg=color)
    write(head + _wrapped(printable(text), stream) + "\n", stream, color=use_color(stream))


def _wrapped(text: str, stream: TextIO) -> str:
    """The text, on a terminal in as many lines as its width needs, under the first word."""
    if not stream.isatty():
        return text
    width = max(20, shutil.get_terminal_size().columns - LABEL_WIDTH)
    # Words of a file's name or a command stay whole, to be copied.
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return ("\n" + " " * LABEL_WIDTH).join(lines)


def write(text: str, stream: TextIO | None = None, *, color: bool = False) -> None:
    """Write to stdout or another stream; a reader that has gone away is no error.

    ``separatrix fit ... | head -1`` wants one line, and the model all the same.  What does not
    reach stderr, because the disk is full, is lost; the answer and the exit code stay as they are.
    """
    stream = sys.stdout if stream is None else stream
    try:
        click.echo(text, file=stream, nl=False, color=color)
    except OSError as error:
        if stream is not sys.stderr and not isinstance(error, BrokenPipeError):
            raise
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
    """The document that ``--json`` prints when a command fails."""
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


def aligned(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """Lay rows of words out in columns: the first to the left, the others to the right."""
    return [indent + line for line in table_text([[printable(w) for w in row] for row in rows])]


# --------------------------------------------------------------------------------------------
# Progress


class GapScale:
    """The position of a relative gap between the first one and ``tol``, on a log scale.

    Every decade of the gap costs a solver about the same, so a bar on this scale moves evenly.
    """

    def __init__(self) -> None:
        self._start: float | None = None
        self._reached = 0.0

    def fraction(self, gap: float, tol: float) -> float:
        """A share, 0 at the first finite gap and 1 at ``tol``, which never goes back."""
        if not math.isfinite(gap):
            return self._reached
        if gap <= tol:
            self._reached = 1.0
            return 1.0
        if self._start is None:
            self._start = gap
        way = math.log(self._start / tol)
        done = math.log(self._start / gap) / way if way > 0 else 0.0
        self._reached = min(1.0, max(self._reached, done))
        return self._reached


class FitScales:
    """The scale of the fit that is reported on: every part, and the same of another fold, anew."""

    def __init__(self) -> None:
        self._part, self._iteration = "", -1
        self._scale = GapScale()

    def of(self, part: str, iteration: int) -> GapScale:
        if part != self._part or iteration < self._iteration:
            self._scale = GapScale()
        self._part, self._iteration = part, iteration
        return self._scale


def progress_bar(*, shown: bool, before: Callable[[], str] = str) -> AbstractContextManager[None]:
    """Show how far the fits that run inside are, when stderr is a terminal.

    ``before`` returns the text that stands before a fit's own words, at every update.
    """

    def state(record: Any) -> str:
        part = before() + (f"{printable(str(record.part))}: " if record.part else "")
        count = counted(record.iteration, "iteration")
        if not math.isnan(record.sample_gap):
            # The progress of a part of the rows is not yet that of all of them.
            return f"{part}sample of the rows, gap {record.sample_gap:.1e}"
        about = "about " if record.likely_gap < record.relative_gap else ""
        return f"{part}gap {about}{record.likely_gap:.1e} -> {record.tol:.0e}, {count}"

    return _bar("fit      ", state, shown=shown)


@contextlib.contextmanager
def reading_line(*, shown: bool, patience: float = 0.5) -> Iterator[None]:
    """Show how far the reading of tables inside is, when stderr is a terminal.

    Parameters
    ----------
    shown : bool
        Whether to show it at all.
    patience : float
        Seconds of reading after which the line appears.
    """
    # It takes a thread, and where the address space is tight there may be none.
    if not shown or not sys.stderr.isatty() or is_tight():
        yield
        return
    from separatrix.tables.progress import watch_reading

    with watch_reading(functools.partial(_reading, patience)):
        yield


@contextlib.contextmanager
def _reading(patience: float, how_far: Callable[[], float], about: int | None) -> Iterator[None]:
    """A line on stderr from some seconds on, which is gone when it is done."""
    done = threading.Event()

    def draw() -> None:
        if done.wait(patience):
            return
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn

        columns = TextColumn("reading  "), SpinnerColumn(), TextColumn("{task.fields[state]}")
        pace = Pace(about)
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=None, state="")
            while not done.wait(0.1):
                bar.update(task, state=pace.words(how_far(), time.monotonic()))

    drawing = threading.Thread(target=draw, daemon=True)
    drawing.start()
    try:
        yield
    finally:
        done.set()
        drawing.join()


class Pace:
    """The pace of the scans of a table, in words.

    Parameters
    ----------
    about : int or None
        The approximate number of rows.
    """

    def __init__(self, about: int | None) -> None:
        self.about = about
        self._share = self._since = math.inf

    def words(self, share: float, now: float) -> str:
        """The progress of the present scan in words, by its share at a time in seconds."""
        if share < self._share:  # the next scan
            self._since = now
        self._share = share
        if not 0.0 < share <= 1.0:
            return ""
        if self.about is None:
            return f"{100.0 * share:.0f} %"
        text = f"{share * self.about:,.0f} of about {self.about:,} rows"
        seconds = now - self._since
        return text if seconds <= 0.0 else f"{text}, {share * self.about / seconds:,.0f} rows/s"


def exact_bar(*, shown: bool) -> AbstractContextManager[None]:
    """Show how far a proof in exact arithmetic is, when stderr is a terminal."""
    return _bar("proof    ", lambda _: "a tighter fit, for its dual point", shown=shown)


@contextlib.contextmanager
def passes_bar(*, shown: bool) -> Iterator[None]:
    """Show how far the pass is that a fit makes over its blocks, and the gap so far."""
    if not shown or not sys.stderr.isatty():
        yield
        return
    from separatrix.scale.passes import watch_passes
    from separatrix.solvers.driver import watch

    gap = ""

    def fit(record: Any) -> None:
        nonlocal gap
        if math.isfinite(record.relative_gap):
            gap = f", gap {record.relative_gap:.1e} -> {record.tol:.0e}"

    with rows_bar("fit      ") as show, watch(fit):

        def passed(record: Any) -> None:
            state = f"pass {record.number}, {_rate(record.rate)}{gap}"
            show(record.rows / max(record.n_rows, 1), state)

        with watch_passes(passed):
            yield


@contextlib.contextmanager
def reading_bar(*, shown: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Show how far a table is read; gives a function to call with a stage and rows."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    with rows_bar("read     ") as show:
        since: dict[str, float] = {}

        def on_progress(stage: str, rows: int, total: int) -> None:
            seconds = time.perf_counter() - since.setdefault(stage, time.perf_counter())
            rate = f", {_rate(rows / seconds)}" if seconds > 0.1 else ""
            show(rows / max(total, 1), f"{stage} {rows:,} of {total:,} rows{rate}")

        yield on_progress


def _rate(rows: float) -> str:
    return f"{rows / 1e6:.1f} million rows/s" if rows >= 1e6 else f"{rows:,.0f} rows/s"


@contextlib.contextmanager
def rows_bar(title: str) -> Iterator[Callable[[float, str], None]]:
    """A bar on stderr that is gone when it is done; gives a function that sets share and words."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn(title),
        BarColumn(bar_width=30),
        # Markup stays off: a part is named by a class, which comes from a file.
        TextColumn("{task.fields[state]}", markup=False),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("", total=1.0, state="starting")

    def show(share: float, state: str) -> None:
        bar.update(task, completed=share, state=state)

    with bar:
        yield show


@contextlib.contextmanager
def _bar(title: str, state: Callable[[Any], str], *, shown: bool) -> Iterator[None]:
    """A bar on stderr that is gone when it is done; `state` has the words for a fit's record."""
    if not shown or not sys.stderr.isatty():
        yield
        return
    from separatrix.solvers.driver import watch
    from separatrix.verification.exact_numbers import watch_exact

    scales = FitScales()
    with rows_bar(title) as show:

        def fit(record: Any) -> None:
            scale = scales.of(str(record.part or ""), record.iteration)
            show(scale.fraction(record.likely_gap, record.tol), state(record))

        def proof(text: str, share: float) -> None:
            show(share, text)

        with watch_exact(proof), watch(fit):
            yield

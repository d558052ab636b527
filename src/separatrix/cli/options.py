"""Options of the commands: typed fields of one frozen dataclass a command, each with its help.

Imports nothing but click and what prints, so that ``--help`` and a mistyped option answer at once.
"""

from __future__ import annotations

import csv
import glob
import itertools
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from operator import itemgetter
from pathlib import PurePath
from typing import Any, ClassVar, TypeVar

import click
from click.shell_completion import CompletionItem

from separatrix import threads
from separatrix._compiled import memory
from separatrix._compiled.pool import from_environment
from separatrix.cli.output import Output, reading_line

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
KINDS = ("number", "date", "category", "text", "ignore")


# ------------------------------------------------------------------------ options as dataclasses


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a command.

    Attributes
    ----------
    as_json, quiet : bool
        Whether the answer is one JSON document, and whether warnings, notes and reports of what
        was done are left out.
    names : tuple of str
        The other options in the order in which they were given, then those that were not.
    """

    # The options that the help lists under each title; where there are titles, it lists no others
    # but those that belong to the end.
    sections: ClassVar[Mapping[str, str]] = {}
    # Where the help lists what belongs to the end.
    last_group: ClassVar[str] = ""

    as_json: bool = False
    quiet: bool = False
    names: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The options by name, for a model file or a document."""
        return {name: getattr(self, name) for name in self.names}


O = TypeVar("O", bound=Options)  # noqa: E741
_declared = itertools.count()


def _complete_file(
    context: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Leave the name of a file to the shell."""
    return [CompletionItem(incomplete, type="file")]


def _complete_column(
    context: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Columns of a CSV file that is named already, by its first line."""
    words = os.environ.get("COMP_WORDS", "").split()
    tables = [word for word in words if word.endswith((".csv", ".tsv")) and os.path.isfile(word)]
    if not tables:
        return []
    try:
        with open(tables[0], newline="", encoding="utf-8-sig") as file:
            text = file.readline()
        names = next(csv.reader([text], delimiter=max(",;\t|", key=text.count)), [])
    except (OSError, ValueError, csv.Error):
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


# The completions of the shell, by the placeholder of the value in the help.
_COMPLETIONS = {"FILE": _complete_file, "COL": _complete_column}


def option(
    help: str,
    kind: Any = None,
    *,
    last: bool = False,
    flags: tuple[str, ...] = (),
    **attributes: Any,
) -> Any:
    """A field of a command's options that the command line sets.

    Parameters
    ----------
    help : str
    kind : click.ParamType, tuple of str or bool, optional
        The type of the value: text when not given, one of some words, or none (`bool`).
    last : bool
        Whether it comes after the fields of classes that inherit it, in their `last_group`.
    flags : tuple of str
        The option as it is written, where that is not the name of the field.
    **attributes
        Attributes of `click.Option`.
    """
    attributes |= {"is_flag": True} if kind is bool else {"type": kind}
    if isinstance(kind, tuple):
        attributes["type"] = click.Choice(kind)

    def make(name: str, title: str) -> click.Parameter:
        written = (*(flags or ("--" + name.replace("_", "-"),)), name)
        if complete := _COMPLETIONS.get(attributes.get("metavar", "")):
            attributes.setdefault("shell_complete", complete)
        return _Option(written, group=title, help=help, **attributes)

    absent = False if kind is bool else attributes.get("default")
    return field(default=absent, metadata={"make": make, "order": (last, next(_declared))})


def argument(*, required: bool = True) -> Any:
    """A field of a command's options that is an argument."""

    def make(name: str, title: str) -> click.Parameter:
        return click.Argument([name], required=required, shell_complete=_complete_file)

    return field(metadata={"make": make, "order": (False, next(_declared))})


def _parameters(options: type[Options]) -> list[click.Parameter]:
    """The parameters of a command: in the order of its sections, or of its fields."""
    titles = {name: title for title, names in options.sections.items() for name in names.split()}
    places = {name: place for place, name in enumerate(titles, start=1)}
    found = []
    for one in fields(options):
        if one.metadata:
            last, number = one.metadata["order"]
            # Arguments come first.
            shown = last or one.name in titles or one.default is MISSING
            if shown or not titles:
                place = (last, places.get(one.name, 0), number)
                title = options.last_group if last else titles.get(one.name, "")
                found.append((place, one.metadata["make"](one.name, title)))
    return [parameter for _, parameter in sorted(found, key=itemgetter(0))]


# -------------------------------------------------------------------------------------- commands


class ExamplesFirst:
    """Puts a block of examples between the usage line and the prose."""

    def __init__(self, *args: Any, examples: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples.strip().splitlines()

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            for line in self.examples:
                # Written as it is: wrapped commands cannot be copied.
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")
        super().format_help_text(ctx, formatter)  # type: ignore[misc]


class _Option(click.Option):
    """An option that the help lists under a title of its own, or at the end."""

    def __init__(self, *args: Any, group: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


class _Command(ExamplesFirst, click.Command):
    def invoke(self, ctx: click.Context) -> Any:
        # Before the libraries are loaded, which would end the process or wait for ever.
        short = memory.shortage()
        if short is not None:
            raise MemoryError(short)
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        rest: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None or isinstance(param, click.Argument):
                continue
            group = getattr(param, "group", "")
            (sections.setdefault(group, []) if group else rest).append(record)
        sections["Other options" if sections else "Options"] = rest
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def command(
    name: str, options: type[O], *, summary: str, examples: str
) -> Callable[[Callable[[O], O]], click.Command]:
    """A command whose help starts with `examples`, and which the list of commands sums up.

    The decorated function gets the options, refuses those that cannot be meant, and returns them
    as they are settled; its docstring is the command's help. The work is done by the function
    ``run`` of the module ``run`` beside it, which is imported only then: that takes a second.
    """

    def decorate(check: Callable[[O], O]) -> click.Command:
        def start(as_json: bool, quiet: bool, **given: Any) -> int:
            settled = check(options(**given, as_json=as_json, quiet=quiet, names=tuple(given)))
            out = Output(name, as_json=as_json, quiet=quiet)
            run = import_module(f"{check.__module__}.run").run
            with out.reporting_warnings(), reading_line(shown=not quiet):
                return int(run(out, settled))

        return _Command(
            name,
            callback=start,
            params=[*_parameters(options), *_common()],
            help=check.__doc__,
            short_help=summary,
            examples=examples,
            context_settings=SETTINGS,
        )

    return decorate


def _set_threads(context: click.Context, param: click.Parameter, number: int | None) -> None:
    if number is None:
        try:
            # A bad one is a mistake in the call, reported before any work is done.
            from_environment()
        except ValueError as error:
            raise click.UsageError(str(error), context) from None
        return
    # Until the command ends: tests and notebooks call it within a process.
    context.with_resource(threads(number))


def _common() -> list[click.Parameter]:
    """``--json``, ``-q`` and ``--threads``, the same for every command."""
    return [
        click.Option(
            ["--json", "as_json"], is_flag=True, help="Print one JSON document on stdout."
        ),
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            help="Print only the answer, and why an exit code is not 0.",
        ),
        click.Option(
            ["--threads"],
            type=COUNT,
            expose_value=False,
            callback=_set_threads,
            help="The number of threads. [default: SEPARATRIX_THREADS, else all available cores]",
        ),
    ]


# --------------------------------------------------------------------------- what an option takes


class Parsed(click.ParamType):
    """The result of a function for a text; its `ValueError` states why there is none.

    Parameters
    ----------
    name : str
        The name of such a text in the help.
    parse : callable
    """

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name, self.parse = name, parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _number(
    allowed: str,
    accept: Callable[[float], bool],
    kind: type = float,
    *,
    names: tuple[str, ...] = (),
) -> Parsed:
    """A number within bounds, or a rule by name."""

    def parse(text: str) -> float | str:
        if text in names:
            return text
        try:
            number: float = kind(text)
        except ValueError:
            number = math.nan
        if not accept(number):
            raise ValueError(f"{text} is not {', '.join(names)}{' or ' if names else ''}{allowed}")
        return number

    return Parsed("number", parse)


POSITIVE = _number("a number above 0", lambda x: x > 0)
LEVEL = _number("a number above 0 and below 1", lambda x: 0 < x < 1)
KAPPA = _number("a number above 0.5, up to 1", lambda x: 0.5 < x <= 1)
FINITE_POSITIVE = _number("a finite number above 0", lambda x: 0 < x < math.inf)
FRACTION = _number("a share of the rows from 0 (fit them all) to below 1", lambda x: 0 <= x < 1)
COUNT = _number("a whole number from 1", lambda x: x >= 1, int)
FOLDS = _number("a whole number from 2", lambda x: x >= 2, int)
DEGREE = _number("a whole number from 1 to 1000", lambda x: 1 <= x <= 1000, int)
FINITE = _number("a finite number", math.isfinite)
FROM_ZERO = _number("a finite number from 0", lambda x: 0 <= x < math.inf)
SEED = _number("a whole number from 0 to 4294967295", lambda x: 0 <= x < 2**32, int)
GAMMA = _number("a finite number from 0", lambda x: 0 <= x < math.inf, names=("scale", "auto"))
SHRINKAGE = _number("a number from 0 to 1", lambda x: 0 <= x <= 1, names=("auto", "none"))


def _parse_size(text: str) -> str:
    """An amount of memory, as it was written."""
    memory.bytes_of(text, called="")
    return text


def _parse_limit(text: str) -> str:
    """An amount of memory or none at all, as it was written."""
    memory.limit_of(text, called="")
    return text


SIZE = Parsed("size", _parse_size)
LIMIT = Parsed("size", _parse_limit)


def _parse_numbers(text: str) -> tuple[float, ...]:
    """Finite numbers with commas between them."""
    numbers = []
    for word in text.split(","):
        try:
            numbers.append(float(word))
        except ValueError:
            numbers.append(math.nan)
        if not math.isfinite(numbers[-1]):
            raise ValueError(f"{word.strip()!r} in {text!r} is not a finite number")
    return tuple(numbers)


NUMBERS = Parsed("numbers", _parse_numbers)


def _parse_kind(text: str) -> tuple[str, str]:
    """``COLUMN=KIND``; the last ``=`` counts, since a column's name can hold one."""
    column, _, kind = text.rpartition("=")
    if not column or kind not in KINDS:
        raise ValueError(f"{text!r} is not COLUMN=KIND with KIND one of {', '.join(KINDS)}")
    return column, kind


def _parse_order(text: str) -> tuple[str, tuple[str, ...]]:
    """``COLUMN=LEVEL,LEVEL,...``; quotation marks hold a level together that has a comma."""
    column, _, listed = text.partition("=")
    levels = tuple(level.strip() for level in next(csv.reader([listed]), []))
    if not column or len(set(levels)) < max(2, len(levels)) or "" in levels:
        raise ValueError(f"{text!r} is not COLUMN=LEVEL,LEVEL,... with two levels or more")
    return column, levels


def _kinds_by_column(
    context: click.Context, param: click.Parameter, given: tuple[tuple[str, str], ...]
) -> dict[str, str]:
    kinds: dict[str, str] = {}
    for column, kind in given:
        if kinds.setdefault(column, kind) != kind:
            raise click.UsageError(f"--kind gives two kinds to the column {column!r}", context)
    return kinds


# ------------------------------------------------------------------- options of several commands

target = partial(option, metavar="COL")
output = partial(option, flags=("-o", "--output"), metavar="FILE")
threshold = partial(
    option,
    "Predict the positive class where its probability is at least this; for models without "
    "probabilities, where the score is. [default: that of fit, else the more likely class]",
    FINITE,
)
drop_missing_target = partial(option, "Leave out rows whose target is missing.", bool)
memory_limit = partial(
    option,
    "The memory limit, such as 1GB. A larger table is read in passes within it. [default: half of "
    "the machine's memory]",
    SIZE,
    metavar="SIZE",
)
engine = partial(
    option,
    "Where the passes are computed: by the threads of this machine, or on a Dask cluster. "
    "[default: local]",
    ("local", "dask"),
)
scheduler = partial(
    option,
    "The address of the cluster's scheduler, such as tcp://127.0.0.1:8786.",
    metavar="ADDRESS",
)
missing = partial(
    option,
    "The text of a cell that means missing, of one column alone as COL=TEXT; can be repeated. A "
    "number stands for every spelling of it and is added to the usual marks; a word replaces them. "
    "[default: ?, NA and the like; an empty cell is always missing]",
    multiple=True,
    metavar="TEXT",
    callback=lambda context, param, given: list(given) or None,
)
delimiter = partial(
    option,
    "The delimiter of a CSV file: one character, or tab. [default: detected]",
    metavar="MARK",
)
encoding = partial(
    option,
    "The encoding of a text file, such as latin-1. [default: UTF-8, else the one in which its "
    "words read as a language]",
)
unpacked_limit = partial(
    option,
    "The limit of the size to which a packed file, a workbook or a view may be unpacked, such as "
    "20GB. [default: half of the machine's memory]",
    SIZE,
    metavar="SIZE",
)


def _parse_header(text: str) -> str:
    """The number of the line of a header, the numbers of two, or none, as they were written."""
    parts = text.split(",")
    numbers = all(part.isascii() and part.isdigit() and int(part) for part in parts)
    if text != "none" and not numbers:
        raise ValueError(f"{text} is not the number of a line, two such as 4,5, or none")
    return text


def _parse_lines(text: str) -> str:
    """A number of lines, as it was written."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text} is not a whole number from 0")
    return text


@dataclass(frozen=True, kw_only=True)
class LineOptions(Options):
    """The place of a table in its file; a model does not store it, as another file has its own."""

    header: str | None = option(
        "The number of the line with the names of the columns, 4,5 for two lines, or none where "
        "there are no names. [default: detected, file by file]",
        Parsed("line", _parse_header),
        last=True,
        metavar="LINE",
    )
    skip_rows: str | None = option(
        "The number of lines to leave out at the beginning of the file. [default: detected]",
        Parsed("lines", _parse_lines),
        last=True,
        metavar="LINES",
    )
    footer: str | None = option(
        "The number of lines to leave out at the end of the file; 0 keeps all. [default: detected]",
        Parsed("lines", _parse_lines),
        last=True,
        metavar="LINES",
    )
    sheet: str | None = option(
        "The sheet of a workbook, or the table of a database. [default: the only one with a table]",
        last=True,
        metavar="NAME",
    )


def require_scheduler(engine: str | None, scheduler: str | None) -> None:
    """Refuse a cluster without an address, and an address without a cluster."""
    if (engine == "dask") != (scheduler is not None):
        raise click.UsageError("--engine dask and --scheduler ADDRESS go together")


@dataclass(frozen=True, kw_only=True)
class TableOptions(LineOptions):
    """The table to learn from, and how its columns are read."""

    data: str = argument()
    target: str | None = None
    ignore: Sequence[str] = option(
        "Leave a column out; can be repeated.",
        last=True,
        multiple=True,
        metavar="COL",
        callback=lambda context, param, given: list(given),
    )
    kinds: Mapping[str, str] = option(
        f"Read a column as {', '.join(KINDS)}; can be repeated.",
        Parsed("column=kind", _parse_kind),
        flags=("--kind",),
        last=True,
        multiple=True,
        metavar="COL=KIND",
        callback=_kinds_by_column,
    )
    missing: Sequence[str] | None = missing(last=True)
    decimal: str | None = option(
        "The decimal mark of numbers. [default: detected, column by column]",
        (".", ","),
        last=True,
    )
    date_format: str | None = option(
        "How dates are written: day-first, month-first, year-first, or a format such as %d/%m/%Y. "
        "[default: detected, column by column]",
        last=True,
        metavar="ORDER",
    )
    keep_levels: bool = option(
        "Keep levels apart that differ only in case, accents, blanks or a full stop.",
        bool,
        last=True,
    )
    ordered: Mapping[str, Sequence[str]] = option(
        "Read a column as numbers in the order of its levels, from the lowest; can be repeated.",
        Parsed("column=levels", _parse_order),
        last=True,
        multiple=True,
        metavar="COL=LEVEL,LEVEL,...",
        callback=lambda context, param, given: {name: list(levels) for name, levels in given},
    )
    drop_missing_target: bool = drop_missing_target(last=True)
    ignore_unusable: bool = option("Leave out columns that hold lists or records.", bool, last=True)
    delimiter: str | None = delimiter(last=True)
    encoding: str | None = encoding(last=True)
    unpacked_limit: str | None = unpacked_limit(last=True)
    sql: str | None = option(
        "An SQL query whose result is used as the table; in it, DATA is the table named data.",
        last=True,
    )

    def check_columns(self) -> None:
        """Refuse options that leave out the column to predict."""
        if self.target in self.ignore:
            raise click.UsageError("--ignore leaves out the column that --target names")
        if self.target is None and "target" in self.ignore:
            raise click.UsageError(
                "--ignore leaves out the column 'target', which is predicted unless --target names "
                "another one"
            )
        for name in ("group", "time", "weight"):
            column = getattr(self, name, None)
            if column is None:
                continue
            if column == (self.target or "target"):
                raise click.UsageError(f"--{name} names the column to predict")
            if column in self.ignore or self.kinds.get(column) == "ignore":
                raise click.UsageError(f"--{name} {column} names a column that is left out")
        for column in self.ordered:
            if column in (self.target or "target", *self.ignore) or column in self.kinds:
                raise click.UsageError(
                    f"--ordered {column} names the column to predict, a column that is left out, "
                    "or one with a --kind"
                )
        if self.kinds.get(self.target or "target") == "ignore":
            raise click.UsageError("--kind leaves out the column to predict")


# ---------------------------------------------------------------------- what is not overwritten


def refuse_to_overwrite_inputs(
    output: str, *, data: str, model: str | None = None, option: str = "--output"
) -> None:
    """Refuse an output that is a file of the table DATA, or the file MODEL.

    Parameters
    ----------
    output : str
        The file that will be written.
    data : str
        The table as the user names it: a file, a pattern, a built-in name, or ``-``.
    model : str, optional
        The model file that is read.
    option : str
        The option that names the output.

    Raises
    ------
    click.UsageError
        If they are one file, under whatever names.
    """
    if not output:
        raise click.UsageError(f"{option} is empty: give the name of a file")
    if not os.path.exists(output):
        return
    if model is not None and _same(output, model):
        lost = "the model file"
    elif data == "-":
        lost = "the table on standard input" if _is_standard_input(output) else ""
    else:
        paths = [data] if os.path.exists(data) else glob.glob(data, recursive=True)
        lost = next((f"the table {path}" for path in paths if _same(output, path)), "")
    if lost:
        raise click.UsageError(
            f"{option} {output} is {lost}, which would be lost: write to another file"
        )


def ending_of(path: str) -> str:
    """The ending of a file's name in lower case."""
    return PurePath(path).suffix.lower()


def check_picture(
    path: str, endings: Sequence[str], *, data: Sequence[str], others: Sequence[str | None] = ()
) -> None:
    """Refuse a picture that cannot be written, or would take the place of another file.

    Parameters
    ----------
    path : str
        The file that ``--plot`` names.
    endings : sequence of str
        The endings that the name may have.
    data : sequence of str
        The tables that are read, as the user names them.
    others : sequence of str
        Other files that are written.

    Raises
    ------
    click.UsageError
        The message is one sentence.
    """
    for table in data:
        refuse_to_overwrite_inputs(path, data=table, option="--plot")
    if ending_of(path) not in endings:
        raise click.UsageError(f"--plot {path} must end in one of {', '.join(endings)}")
    if path in others:
        raise click.UsageError("--plot and --output name the same file")
    if find_spec("matplotlib") is None:
        raise click.UsageError('--plot needs matplotlib: pip install "separatrix[app]"')


def refuse_to_overwrite_others(
    output: str,
    looks_right: Callable[[str], bool] | None = None,
    *,
    option: str = "--output",
    other: str = "not a separatrix model",
) -> None:
    """Refuse to replace a file by one of another sort; one that is empty is no loss.

    Parameters
    ----------
    output : str
        The file that will be written.
    looks_right : callable, optional
        Whether a file is of the sort that will be written: by default, whether it is a model.
    option : str
        The option that names the output.
    other : str
        A description of a file of another sort.

    Raises
    ------
    click.UsageError
        If there is a file of another sort.
    """
    if looks_right is None:
        from separatrix.persistence.model_file import looks_like_model

        looks_right = looks_like_model
    if holds_something(output) and not looks_right(output):
        raise click.UsageError(
            f"{option} {output} exists and is {other}, so it is not overwritten: "
            "remove it, or write to another file"
        )


def holds_something(path: str) -> bool:
    """Whether there is a file that is not empty."""
    return os.path.isfile(path) and os.path.getsize(path) > 0


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _is_standard_input(path: str) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(sys.stdin.fileno()))
    except (AttributeError, OSError, ValueError):  # a stream in memory has no file number
        return False

"""Options that commands share, and help that leads with examples.

Imports nothing but click, so that ``--help`` and a mistyped option answer at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

from separatrix import __version__, threads
from separatrix._compiled import memory
from separatrix._compiled.pool import from_environment
from separatrix.cli.choices import LOSSES

F = TypeVar("F", bound=Callable[..., Any])

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
KINDS = ("number", "category", "text", "ignore")


class _ExamplesFirst:
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


def option(*names: str, group: str, **attributes: Any) -> Callable[[F], F]:
    """An option of a command with so many that the help has them in groups."""
    return click.option(*names, cls=_Option, group=group, **attributes)


class _Command(_ExamplesFirst, click.Command):
    def invoke(self, ctx: click.Context) -> Any:
        # Before the libraries are loaded, which would end the process or wait for ever.
        short = memory.shortage()
        if short is not None:
            raise MemoryError(short)
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        rest = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None or isinstance(param, click.Argument):
                continue
            if isinstance(param, _Option) and param.group:
                sections.setdefault(param.group, []).append(record)
            else:
                rest.append(record)
        sections["Other options" if sections else "Options"] = rest
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


class _Group(_ExamplesFirst, click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of use, not of the alphabet


def command(name: str, *, summary: str, examples: str) -> Callable[[F], click.Command]:
    """A command whose help starts with `examples`, and which the list of commands sums up."""
    return click.command(
        name, cls=_Command, short_help=summary, examples=examples, context_settings=_SETTINGS
    )


def command_group(*, examples: str) -> Callable[[F], click.Group]:
    """The group of all commands."""

    def decorate(function: F) -> click.Group:
        versioned = click.version_option(__version__, prog_name="separatrix")(function)
        make = click.group("separatrix", cls=_Group, examples=examples, context_settings=_SETTINGS)
        return make(versioned)

    return decorate


class Number(click.ParamType):
    """A number within bounds, refused in one sentence that says what is allowed."""

    name = "number"

    def __init__(self, allowed: str, accept: Any, kind: type = float) -> None:
        self.allowed, self.accept, self.kind = allowed, accept, kind

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | int:
        try:
            number = self.kind(value)
        except ValueError:
            number = math.nan
        if not self.accept(number):
            self.fail(f"{value} is not {self.allowed}", param, ctx)
        return number


POSITIVE = Number("a number above 0", lambda x: x > 0)
SHARE = Number("a number from 0 to 1", lambda x: 0 <= x <= 1)
LEVEL = Number("a number between 0 and 1, both left out", lambda x: 0 < x < 1)
KAPPA = Number("a number above 0.5, up to 1", lambda x: 0.5 < x <= 1)
FINITE_POSITIVE = Number("a finite number above 0", lambda x: 0 < x < math.inf)
FRACTION = Number("a share of the rows from 0 (fit them all) to below 1", lambda x: 0 <= x < 1)
COUNT = Number("a whole number from 1", lambda x: x >= 1, int)
DEGREE = Number("a whole number from 1 to 1000", lambda x: 1 <= x <= 1000, int)
NOT_NEGATIVE = Number("a finite number from 0", lambda x: 0 <= x < math.inf)
FINITE = Number("a finite number", math.isfinite)
SEED = Number("a whole number from 0 to 4294967295", lambda x: 0 <= x < 2**32, int)


class _NameOrNumber(click.ParamType):
    """A rule by name, or a number."""

    name = "rule"

    def __init__(self, names: tuple[str, ...], number: Number) -> None:
        self.names, self.number = names, number

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | float:
        if value in self.names:
            return str(value)
        try:
            return float(self.number.convert(value, None, None))
        except click.BadParameter:
            self.fail(
                f"{value} is not {', '.join(self.names)} or {self.number.allowed}", param, ctx
            )


GAMMA = _NameOrNumber(("scale", "auto"), NOT_NEGATIVE)
SHRINKAGE = _NameOrNumber(("auto", "none"), SHARE)


class _Kind(click.ParamType):
    """``COLUMN=KIND``; the last ``=`` counts, since a column's name can hold one."""

    name = "column=kind"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        column, equals, kind = str(value).rpartition("=")
        if not equals or not column or kind not in KINDS:
            self.fail(
                f"{value!r} is not COLUMN=KIND with KIND one of {', '.join(KINDS)}", param, ctx
            )
        return column, kind


def _set_threads(context: click.Context, param: click.Parameter, number: int | None) -> None:
    if number is None:
        try:
            # A bad one is a mistake in the call, to be told before there is work.
            from_environment()
        except ValueError as error:
            raise click.UsageError(str(error), context) from None
        return
    # Until the command ends: tests and notebooks call it within a process.
    context.with_resource(threads(number))


def common(function: F) -> F:
    """``--threads``, ``--json`` and ``-q``, the same for every command."""
    function = click.option(
        "--threads",
        type=COUNT,
        expose_value=False,
        callback=_set_threads,
        help="How many threads to use. [default: SEPARATRIX_THREADS, else the cores there are]",
    )(function)
    function = click.option("-q", "--quiet", is_flag=True, help="Say only what went wrong.")(
        function
    )
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON document on stdout."
    )(function)


def _shared(*names: str, **settings: Any) -> Callable[..., Any]:
    """An option of several commands: a decorator, which takes the group of the help."""

    def decorator(function: F, group: str = "") -> F:
        return option(*names, group=group, **settings)(function)

    return decorator


# What columns are, and which cells of a table are missing.
ignore = _shared(
    "--ignore", multiple=True, metavar="COL", help="Leave a column out; can be repeated."
)
kinds = _shared(
    "--kind",
    "kinds",
    type=_Kind(),
    multiple=True,
    metavar="COL=KIND",
    help=f"Read a column as {', '.join(KINDS)}; can be repeated.",
)
missing = _shared(
    "--missing",
    multiple=True,
    metavar="TEXT",
    help="A cell that means missing, in place of the usual marks; can be repeated. "
    "[default: ?, NA and the like; an empty cell always does]",
)

# What a model is like.
loss = _shared(
    "--loss",
    type=click.Choice(LOSSES),
    help="Of each row's margin. [default: log for logistic and sgd, hinge for svm]",
)
l1_ratio = _shared(
    "--l1-ratio", type=click.FloatRange(0, 1), help="Share of l1 in --penalty elasticnet."
)
class_weight = _shared(
    "--class-weight",
    type=click.Choice(["balanced"]),
    help="Give every class the same total weight; not for lda, qda and poly.",
)
multiclass = _shared(
    "--multiclass",
    type=click.Choice(["multinomial", "ovr"]),
    help="Three or more classes of logistic as one problem, or one against the rest.",
)
gamma = _shared(
    "--gamma",
    type=GAMMA,
    metavar="scale|auto|NUMBER",
    help="Of the kernels rbf, poly and sigmoid. [default: scale, 1 / (features * variance)]",
)
max_iter = _shared(
    "--max-iter",
    type=COUNT,
    help="Stop each fit after this many iterations, or passes over the rows.",
)

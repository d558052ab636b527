"""``separatrix studio``: points to draw and drag, on a page of this machine."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import ClassVar

import click

from separatrix.cli import options

_EXAMPLES = """
separatrix studio
separatrix studio iris --target target
separatrix studio --lesson kernels
separatrix studio adult.csv --target income --port 8000 --keep
separatrix studio iris --export iris.html
"""

_NEEDED = ("contourpy", "starlette", "uvicorn", "websockets")


@dataclass(frozen=True, kw_only=True)
class StudioOptions(options.TableOptions):
    """The options of ``separatrix studio``."""

    last_group: ClassVar[str] = "The table"

    data: str | None = options.argument(required=False)  # type: ignore[assignment]
    target: str | None = options.target("The column with the classes. [default: target]")
    lesson: str | None = options.option(
        "Open with the points and the model of a lesson of the course, such as kernels.",
        metavar="NAME",
    )
    port: int = options.option(
        "The port on this machine. [default: any free port]",
        click.IntRange(0, 65535),
        default=0,
    )
    keep: bool = options.option("Keep the server running when the last page is closed.", bool)
    export: str | None = options.option(
        "Write one page that replays the fits of all models without a server, and serve nothing.",
        metavar="FILE",
    )


@options.command(
    "studio", StudioOptions, summary="Draw points and see fits and proofs.", examples=_EXAMPLES
)
def studio(given: StudioOptions) -> StudioOptions:
    """Open a page on which points are drawn and dragged, and models are fitted to them.

    The command prints the address of the page, which only this machine can reach; the fits are
    those of the library, with their certificates. With DATA, its numeric columns can be chosen as
    axes; with --lesson, the page begins with a lesson of the course. The server ends when the last
    page is closed, or on Ctrl-C. With --export the command writes one page that needs no server
    instead; an existing FILE is replaced only if it is such a page.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise click.UsageError(
            f'the studio needs {" and ".join(missing)}: pip install "separatrix[studio]"'
        )
    if given.lesson is not None:
        _check_lesson(given.lesson)
        if given.data is not None:
            raise click.UsageError("--lesson brings its own points: leave out DATA")
    if given.data is None:
        _refuse_options_of_tables(given)
    given.check_columns()
    if given.export is not None:
        if given.keep or given.port:
            raise click.UsageError("--export serves nothing: leave out --keep and --port")
        if given.data is not None:
            options.refuse_to_overwrite_inputs(given.export, data=given.data, option="--export")
        elif not given.export:
            raise click.UsageError("--export is empty: give the name of a file")
        options.refuse_to_overwrite_others(
            given.export, _is_page, option="--export", other="not a page of the studio"
        )
    return given


def _refuse_options_of_tables(given: StudioOptions) -> None:
    """Refuse options of tables where there is none."""
    names = {one.name for one in fields(options.TableOptions) if one.metadata}
    for param in click.get_current_context().command.params:
        if param.name in names and getattr(given, param.name):
            raise click.UsageError(f"{param.opts[0]} is an option of a table: give DATA, too")


def _check_lesson(name: str) -> None:
    from separatrix.studio.lessons import LESSONS

    names = [one["name"] for one in LESSONS]
    if name not in names:
        raise click.UsageError(f"there is no lesson {name!r}; there are {', '.join(names)}")


def _is_page(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(15) == b"<!doctype html>" and b'id="recording"' in file.read()

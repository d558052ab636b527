"""``separatrix studio``: points to draw and drag, on a page of this machine."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import click

from separatrix.cli import options

_EXAMPLES = """
separatrix studio
separatrix studio iris --target target
separatrix studio adult.csv --target income --port 8000 --keep
"""

_NEEDED = ("contourpy", "starlette", "uvicorn", "websockets")


@dataclass(frozen=True, kw_only=True)
class StudioOptions(options.Options):
    """The options of ``separatrix studio``."""

    data: str | None = options.argument(required=False)
    target: str | None = options.target("The column with the classes. [default: target]")
    port: int = options.option(
        "Where to listen on this machine. [default: any that is free]",
        click.IntRange(0, 65535),
        default=0,
    )
    keep: bool = options.option("Go on when the last page is closed.", bool)


@options.command(
    "studio", StudioOptions, summary="Draw points and see fits and proofs.", examples=_EXAMPLES
)
def studio(given: StudioOptions) -> StudioOptions:
    """Open a page on which points are drawn and dragged, and models are fitted to them.

    The page is served on this machine alone, at an address that it prints; every answer comes from
    the same fits as elsewhere, with their certificates. With DATA its columns of numbers can be
    chosen as axes. It ends when the last page is closed, or on Ctrl-C.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise click.UsageError(
            f'the studio needs {" and ".join(missing)}: pip install "separatrix[studio]"'
        )
    return given

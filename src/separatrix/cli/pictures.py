"""The files of pictures that commands write: which names they may have, and how they are written.

Imports nothing but click, so that a name with another ending is refused at once.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import PurePath
from typing import Any

import click

from separatrix.cli.options import refuse_to_overwrite_inputs

__all__ = ["check_picture", "drawing", "ending_of", "save_picture"]

# Dots an inch, of a page.
_DPI = 150


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
        What ``--plot`` names.
    endings : sequence of str
        Those that the name may have.
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


@contextmanager
def drawing() -> Iterator[None]:
    """Draw for a light page and without a screen; figures are closed at the end."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    from separatrix.plots import theme

    try:
        with theme("light"):
            yield
    finally:
        plt.close("all")


def save_picture(figure: Any, path: str) -> None:
    """Write a figure whole or not at all."""
    from separatrix.persistence.model_file import write_atomically

    held = io.BytesIO()
    figure.savefig(held, format=ending_of(path).lstrip("."), dpi=_DPI)
    write_atomically(path, held.getvalue())

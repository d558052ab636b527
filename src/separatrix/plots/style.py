"""Colours, markers and text that every picture shares."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

import matplotlib as mpl
import numpy as np
from cycler import cycler

# Colours that people with any of the common colour blindnesses can distinguish (Petroff, 2021,
# "Accessible color sequences for data visualization"), by how many are needed.
_PETROFF = [
    row.split()
    for row in (
        "#5790fc #f89c20 #e42536 #964a8b #9c9ca1 #7a21dd",
        "#1845fb #ff5e02 #c91f16 #c849a9 #adad7d #86c8dd #578dff #656364",
        "#3f90da #ffa90e #bd1f01 #94a4a2 #832db6 #a96b59 #e76300 #b9ac70 #717581 #92dadd",
    )
]
# Dots an inch of a picture that is written to a file.
_DPI = 150
# Shapes too, for those who print in grey.
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
_DASHES: tuple[Any, ...] = ("-", (0, (6, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1.2)))

THEMES = {
    "light": {"ink": "#1f2328", "muted": "#59636e", "grid": "#d1d9e0", "paper": "#ffffff"},
    "dark": {"ink": "#f0f6fc", "muted": "#a5b0bb", "grid": "#3d444d", "paper": "#151b23"},
}


@contextmanager
def theme(name: str = "light") -> Iterator[None]:
    """Draw for a light or for a dark page.

    Only matplotlib's settings change, within the ``with`` block; displays take the colours of ink
    and paper from there, so that they follow any other style too.

    Parameters
    ----------
    name : {"light", "dark"}, default="light"

    Raises
    ------
    ValueError
        For another name.

    Examples
    --------
    >>> import matplotlib as mpl
    >>> from separatrix.plots import theme
    >>> with theme("dark"):
    ...     mpl.rcParams["axes.facecolor"]
    '#151b23'
    """
    if name not in THEMES:
        raise ValueError(f"theme {name!r} is not one of {', '.join(map(repr, THEMES))}.")
    with mpl.rc_context(settings(**THEMES[name])):
        yield


@contextmanager
def drawing() -> Iterator[None]:
    """Draw for a light page and without a screen; figures are closed at the end."""
    mpl.use("agg")
    import matplotlib.pyplot as plt

    try:
        with theme("light"):
            yield
    finally:
        plt.close("all")


def save_picture(figure: Any, path: str) -> None:
    """Write a figure whole or not at all, in the format that the ending of the name says."""
    from separatrix.persistence.model_file import write_atomically

    held = io.BytesIO()
    figure.savefig(held, format=PurePath(path).suffix.lower().lstrip("."), dpi=_DPI)
    write_atomically(path, held.getvalue())


def settings(*, ink: str, muted: str, grid: str, paper: str) -> Any:
    """matplotlib's settings for four colours."""
    return {
        "axes.axisbelow": True,
        "axes.edgecolor": muted,
        "axes.facecolor": paper,
        "axes.grid": False,
        "axes.labelcolor": ink,
        "axes.prop_cycle": cycler(color=_PETROFF[0]),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlecolor": ink,
        "axes.titlelocation": "left",
        "axes.titlesize": "medium",
        "figure.edgecolor": paper,
        "figure.facecolor": paper,
        "grid.color": grid,
        "legend.edgecolor": grid,
        "legend.facecolor": paper,
        "legend.fontsize": "small",
        "legend.framealpha": 0.85,
        "legend.labelcolor": ink,
        "savefig.edgecolor": paper,
        "savefig.facecolor": paper,
        "text.color": ink,
        "xtick.color": muted,
        "ytick.color": muted,
    }


def ink() -> str:
    """The colour of text and of boundaries, in the style that is in force."""
    return str(mpl.rcParams["text.color"])


def muted() -> str:
    """The colour of what should not stand out: ticks, stems, lines that help to read."""
    return str(mpl.rcParams["xtick.color"])


def paper() -> str:
    """The colour behind everything."""
    return str(mpl.rcParams["axes.facecolor"])


def class_colours(n_classes: int) -> list[str]:
    """One colour a class: Petroff's up to ten, evenly spaced hues beyond."""
    for palette in _PETROFF:
        if n_classes <= len(palette):
            return palette[:n_classes]
    hues = mpl.colormaps["turbo"](np.linspace(0.05, 0.95, n_classes))
    return [mpl.colors.to_hex(hue) for hue in hues]


def class_markers(n_classes: int) -> list[str]:
    """One marker a class; they repeat after ten."""
    return [_MARKERS[k % len(_MARKERS)] for k in range(n_classes)]


def class_looks(n_classes: int) -> list[dict[str, Any]]:
    """The colour and the marker of each class, as keywords of matplotlib."""
    colours, markers = class_colours(n_classes), class_markers(n_classes)
    return [{"color": c, "marker": m} for c, m in zip(colours, markers, strict=True)]


def line_dashes(n_lines: int) -> list[Any]:
    """One kind of line each; they repeat after five, and the first is solid."""
    return [_DASHES[k % len(_DASHES)] for k in range(n_lines)]


def plain(text: Any, limit: int = 40) -> str:
    """Text from a user's table as matplotlib shall show it: no markup, one line, of finite length.

    Parameters
    ----------
    text : object
        A column's or a class's name, say.
    limit : int, default=40
        Characters that are shown at most; the middle of a longer name is left out.
    """
    # Control characters and marks that turn the direction of writing are no part of a picture.
    text = "".join(
        " " if unicodedata.category(c)[0] == "Z" or c in "\n\r\t" else c
        for c in str(text)
        if c in "\n\r\t" or unicodedata.category(c)[0] != "C"
    ).strip()
    if len(text) > limit:
        keep = limit - 1
        text = f"{text[: keep - keep // 3]}…{text[-(keep // 3) :]}"
    # Two dollar signs would enclose a formula.
    return text.replace("$", r"\$")


def number(value: float, digits: int = 4) -> str:
    """A number to ``digits`` digits, with the minus sign of print; a zero has no sign."""
    return f"{value + 0.0:.{digits}g}".replace("-", "−")


def plain_all(names: Sequence[Any], limit: int = 40) -> list[str]:
    """:func:`plain` for a list of names."""
    return [plain(name, limit) for name in names]

"""Figures as parts of a page: vectors with the page's own colours, fonts and names.

Several pictures share one page, so every identifier gets the picture's name in front; the style
sheet that matplotlib puts into each file, which would hold for the whole page, becomes attributes.
Ink and paper are drawn in four colours that nothing else has and which then become CSS variables,
so that one picture is legible on a light and on a dark page.
"""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# No palette has these, and no mixture of its colours is one of them.
_SENTINELS = {"ink": "#010203", "muted": "#030201", "grid": "#020304", "paper": "#040302"}
_VARIABLES = {colour: f"var(--{name})" for name, colour in _SENTINELS.items()}
_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_COLOUR = re.compile("|".join(_SENTINELS.values()))
_FONT = re.compile(r"(font(?:-family)?: *(?:[^;']*?(?:\d(?:\.\d+)?px +))?)'[^;]*")
# The number of points in one collection beyond which they become one bitmap.
_MANY_POINTS = 300


@contextmanager
def drawing() -> Iterator[None]:
    """Draw for a page: in colours that :func:`to_svg` replaces, and without a screen."""
    import matplotlib as mpl

    from separatrix.plots.style import settings

    own: Any = {
        "figure.dpi": 100,
        "font.family": "sans-serif",
        "font.size": 10.0,
        "savefig.transparent": False,
        "svg.fonttype": "none",
        "text.parse_math": True,
        "text.usetex": False,
    }
    # What the user set up for pictures of their own is not for this page.
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update({**own, **settings(**_SENTINELS)})
        yield


def to_svg(figure: Any, key: str, alt: str) -> str:
    """A figure as an ``svg`` element for a page.

    Parameters
    ----------
    figure : Figure
        A figure drawn within :func:`drawing`; it is changed (points become a bitmap).
    key : str
        The name of the picture, of letters and hyphens; no other picture of the page has it.
    alt : str
        A description of the picture, for those who cannot see it.

    Returns
    -------
    str
    """
    import matplotlib as mpl

    _rasterise(figure)
    # A layout with parts beside the axes settles in two steps, that of axes alone in one, and then
    # it is done with.
    engine = figure.get_layout_engine()
    if engine is not None:
        for _ in figure.axes[:2]:
            engine.execute(figure)
        with mpl.rc_context({"figure.constrained_layout.use": False, "figure.autolayout": False}):
            figure.set_layout_engine(None)
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": key}):
        figure.savefig(
            buffer,
            format="svg",
            dpi=160,
            facecolor="none",
            edgecolor="none",
            # Nothing is cut off, whatever the layout came to.
            bbox_inches=figure.get_tightbbox().padded(0.05),
            # Nothing that changes from one run to the next.
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    root = ET.fromstring(buffer.getvalue())
    _tidy(root, key)
    width, height = _pixels(root.get("width")), _pixels(root.get("height"))
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", alt)
    root.set("style", f"stroke-linejoin:round;stroke-linecap:butt;--width:{width:.0f}px")
    root.set("preserveAspectRatio", "xMinYMin meet")
    root.set("data-height", f"{height:.0f}")
    text = ET.tostring(root, encoding="unicode")
    # Within a page the elements need no namespace.
    return text.replace(f' xmlns="{_SVG}"', "", 1)


def _rasterise(figure: Any) -> None:
    from matplotlib.collections import PathCollection

    for collection in figure.findobj(PathCollection):
        if len(collection.get_offsets()) > _MANY_POINTS:
            # An edge in the colour of the paper would be burnt in.
            collection.set_linewidth(0.0)
            collection.set_rasterized(True)


def _tidy(root: ET.Element, key: str) -> None:
    ET.register_namespace("", _SVG)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style") or (
                child.tag == f"{{{_SVG}}}defs" and not len(child)
            ):
                parent.remove(child)
    # Letters of a formula stand where matplotlib's own font wants them.
    formulas = {part for text in root.iter(f"{{{_SVG}}}text") for part in text if len(text) > 1}
    for element in root.iter():
        for name, value in list(element.attrib.items()):
            if name == "id":
                element.set(name, f"{key}-{value}")
            elif name == f"{{{_XLINK}}}href":
                del element.attrib[name]
                element.set("href", f"#{key}-{value[1:]}" if value[:1] == "#" else value)
            elif name != "aria-label":
                value = _REFERENCE.sub(rf"url(#{key}-\1)", value)
                value = _COLOUR.sub(lambda match: _VARIABLES[match[0]], value)
                if name == "style" and element not in formulas:
                    value = _FONT.sub(r"\1var(--sans)", value)
                element.set(name, value)


def _pixels(points: str | None) -> float:
    assert points is not None
    return float(points.removesuffix("pt")) * 4.0 / 3.0

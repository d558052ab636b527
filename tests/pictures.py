"""Pictures that are compared with those in tests/plots/baseline."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["bare", "compared"]


# Small: a baseline takes a few kilobytes.
_DPI = 60


def compared(*, tolerance: float = 2.0) -> Any:
    """Mark of a test that returns a figure, drawn in the light theme (see tests/plots/conftest.py).

    Parameters
    ----------
    tolerance : float
        Root mean square of the differences between the pixels, which go from 0 to 255.
    """
    return pytest.mark.mpl_image_compare(tolerance=tolerance, savefig_kwargs={"dpi": _DPI})


def bare(figure: Any) -> Any:
    """A figure without words, whose shapes, and the space for them, depend on the fonts."""
    from matplotlib.text import Annotation, Text

    for legend in [*figure.legends, *(ax.get_legend() for ax in figure.axes)]:
        if legend is not None:
            legend.remove()
    for text in figure.findobj(Text):
        if isinstance(text, Annotation):
            # Its arrow stays.
            text.set_text("")
        else:
            text.set_visible(False)
    # The layout makes space for words.
    figure.set_layout_engine("none")
    # Some versions of matplotlib round half a pixel up, and some down.
    width, height = (round(_DPI * inches) + 0.01 for inches in figure.get_size_inches())
    figure.set_size_inches(width / _DPI, height / _DPI)
    return figure

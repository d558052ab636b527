"""Pictures that are compared with those in tests/plots/baseline."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["bare", "compared"]


def compared(*, dpi: int = 60, tolerance: float = 2.0) -> Any:
    """Mark of a test that returns a figure, drawn in the light theme (see tests/plots/conftest.py).

    Parameters
    ----------
    dpi : int
        Small: a baseline takes a few kilobytes.
    tolerance : float
        Root mean square of the differences between the pixels, which go from 0 to 255.
    """
    return pytest.mark.mpl_image_compare(tolerance=tolerance, savefig_kwargs={"dpi": dpi})


def bare(figure: Any) -> Any:
    """A figure without words, whose shapes, and the room for them, depend on the fonts."""
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
    # The layout makes room for words.
    figure.set_layout_engine("none")
    return figure

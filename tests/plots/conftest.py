"""Every picture is drawn in the light theme."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.style
import pytest

from separatrix.plots import theme
from separatrix.plots.style import THEMES, settings

# What pictures are drawn in that are compared with a baseline: it sets matplotlib back first.
mpl.style.library["separatrix-light"] = mpl.RcParams(settings(**THEMES["light"]))


@pytest.fixture(autouse=True)
def _themed() -> Iterator[None]:
    with theme("light"):
        yield

"""Every picture is closed after its test, and drawn in the light theme without a screen."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from separatrix.plots import theme

mpl.use("agg")


@pytest.fixture(autouse=True)
def _themed() -> Iterator[None]:
    with theme("light"):
        yield
    plt.close("all")

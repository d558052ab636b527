"""The progress bar: it moves forward only, and only where somebody looks."""

from __future__ import annotations

import io
import math
import sys

import pytest

from separatrix.cli.progress import GapScale, progress_bar
from separatrix.solvers.driver import watch


def test_each_decade_moves_the_bar_as_far():
    scale = GapScale()
    assert scale.fraction(math.inf, 1e-6) == 0.0
    shares = [scale.fraction(10.0**-k, 1e-6) for k in range(7)]
    assert shares == pytest.approx([k / 6 for k in range(7)])


def test_the_bar_never_goes_back():
    scale = GapScale()
    scale.fraction(1.0, 1e-4)
    half = scale.fraction(1e-2, 1e-4)
    assert scale.fraction(1e-1, 1e-4) == half
    assert scale.fraction(math.inf, 1e-4) == half
    assert scale.fraction(0.0, 1e-4) == 1.0


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_it_is_drawn_on_a_terminal(monkeypatch):
    from sklearn.datasets import load_iris

    from separatrix import LogisticRegression

    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress_bar(shown=True):
        LogisticRegression().fit(*load_iris(return_X_y=True))
    assert "gap " in screen.getvalue()
    assert "-> 1e-06" in screen.getvalue()


@pytest.mark.parametrize("shown", [True, False])
def test_it_is_absent_elsewhere(monkeypatch, shown):
    screen = io.StringIO() if shown else Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    seen = []
    with watch(seen.append), progress_bar(shown=shown):
        pass
    assert screen.getvalue() == ""

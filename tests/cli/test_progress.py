"""The progress bar: it moves forward only, and only where somebody looks."""

from __future__ import annotations

import io
import math
import sys
import time

import pytest

from separatrix.cli.output import FitScales, GapScale, Pace, progress_bar
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


def test_every_part_and_every_fold_starts_over():
    scales = FitScales()
    assert scales.of("", 0).fraction(1.0, 1e-4) == 0.0
    assert scales.of("", 3).fraction(1e-4, 1e-4) == 1.0
    # The same part of another fold.
    assert scales.of("", 0).fraction(1.0, 1e-4) == 0.0
    assert scales.of("", 0).fraction(1e-2, 1e-4) == pytest.approx(0.5)
    assert scales.of("a vs b", 7).fraction(1.0, 1e-4) == 0.0
    assert scales.of("a vs c", 9).fraction(1.0, 1e-4) == 0.0


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


def test_it_names_the_pairs_of_a_kernel_machine(monkeypatch):
    from sklearn.datasets import load_wine

    from separatrix import SVC

    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress_bar(shown=True):
        SVC(calibrate="sigmoid").fit(*load_wine(return_X_y=True))
    assert "1 vs 2: gap " in screen.getvalue()


@pytest.mark.parametrize("shown", [True, False])
def test_it_is_absent_elsewhere(monkeypatch, shown):
    screen = io.StringIO() if shown else Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    seen = []
    with watch(seen.append), progress_bar(shown=shown):
        pass
    assert screen.getvalue() == ""


def test_a_proof_is_drawn_on_a_terminal(monkeypatch):
    pytest.importorskip("flint")
    from sklearn.datasets import load_iris

    from separatrix import LogisticRegression, verify
    from separatrix.cli.output import exact_bar

    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression().fit(X, y)
    monkeypatch.setattr(sys, "stderr", screen)
    with exact_bar(shown=False):
        verify(model, X, y, rigorous=True)
    assert screen.getvalue() == ""
    with exact_bar(shown=True):
        verify(model, X, y, rigorous=True, tol=1e-12)
    assert "proof" in screen.getvalue() and "exact" in screen.getvalue()


def test_a_class_cannot_move_the_cursor(monkeypatch):
    from sklearn.datasets import load_wine

    from separatrix import SVC

    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    X, y = load_wine(return_X_y=True)
    with progress_bar(shown=True):
        SVC().fit(X, [f"{k}\x9b2J" for k in y])
    assert "\x9b" not in screen.getvalue()
    assert r"\x9b2J" in screen.getvalue()


@pytest.mark.parametrize("patience, shown", [(0.0, True), (60.0, True), (0.0, False)])
def test_a_table_that_takes_its_time_is_told_of(monkeypatch, tmp_path, patience, shown):
    from separatrix.cli import output
    from separatrix.tables import progress, read_table

    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,x\n" * 1000)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    asked = []
    with output.reading_line(shown=shown, patience=patience):
        assert len(progress._watchers) == shown
        # Each watcher is given a share of 0.3, and does not end before the line is drawn.
        for watcher in list(progress._watchers):
            with watcher(lambda: asked.append(1) or 0.3, 2000):
                end = time.monotonic() + (60.0 if patience == 0.0 else 0.0)
                while "600 of about 2,000 rows, " not in screen.getvalue():
                    if time.monotonic() >= end:
                        break
        assert read_table(path).n_rows == 1000
    assert not progress._watchers
    assert ("reading" in screen.getvalue()) == (shown and patience == 0.0) == bool(asked)


def test_every_scan_has_a_pace_of_its_own():
    pace = Pace(1000)
    assert pace.words(-0.01, 10.0) == ""
    assert pace.words(0.0, 10.0) == ""
    assert pace.words(0.5, 12.0) == "500 of about 1,000 rows, 250 rows/s"
    assert pace.words(0.1, 13.0) == "100 of about 1,000 rows"
    assert pace.words(0.9, 14.0) == "900 of about 1,000 rows, 900 rows/s"
    assert Pace(None).words(0.25, 1.0) == "25 %"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_large_table_on_a_terminal(tmp_path, monkeypatch):
    import functools
    import os
    import pty

    from separatrix.cli import main, options, output

    path = tmp_path / "large.csv"
    path.write_text("a,b,target\n" + "1.5,x,yes\n2.5,y,no\n0.5,z,no\n1.0,x,yes\n" * 2000)
    patient = functools.partial(output.reading_line, patience=0.0)
    monkeypatch.setattr(options, "reading_line", patient)
    monkeypatch.setenv("TERM", "xterm")
    for extra, there in ([], True), (["-q"], False):
        ours, theirs = pty.openpty()
        with open(theirs, "w") as screen, monkeypatch.context() as shown:
            shown.setattr(sys, "stderr", screen)
            assert main(["separable", str(path), *extra]) in (0, 1)
        seen = b""
        try:
            while piece := os.read(ours, 4096):
                seen += piece
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        assert (b"reading" in seen) == there, seen

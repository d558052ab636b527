"""A bar for the terminal: how far the certified gap has come on its way to ``tol``."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from separatrix.cli.output import printable
from separatrix.messages import counted


class GapScale:
    """Where a relative gap stands between the first one and ``tol``, on a log scale.

    Every decade of the gap costs a solver about the same, so a bar on this scale moves evenly.
    """

    def __init__(self) -> None:
        self._start: float | None = None
        self._reached = 0.0

    def fraction(self, gap: float, tol: float) -> float:
        """From 0 at the first finite gap to 1 at ``tol``; never goes back."""
        if not math.isfinite(gap):
            return self._reached
        if gap <= tol:
            self._reached = 1.0
            return 1.0
        if self._start is None:
            self._start = gap
        way = math.log(self._start / tol)
        done = math.log(self._start / gap) / way if way > 0 else 0.0
        self._reached = min(1.0, max(self._reached, done))
        return self._reached


class FitScales:
    """The scale of the fit that is reported on: every part, and the same of another fold, anew."""

    def __init__(self) -> None:
        self._part, self._iteration = "", -1
        self._scale = GapScale()

    def of(self, part: str, iteration: int) -> GapScale:
        if part != self._part or iteration < self._iteration:
            self._scale = GapScale()
        self._part, self._iteration = part, iteration
        return self._scale


def _bar(title: str) -> Any:
    """A bar on stderr that is gone when it is done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn(title),
        BarColumn(bar_width=30),
        # Markup stays off: a part is named by a class, which comes from a file.
        TextColumn("{task.fields[state]}", markup=False),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )


@contextmanager
def progress_bar(*, shown: bool) -> Iterator[None]:
    """Show the fits that run inside, when stderr is a terminal."""
    if not shown or not sys.stderr.isatty():
        yield
        return
    from separatrix.solvers.driver import watch

    with _bar("fit      ") as bar:
        task = bar.add_task("fit", total=1.0, state="starting")
        scales = FitScales()

        def show(record: Any) -> None:
            part = str(record.part or "")
            scale = scales.of(part, record.iteration)
            state = (
                f"gap {record.relative_gap:.1e} -> {record.tol:.0e}, "
                f"{counted(record.iteration, 'iteration')}"
            )
            bar.update(
                task,
                completed=scale.fraction(record.relative_gap, record.tol),
                state=f"{printable(part)}: {state}" if part else state,
            )

        with watch(show):
            yield


@contextmanager
def exact_bar(*, shown: bool) -> Iterator[None]:
    """Show how far a proof in exact arithmetic is, when stderr is a terminal."""
    if not shown or not sys.stderr.isatty():
        yield
        return
    from separatrix.solvers.driver import watch
    from separatrix.verification.exact_numbers import watch_exact

    with _bar("proof    ") as bar:
        task = bar.add_task("proof", total=1.0, state="starting")
        scales = FitScales()

        def step(what: str, share: float) -> None:
            bar.update(task, completed=share, state=what)

        def fit(record: Any) -> None:
            scale = scales.of(str(record.part or ""), record.iteration)
            share = scale.fraction(record.relative_gap, record.tol)
            bar.update(task, completed=share, state="a tighter fit, for its dual point")

        with watch_exact(step), watch(fit):
            yield

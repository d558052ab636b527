"""``python -m separatrix script.py``: a script for scikit-learn, run with certified fits.

The script is left as it is. At its end a summary on stderr states how many fits there were, and how
good each is proved to be; with ``--compare`` also where scikit-learn would have stopped on the same
rows.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import runpy
import shlex
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import separatrix
from separatrix.exceptions import ConventionWarning, calling_frame
from separatrix.migration.installing import install, originals, uninstall

USAGE = """usage: python -m separatrix [--compare] script.py [argument ...]

Runs a script that uses scikit-learn, with this library's classes in place of those of the same
name, and reports at its end which fits were certified.

  --compare  also fit scikit-learn's class each time, and report how far from the optimum it stopped
"""


# Places that are printed of fits that are not certified.
_MOST_PLACES = 10


class _Depth(threading.local):
    """The number of fits that a thread is inside of: those within a fit are a part of it."""

    value = 0


@dataclass
class Uncertified:
    """The fits of one line that are not certified to their tolerance.

    Attributes
    ----------
    count : int
    worst : Certificate or ResidualCertificate
        The certificate of the fit that is furthest from its optimum.
    """

    count: int
    worst: Any


@dataclass
class Fits:
    """The fits of a run.

    Attributes
    ----------
    compare : bool
        Whether scikit-learn's class of the same name is fitted as well.
    ours : dict of str to list of (float, bool, float)
        The fits by class: relative gap, or relative residual of the equations; whether that is
        within the tolerance; and seconds.
    theirs : dict of str to list of (float, float)
        The same for scikit-learn: gap, NaN where there is none, and seconds.
    partial : Counter
        Calls of ``partial_fit`` by class, whose certificates are of the rows of one call.
    uncertified : dict of (str, int, str) to Uncertified
        The fits that are not certified to their tolerance, by file, line and class.
    """

    compare: bool = False
    ours: dict[str, list[tuple[float, bool, float]]] = field(default_factory=dict)
    theirs: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    partial: Counter[str] = field(default_factory=Counter)
    uncertified: dict[tuple[str, int, str], Uncertified] = field(default_factory=dict)
    _depth: _Depth = field(default_factory=_Depth)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Take note of every fit inside the block."""
        kinds = {name: getattr(separatrix, name) for name in originals()}
        # All of them before any is replaced: some are inherited from one another.
        plain = {
            (name, method): getattr(kind, method)
            for name, kind in kinds.items()
            for method in ("fit", "partial_fit")
            if hasattr(kind, method)
        }
        own = {(name, method) for name, method in plain if method in vars(kinds[name])}
        for (name, method), function in plain.items():
            setattr(kinds[name], method, self._noting(name, function))
        try:
            yield
        finally:
            for (name, method), function in plain.items():
                if (name, method) in own:
                    setattr(kinds[name], method, function)
                else:
                    delattr(kinds[name], method)

    def _noting(self, name: str, method: Any) -> Any:
        @functools.wraps(method)
        def noted(model: Any, *args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            self._depth.value += 1
            try:
                out = method(model, *args, **kwargs)
            finally:
                self._depth.value -= 1
            if self._depth.value > 0:
                return out
            if method.__name__ == "partial_fit":
                self.partial[name] += 1
                return out
            self._note(name, model, time.perf_counter() - began)
            if self.compare:
                self._depth.value += 1
                try:
                    self._compare(name, model, args, kwargs)
                finally:
                    self._depth.value -= 1
            return out

        return noted

    def _note(self, name: str, model: Any, seconds: float) -> None:
        certificate = model.certificate_
        self.ours.setdefault(name, []).append((_left(certificate), certificate.ok, seconds))
        if certificate.ok:
            return
        frame = calling_frame()
        place = frame.f_code.co_filename, frame.f_lineno, name
        known = self.uncertified.setdefault(place, Uncertified(0, certificate))
        known.count += 1
        if _left(certificate) > _left(known.worst):
            known.worst = certificate

    def _compare(self, name: str, model: Any, args: Any, kwargs: Any) -> None:
        kind = originals()[name]
        known = inspect.signature(kind).parameters
        given = {key: value for key, value in model.get_params(deep=False).items() if key in known}
        own = type(model)().get_params(deep=False)
        # Parameters that were left at this library's default are left at theirs.
        options = {key: value for key, value in given.items() if value is not own.get(key)}
        # Scikit-learn's classes use one another.
        uninstall()
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                other = kind(**options).fit(*args, **kwargs)
                seconds = time.perf_counter() - began
                gap = _left(separatrix.verify(other, *args, **kwargs))
            except Exception:
                # Scikit-learn refuses it, or there is no judgement of the result.
                return
            finally:
                install()
        self.theirs.setdefault(name, []).append((gap, seconds))

    def __str__(self) -> str:
        count = sum(len(fits) for fits in self.ours.values())
        passes = ", ".join(f"{times:,} of {name}" for name, times in self.partial.items())
        if passes:
            passes = f"  calls of partial_fit, which have no certificate: {passes}"
        if not count:
            if passes:
                return f"separatrix: the script called only partial_fit, and no fit\n{passes}"
            return "separatrix: the script fitted no class of this library"
        good = sum(ok for fits in self.ours.values() for _, ok, _ in fits)
        lines = [
            f"separatrix: {count:,} fit{'s' if count > 1 else ''} in place of scikit-learn's, "
            f"{'all' if good == count else f'{good:,}'} certified to their tolerance"
        ]
        width = max(map(len, self.ours))
        for name, fits in self.ours.items():
            seconds = sum(second for _, _, second in fits)
            text = (
                f"  {name:{width}}  {len(fits):,} fit{'s' if len(fits) > 1 else ''}, "
                f"at most {max(gap for gap, _, _ in fits):.1e} from the optimum, {seconds:.3g} s"
            )
            if name in self.theirs:
                gaps = [gap for gap, _ in self.theirs[name]]
                took = sum(second for _, second in self.theirs[name])
                text += f"; scikit-learn at most {max(gaps):.1e}, {took:.3g} s"
            lines.append(text)
        return "\n".join([*lines, *filter(None, [passes]), *self._places()])

    def _places(self) -> list[str]:
        """The calls of the fits that are not certified, and the advice on each."""
        if not self.uncertified:
            return []
        lines = ["not certified to their tolerance:"]
        found = list(self.uncertified.items())
        for (file, line, name), one in found[:_MOST_PLACES]:
            fits = "1 fit:" if one.count == 1 else f"{one.count:,} fits, the worst:"
            lines.append(f"  {file}:{line}: {name}, {fits} {one.worst}")
        left = len(found) - _MOST_PLACES
        if left > 0:
            lines.append(f"  and at {left:,} more place{'s' if left > 1 else ''}")
        return lines


def _left(certificate: Any) -> float:
    """The relative gap, or the relative residual of equations."""
    if isinstance(certificate, separatrix.ResidualCertificate):
        return float(certificate.relative_residual)
    return float(certificate.relative_gap)


def run(arguments: list[str], err: TextIO | None = None) -> int:
    """Run a script, and report at its end what was certified.

    Parameters
    ----------
    arguments : list of str
        ``--compare`` or not, the script, and its own arguments.
    err : file, optional
        The file to which the summary is printed; stderr by default.

    Returns
    -------
    int
        The exit status: 2 without a script.  An exception of the script is raised, with a note
        that the classes were exchanged.
    """
    err = sys.stderr if err is None else err
    compare = arguments[:1] == ["--compare"]
    rest = arguments[1:] if compare else arguments
    if not rest or rest[0].startswith("-"):
        print(USAGE, end="", file=err)
        return 0 if rest[:1] in (["-h"], ["--help"]) else 2
    if not Path(rest[0]).is_file():
        print(
            f"python -m separatrix: there is no file {rest[0]!r}; give the name of a script.",
            file=err,
        )
        return 2
    fits = Fits(compare)
    argv, path = sys.argv, sys.path[0]
    install()
    # The summary reports them all.
    warnings.simplefilter("ignore", ConventionWarning)
    try:
        sys.argv, sys.path[0] = rest, str(Path(rest[0]).resolve().parent)
        with fits.watching():
            runpy.run_path(rest[0], run_name="__main__")
    except Exception as error:
        error.add_note(
            "The script ran with separatrix's classes in place of scikit-learn's; `python "
            f"{shlex.join(rest)}` runs it with the original ones."
        )
        raise
    finally:
        sys.argv, sys.path[0] = argv, path
        uninstall()
        print(fits, file=err)
    return 0

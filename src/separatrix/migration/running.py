"""``python -m separatrix script.py``: a script for scikit-learn, run with certified fits.

The script is left as it is. At its end, on stderr: how many fits there were, and how good each is
proved to be; with ``--compare`` also where scikit-learn would have stopped on the same rows.
"""

from __future__ import annotations

import functools
import inspect
import runpy
import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import separatrix
from separatrix.exceptions import ConventionWarning
from separatrix.migration.installing import install, originals, uninstall

__all__ = ["Fits", "run"]

USAGE = """usage: python -m separatrix [--compare] script.py [argument ...]

Runs a script that uses scikit-learn with this library's classes in place of those of the same
name, and says at its end what was certified.

  --compare  fit scikit-learn's class as well, each time, and say where it stopped
"""


@dataclass
class Fits:
    """The fits of a run.

    Attributes
    ----------
    compare : bool
        Whether scikit-learn's class of the same name is fitted as well.
    ours : dict of str to list of (float, bool, float)
        By class: relative gap, or what is left of the equations; whether that is within the
        tolerance; and seconds.
    theirs : dict of str to list of (float, float)
        The same of scikit-learn: gap, NaN where there is none, and seconds.
    """

    compare: bool = False
    ours: dict[str, list[tuple[float, bool, float]]] = field(default_factory=dict)
    theirs: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    _deep: int = 0

    def watch(self) -> dict[Any, Any]:
        """Take note of every fit from now on; returns the methods to put back."""
        before: dict[Any, Any] = {}
        for name in originals():
            kind = getattr(separatrix, name)
            before[kind] = kind.fit
            kind.fit = self._noting(name, kind.fit)
        return before

    def _noting(self, name: str, fit: Any) -> Any:
        @functools.wraps(fit)
        def noted(model: Any, X: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            self._deep += 1
            try:
                out = fit(model, X, y, *args, **kwargs)
            finally:
                self._deep -= 1
            # Fits within fits are a part of theirs.
            if self._deep == 0:
                self._note(name, model, time.perf_counter() - began)
                if self.compare:
                    self._deep += 1
                    try:
                        self._compare(name, model, (X, y, *args), kwargs)
                    finally:
                        self._deep -= 1
            return out

        return noted

    def _note(self, name: str, model: Any, seconds: float) -> None:
        good = bool(model.certificate_.ok)
        self.ours.setdefault(name, []).append((_left(model.certificate_), good, seconds))

    def _compare(self, name: str, model: Any, args: Any, kwargs: Any) -> None:
        kind = originals()[name]
        known = inspect.signature(kind).parameters
        given = {key: value for key, value in model.get_params(deep=False).items() if key in known}
        own = type(model)().get_params(deep=False)
        # What was left at this library's default is left at theirs.
        options = {key: value for key, value in given.items() if value is not own.get(key)}
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                other = kind(**options).fit(*args, **kwargs)
                seconds = time.perf_counter() - began
                gap = _left(separatrix.verify(other, *args, **kwargs))
            except Exception:
                # What it refuses, or what there is no judgement of.
                return
        self.theirs.setdefault(name, []).append((gap, seconds))

    def __str__(self) -> str:
        count = sum(len(fits) for fits in self.ours.values())
        if not count:
            return "separatrix: the script fitted none of the classes that this library has"
        good = sum(ok for fits in self.ours.values() for _, ok, _ in fits)
        lines = [
            f"separatrix: {count:,} fit{'s' if count > 1 else ''} in scikit-learn's place, "
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
        return "\n".join(lines)


def _left(certificate: Any) -> float:
    """The relative gap, or what is left of equations."""
    if isinstance(certificate, separatrix.ResidualCertificate):
        return float(certificate.relative_residual)
    return float(certificate.relative_gap)


def run(arguments: list[str], err: TextIO | None = None) -> int:
    """Run a script, and say at its end what was certified.

    Parameters
    ----------
    arguments : list of str
        ``--compare`` or not, the script, and its own arguments.
    err : file, optional
        Where it is said; stderr by default.

    Returns
    -------
    int
        The exit status: 2 without a script; what the script raises is raised.
    """
    err = sys.stderr if err is None else err
    compare = arguments[:1] == ["--compare"]
    rest = arguments[1:] if compare else arguments
    if not rest or rest[0].startswith("-"):
        print(USAGE, end="", file=err)
        return 0 if rest[:1] in (["-h"], ["--help"]) else 2
    if not Path(rest[0]).is_file():
        print(f"python -m separatrix: there is no file {rest[0]!r}; name a script.", file=err)
        return 2
    fits = Fits(compare)
    before, argv, path = fits.watch(), sys.argv, sys.path[0]
    install()
    # Said by the summary, for all of them.
    warnings.simplefilter("ignore", ConventionWarning)
    try:
        sys.argv, sys.path[0] = rest, str(Path(rest[0]).resolve().parent)
        runpy.run_path(rest[0], run_name="__main__")
    finally:
        sys.argv, sys.path[0] = argv, path
        uninstall()
        for kind, fit in before.items():
            kind.fit = fit
        print(fits, file=err)
    return 0

"""Run a page of the course, ``examples/NN_name.py``, and read what it says.

A page is a script: text in comment blocks that begin with ``# %%``, code between them.  Its
exercise's solution is a doctest in such a block, and goes on from the page's own names.
"""

from __future__ import annotations

import contextlib
import doctest
import functools
import io
import os
import re
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PAGES = sorted(path.stem for path in EXAMPLES.glob("[0-9][0-9]_*.py"))

_SOLUTION = re.compile(r"^\.\. admonition:: Solution\n((?:[ ]+.*\n|\n)*)", re.MULTILINE)


@dataclass
class Page:
    """What a page says and does.

    Attributes
    ----------
    name : str
    text : str
        The reStructuredText of its docstring and comment blocks.
    solutions : list of str
        Bodies of the admonitions of that name.
    names : dict
        What its code defined.
    printed : str
    figures : list of (float, float)
        Sizes in inches, of figures with something in them.
    left : list of str
        The files that it left where it ran.
    """

    name: str
    text: str
    solutions: list[str]
    names: dict[str, Any] = field(repr=False)
    printed: str = field(repr=False)
    figures: list[tuple[float, float]]
    left: list[str]


def text_of(source: str) -> str:
    """The reStructuredText of a page: its docstring, then the comments of its ``# %%`` blocks."""
    docstring = re.match(r'r?"""(.*?)"""', source, re.DOTALL)
    assert docstring, "a page begins with its docstring"
    parts = [docstring[1]]
    for block in re.split(r"^# %%.*\n", source, flags=re.MULTILINE)[1:]:
        lines = []
        for line in block.splitlines():
            if not line.startswith("#"):
                break
            lines.append(line.removeprefix("#").removeprefix(" "))
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


@functools.cache
def run_page(name: str) -> Page:
    """Run a page as a script would, with figures drawn and closed, and warnings as errors."""
    path = EXAMPLES / f"{name}.py"
    source = path.read_text(encoding="utf-8")
    text = text_of(source)
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(path)}
    printed = io.StringIO()
    figures = []
    plt.close("all")
    with (
        mpl.rc_context({"backend": "agg"}),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(printed),
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
    ):
        warnings.simplefilter("error")
        # What matplotlib says where there is a screen, but the pictures do not go there.
        warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
        # Matplotlib 3.9 calls pyparsing by names that later versions of that have deprecated.
        warnings.filterwarnings(
            "ignore", message=".* deprecated - use", category=DeprecationWarning
        )
        try:
            exec(compile(source, str(path), "exec"), names)
            for number in plt.get_fignums():
                figure = plt.figure(number)
                # Text that has no glyph, and a layout with no room, warn here and not before.
                figure.draw_without_rendering()
                if any(ax.has_data() for ax in figure.axes):
                    figures.append(tuple(float(v) for v in figure.get_size_inches()))
            left = os.listdir(folder)
        finally:
            plt.close("all")
    return Page(name, text, _SOLUTION.findall(text), names, printed.getvalue(), figures, left)


def failures(page: Page) -> str:
    """The failures of the doctests of a page's solutions; empty where there are none."""
    said = io.StringIO()
    runner = doctest.DocTestRunner(
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS, verbose=False
    )
    parser = doctest.DocTestParser()
    names = dict(page.names)
    for k, solution in enumerate(page.solutions):
        test = parser.get_doctest(solution, names, f"{page.name}, solution {k + 1}", None, 0)
        assert test.examples, f"solution {k + 1} of {page.name} has nothing that runs"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            runner.run(test, out=said.write, clear_globs=False)
        # The next solution goes on from this one.
        names = test.globs
    plt.close("all")
    return said.getvalue()

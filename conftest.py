"""What tests and examples share: no screen, Ctrl-C, closed pictures, measured figures, collection.

Pages show what an example printed once, seconds and gaps included, and not three points: the
checker of examples takes any such figure for another.
"""

from __future__ import annotations

import doctest
import gc
import itertools
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("MPLBACKEND", "agg")

# A shell starts the jobs in the background of a script with Ctrl-C ignored, and processes inherit
# that. Tests of Ctrl-C need Python's own handler; the processes that they start get the default
# action with it, as they would in a terminal.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What differs from one machine or run to the next.
_MEASURED = re.compile(
    r"(?<=within )[\d.e+-]+(?= %)|(?<=certified gap )[\d.e+-]+|(?<=hold to )[\d.e+-]+"
    r"|\b\d+\.\d+(?= s\b)|(?<=digest )[0-9a-f]{16}"
)
_check_output = doctest.OutputChecker.check_output


def _check_measured(self: doctest.OutputChecker, want: str, got: str, flags: int) -> bool:
    return _check_output(self, _MEASURED.sub("0", want), _MEASURED.sub("0", got), flags)


doctest.OutputChecker.check_output = _check_measured  # type: ignore[method-assign]


# What is imported and collected lasts until the end: to look for garbage among it takes a fifth of
# the time of collection, and some of that of every test.
@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def one_thread_for_each_library() -> Iterator[None]:
    """Let BLAS and OpenMP use no thread beside the one that calls them.

    Their threads wait busily for the next product, on a core that another worker needs. A test of
    what they do with several threads takes the fixture ``several_blas_threads``.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


@pytest.fixture
def several_blas_threads(one_thread_for_each_library: None) -> Iterator[None]:
    """Let BLAS use a thread for each core, as it does by itself, and two at least."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(max(2, os.cpu_count() or 1), user_api="blas"):
        yield


@pytest.fixture(autouse=True)
def _no_figures_left() -> Iterator[None]:
    yield
    # To import it here would make it a part of every test.
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


# Marks of the tests that run apart, and what a file with such a test has at least once: a mark, a
# function that takes a fixture of a browser, or an example with the library of the cluster.
APART = ("cluster", "browser", "signals")
APART_WORDS = re.compile(
    rf"\bmark\.({'|'.join(APART)})\b|\bdef \w+\([^)]*\b(browser|new_page|opened)\b"
    r"|(>>>|\.\.\.) .*\bdistributed\b"
)


def selects_only_apart(expression: str) -> bool:
    """Whether an expression of marks selects no test that has none of :data:`APART`."""
    names = set(re.findall(r"[A-Za-z_]\w*", expression)) - {"and", "or", "not"}
    if not names & {*APART}:
        return False
    others = sorted(names - {*APART})
    none = dict.fromkeys(APART, False)
    cases = (
        {**none, **dict(zip(others, values, strict=True))}
        for values in itertools.product((False, True), repeat=len(others))
    )
    try:
        return not any(eval(expression, {"__builtins__": {}}, case) for case in cases)
    except (SyntaxError, TypeError):
        # Marks with arguments, and what pytest itself refuses.
        return False


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect no file without a test that can be selected: to import all of them takes a minute."""
    if collection_path.suffix != ".py" or collection_path.name == "conftest.py":
        return None
    if not selects_only_apart(config.option.markexpr):
        return None
    return None if APART_WORDS.search(collection_path.read_text("utf-8")) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Hold files to :data:`APART_WORDS`, without which a test that runs apart would never run."""
    # Marks that the tests' own conftest.py adds are there by now, and nothing is deselected yet.
    apart = (item for item in items if any(map(item.get_closest_marker, APART)))
    for path in {item.path for item in apart}:
        if not APART_WORDS.search(path.read_text("utf-8")):
            raise pytest.UsageError(f"{path} has none of the words {APART_WORDS.pattern}")

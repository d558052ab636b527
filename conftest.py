"""What tests and examples share: no screen, Ctrl-C, closed pictures, and measured figures.

Pages show what an example printed once, seconds and gaps included, and not three points: the
checker of examples takes any such figure for another.
"""

from __future__ import annotations

import doctest
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator

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


@pytest.fixture(autouse=True)
def _no_figures_left() -> Iterator[None]:
    yield
    # To import it here would make it a part of every test.
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")

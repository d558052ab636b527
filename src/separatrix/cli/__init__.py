"""The command line: ``separatrix fit | predict | evaluate | verify | info | summary | ...``.

Thin over the Python API. This file holds the entry point, and imports nothing that an installation
without the extra ``app`` lacks; ``app.py`` lists the commands, and ``commands`` has a folder for
each.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from importlib.util import find_spec

from separatrix._compiled import memory
from separatrix.cli.postponed import postpone_imports

# Not that of typing, which would be imported before Ctrl-C is handled.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_NEEDED = ("click", "duckdb", "rich")
# The parts of a call that need another extra, too.
_EXTRAS = (
    ("--rigorous", "exact"),
    ("dask", "dask"),
    ("--engine=dask", "dask"),
    (".arrow", "arrow"),
    (".feather", "arrow"),
)
_ADDRESSES = ("http://", "https://", "s3://", "s3a://")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments. When not given, those of the process, which is then taken to be there for
        this command alone: Ctrl-C during an import ends it at once.

    Returns
    -------
    int
        0 done; 1 a negative verdict; 2 usage; 3 bad data or model; 4 stopped above ``tol``, or
        a perceptron with mistakes left; 70 a bug; 130 interrupted.

    Examples
    --------
    >>> from separatrix.cli import main
    >>> main(["fit", "iris", "--C", "-1"])
    2
    """
    if argv is not None:
        return _run(list(argv))
    try:
        from separatrix.cli import interruption

        interruption.ending_imports()
        postpone_imports()
        memory.spare()
        # Modules are no garbage, and while they are loaded most looks for some are for nothing.
        gc.set_threshold(100_000, 20, 50)
        code = _run(sys.argv[1:])
    except KeyboardInterrupt:  # before the handler was there, or a second one
        from separatrix.cli import interruption

        interruption.report_interruption()
        code = 130
    interruption.no_longer(code)
    return code


def _run(argv: list[str]) -> int:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        with contextlib.suppress(OSError):  # a disk that is full
            print(
                f"error     the command line needs {' and '.join(missing)}: "
                f'pip install "separatrix[{_extras(argv)}]"',
                file=sys.stderr,
            )
        return 2
    from separatrix.cli.app import run

    return run(argv)


def _extras(argv: list[str]) -> str:
    """All extras that a call needs, so that one installation is enough."""
    if argv[:1] == ["studio"]:
        return "studio"  # it brings the command line along
    found = {extra: None for end, extra in _EXTRAS if any(word.endswith(end) for word in argv)}
    if any(word.startswith(_ADDRESSES) for word in argv):
        found["lake"] = None
    return ",".join(["app", *found])

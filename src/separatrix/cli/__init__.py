"""The command line: ``separatrix fit | predict | evaluate | verify | info | summary | ...``.

Thin over the Python API. This file holds the entry point, and imports nothing that an installation
without the extra ``app`` lacks; ``commands.py`` lists the commands, one file each.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]

_NEEDED = ("click", "duckdb", "rich")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process when not given.

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
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        print(
            f"error     the command line needs {' and '.join(missing)}: "
            'pip install "separatrix[app]"',
            file=sys.stderr,
        )
        return 2
    from separatrix.cli.running import run

    return run(list(sys.argv[1:] if argv is None else argv))

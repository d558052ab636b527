"""``python -m separatrix script.py`` runs a script; anything else is for the command line."""

from __future__ import annotations

# The module signal imports others, and Ctrl-C may come before they are there.
import _signal  # type: ignore[import-not-found]
import sys


def main() -> int:
    """Run the command or the script that the arguments of the process name.

    Returns
    -------
    int
        The exit code; see :func:`separatrix.cli.main`.
    """
    handled = _signal.getsignal(_signal.SIGINT)
    if handled is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _note)
    arguments = sys.argv[1:]
    named = [a for a in arguments[:2] if a != "--compare"][:1]
    if arguments[:1] == ["--compare"] or (named and named[0].endswith(".py")):
        from separatrix.migration.running import run

        _signal.signal(_signal.SIGINT, handled)
        if _note.noted:  # type: ignore[attr-defined]
            raise KeyboardInterrupt
        return int(run(arguments))
    from separatrix.cli import main as command

    return command()


def _note(number: int, frame: object) -> None:
    """Keep Ctrl-C in mind until the command line can answer it, some hundredths of a second."""
    _note.noted.append(number)  # type: ignore[attr-defined]


_note.noted = []  # type: ignore[attr-defined]

if __name__ == "__main__":
    sys.exit(main())

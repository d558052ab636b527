"""``python -m separatrix script.py`` runs a script; anything else is for the command line."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    arguments = sys.argv[1:]
    named = [a for a in arguments[:2] if a != "--compare"][:1]
    if arguments[:1] == ["--compare"] or (named and named[0].endswith(".py")):
        from separatrix.migration.running import run

        sys.exit(run(arguments))
    from separatrix.cli import main

    sys.exit(main())

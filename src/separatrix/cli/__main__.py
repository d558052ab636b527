"""``python -m separatrix.cli`` is ``separatrix``."""

from __future__ import annotations

import sys

from separatrix.cli import main

if __name__ == "__main__":
    sys.exit(main())

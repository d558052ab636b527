"""Calls a function in a fresh process: ``python -m benchmarks.scale.child MODULE:FUNCTION``.

Its arguments come as JSON on standard input; what it returns goes, as JSON, into the file that the
last argument names, because libraries print what they like.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path


def main() -> None:
    module, function = sys.argv[1].split(":")
    result = getattr(importlib.import_module(module), function)(**json.load(sys.stdin))
    Path(sys.argv[2]).write_text(json.dumps(result))


if __name__ == "__main__":
    main()

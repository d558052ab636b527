"""``python -m benchmarks.borrowed.program FILE OUT theirs|ours``: run it a statement at a time.

A statement that fails is left behind and the next one is run, as in a notebook.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import json
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

from benchmarks.borrowed.watching import Watch

# Seconds for one statement.
_LONGEST = 60


def statements(path: Path) -> list[ast.stmt]:
    """The statements of a script, of the cells of a notebook, or of a text's examples."""
    if path.suffix in (".rst", ".txt"):
        examples = doctest.DocTestParser().get_examples(path.read_text(encoding="utf-8"))
        out: list[ast.stmt] = []
        for example in examples:
            with contextlib.suppress(SyntaxError):
                out += ast.parse(example.source).body
        return out
    if path.suffix != ".ipynb":
        return ast.parse(path.read_text(encoding="utf-8")).body
    out = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        lines = "".join(cell["source"]).split("\n")
        # Lines for the notebook, which are not Python.
        plain = ["" if line.lstrip().startswith(("%", "!", "?")) else line for line in lines]
        with contextlib.suppress(SyntaxError):
            out += ast.parse("\n".join(plain)).body
    return out


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"more than {_LONGEST} s")


def run(path: Path, *, ours: bool) -> list[dict[str, Any]]:
    """The outcome of every statement.

    Returns
    -------
    list of dict
        ``line``, ``error`` (None where there was none) and ``used``, the names of the classes.
    """
    import matplotlib

    matplotlib.use("Agg")
    warnings.simplefilter("ignore")
    watch = Watch(ours=ours)
    sys.argv = [path.name]
    sys.path.insert(0, str(path.parent))
    os.chdir(path.parent)
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(path), "display": print}
    out = []
    signal.signal(signal.SIGALRM, _too_long)
    for statement in statements(path):
        error = None
        code = compile(ast.Module([statement], []), path.name, "exec")
        signal.alarm(_LONGEST)
        try:
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                exec(code, names)
        except (Exception, SystemExit) as problem:
            error = f"{type(problem).__name__}: {problem}"[:300]
        finally:
            signal.alarm(0)
        out.append({"line": statement.lineno, "error": error, "used": watch.taken()})
    return out


if __name__ == "__main__":
    file, found, whose = sys.argv[1:]
    target = Path(found).resolve()
    target.write_text(json.dumps(run(Path(file).resolve(), ours=whose == "ours")))

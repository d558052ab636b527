"""``python -m benchmarks.house``: the size of the library's source code, in counts.

Files at the top level and in the command line's folder, lines of code by package (without
docstrings, comments and blank lines), functions of more than 60 such lines, and import cycles.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1] / "src" / "separatrix"
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_LONG = 60


def code_lines(source: str, tree: ast.Module) -> set[int]:
    """The numbers of the lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            text = node.body[0]
            lines.difference_update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return lines


def long_functions(tree: ast.Module, lines: set[int]) -> list[tuple[str, int]]:
    """Names and sizes of functions whose bodies have too many lines of code."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            size = len(lines & set(range(node.body[0].lineno, (node.end_lineno or 0) + 1)))
            if size > _LONG:
                found.append((node.name, size))
    return found


def imported(tree: ast.Module, modules: set[str]) -> set[str]:
    """The library's own files that a file imports when it is imported itself."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & modules) or ({node.module} & modules)
    return found - {"separatrix"}


def main() -> None:
    paths = {
        ".".join(("separatrix", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): path
        for path in sorted(ROOT.rglob("*.py"))
    }
    rooms: Counter[str] = Counter()
    long, graph = [], {}
    for module, path in paths.items():
        source = path.read_text("utf-8")
        tree = ast.parse(source)
        lines = code_lines(source, tree)
        inside = path.relative_to(ROOT).parts
        rooms[inside[0]] += len(lines)
        long += [(f"{module}.{name}", size) for name, size in long_functions(tree, lines)]
        graph[module] = imported(tree, set(paths)) - {module}
    for room, size in rooms.most_common():
        print(f"{size:7,}  {room}")
    print(f"{sum(rooms.values()):7,}  lines of code")
    print(f"{len(list(ROOT.glob('*.py'))):7,}  files at the top level")
    print(f"{len(list((ROOT / 'cli').glob('*.py'))):7,}  files in cli/")
    print(f"{len(long):7,}  functions of more than {_LONG} lines of code:")
    for name, size in sorted(long, key=lambda pair: -pair[1]):
        print(f"{size:15,}  {name.removeprefix('separatrix.')}")
    try:
        TopologicalSorter(graph).prepare()
        print("      0  circles of imports")
    except CycleError as error:
        print("circle of imports:", " -> ".join(error.args[1]))


if __name__ == "__main__":
    main()

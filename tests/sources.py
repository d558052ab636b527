"""What stands in the library's files: each is parsed once, however many tests ask."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from pathlib import Path

import separatrix

ROOT = Path(separatrix.__file__).parent


@dataclass(frozen=True)
class Source:
    """A file of the library.

    Attributes
    ----------
    path : Path
    docstrings : tuple of str
        Those of the file, its classes and its functions; empty ones left out.
    imports : tuple of ast.ImportFrom
        Within functions, too.
    codes : tuple of str
        Those of the messages that it makes.
    """

    path: Path
    docstrings: tuple[str, ...]
    imports: tuple[ast.ImportFrom, ...]
    codes: tuple[str, ...]


@functools.cache
def sources() -> tuple[Source, ...]:
    """All files, in the order of their names."""
    return tuple(map(_read, sorted(ROOT.rglob("*.py"))))


def _read(path: Path) -> Source:
    docstrings, imports, codes = [], [], []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            docstrings.append(ast.get_docstring(node) or "")
        elif isinstance(node, ast.ImportFrom):
            imports.append(node)
        elif _makes_a_message(node):
            codes.append(node.args[0].value)
    return Source(path, tuple(filter(None, docstrings)), tuple(imports), tuple(codes))


def _makes_a_message(node: ast.AST) -> bool:
    """Whether a node calls ``Message`` with a code that stands there."""
    called = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Message"
    return called and isinstance(node.args[0], ast.Constant)

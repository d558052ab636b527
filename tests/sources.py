"""What stands in the library's files: each is parsed once, however many tests ask."""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass
from pathlib import Path

import separatrix
from separatrix.messages import TEMPLATES

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
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Message":
            codes += _codes_of(node.args[0])
    return Source(path, tuple(filter(None, docstrings)), tuple(imports), tuple(codes))


def _codes_of(node: ast.expr) -> list[str]:
    """The code of a message, or the codes that it can be where a part of it is computed."""
    if isinstance(node, ast.Constant):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        parts = [re.escape(p.value) if isinstance(p, ast.Constant) else ".+" for p in node.values]
        return [code for code in TEMPLATES if re.fullmatch("".join(parts), code)]
    return []

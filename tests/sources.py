"""The contents of the library's files, each parsed once, however many tests use it."""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass
from pathlib import Path

import separatrix
from separatrix.messages import TEMPLATES

ROOT = Path(separatrix.__file__).parent
_IMPORTS = re.compile(r"^[ \t]*from [\w.]+ import (?:\([^()]*\)|[^(\n]+)", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """A file of the library, which is parsed when its contents are first needed.

    Attributes
    ----------
    path : Path
    docstrings : tuple of str
        The docstrings of the file, its classes and its functions; empty ones left out.
    imports : tuple of ast.ImportFrom
        The imports of the file, also those within functions.
    codes : tuple of str
        The codes of the messages that it makes.
    """

    path: Path

    @property
    def docstrings(self) -> tuple[str, ...]:
        return self._parsed[0]

    @functools.cached_property
    def imports(self) -> tuple[ast.ImportFrom, ...]:
        # To parse these lines alone takes a tenth of the time of parsing the file.
        found = _IMPORTS.findall(self.path.read_text("utf-8"))
        nodes = ast.parse("\n".join(map(str.lstrip, found))).body
        return tuple(node for node in nodes if isinstance(node, ast.ImportFrom))

    @property
    def codes(self) -> tuple[str, ...]:
        # Most files make no messages, and parsing all of them takes seconds.
        return self._parsed[1] if "Message(" in self.path.read_text("utf-8") else ()

    @functools.cached_property
    def _parsed(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        docstrings, codes = [], []
        for node in ast.walk(ast.parse(self.path.read_text("utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                docstrings.append(ast.get_docstring(node) or "")
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Message":
                codes += _codes_of(node.args[0])
        return tuple(filter(None, docstrings)), tuple(codes)


@functools.cache
def sources() -> tuple[Source, ...]:
    """All files, in the order of their names."""
    return tuple(map(Source, sorted(ROOT.rglob("*.py"))))


def _codes_of(node: ast.expr) -> list[str]:
    """The code of a message, or the codes that it can be where a part of it is computed."""
    if isinstance(node, ast.Constant):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        parts = [re.escape(p.value) if isinstance(p, ast.Constant) else ".+" for p in node.values]
        return [code for code in TEMPLATES if re.fullmatch("".join(parts), code)]
    return []

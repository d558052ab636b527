"""The rooms of the house are those of CONTRIBUTING.md, in its order, and imports go one way."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from grids import grid
from sources import ROOT, sources

CONTRIBUTING = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"

# The rows of its table of rooms, from the ground up: a room knows those above it, and none below.
ROOMS = tuple(
    re.findall(r"^\| `(\w+?)(?:\.py|/)` \|", CONTRIBUTING.read_text("utf-8"), re.MULTILINE)
)
# Rooms within rooms.
INNER = {"geometry": ("exact", "separation", "mistakes", "diagnosis"), "cli": ("commands",)}


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_of(path): path for path in sorted(ROOT.rglob("*.py"))}


def imports_of(module: str) -> set[str]:
    """The library's own files that a file imports, within functions, too."""
    (source,) = (source for source in sources() if source.path == FILES[module])
    found = set()
    for node in source.imports:
        if (node.module or "").startswith("separatrix"):
            base = (node.module or "").removeprefix("separatrix").lstrip(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".lstrip(".")
                found.add(inner if inner in FILES else base)
    return found - {module}


def room_of(module: str) -> str:
    # ``python -m separatrix`` knows all of the house.
    return ROOMS[-1] if module == "__main__" else module.split(".")[0]


def test_nothing_else_lies_flat() -> None:
    flat = {path.stem for path in ROOT.glob("*.py")}
    assert flat == {"__init__", "__main__", "exceptions", "certificate"}
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert rooms | (flat - {"__init__", "__main__"}) == set(ROOMS)
    for room, inner in INNER.items():
        assert {path.parent.name for path in (ROOT / room).glob("*/__init__.py")} == set(inner)


@grid("module", [m for m in FILES if m])
def test_imports_go_one_way(module: str) -> None:
    own = ROOMS.index(room_of(module))
    # The package itself hands out names of every room; the highest ones may import it.
    for other in imports_of(module) - {""}:
        assert ROOMS.index(room_of(other)) <= own, f"{module} imports {other}"


def test_no_circles_between_files() -> None:
    graph = {module: imports_of(module) - {""} for module in FILES if module}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
    assert set(graph) <= set(order)


def test_files_list_names_only_to_hand_them_on() -> None:
    """An underscore says what is a file's own; packages list what they hand out."""
    for source in sources():
        text = source.path.read_text("utf-8")
        # Most files list nothing, and parsing all of them takes seconds.
        if source.path.name != "__init__.py" and re.search(r"^__all__\b", text, re.MULTILINE):
            imported = {alias.name for node in source.imports for alias in node.names}
            first = next(
                node.value
                for node in ast.parse(text).body
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
            )
            assert imported & set(ast.literal_eval(first)), source.path


# What stands once, by a mark that only its home has.
HOMES = {
    "0xBF58476D1CE4E5B9": {"_compiled.splitmix"},
    "os.fsync(": {"data.atomic_files"},
    'hasattr(label, "item")': {"data.labels"},
    "StratifiedKFold": {"data.splitting"},
    "get_scorer_names()": {"models.search"},
    # The one place where a room finds a later one, by name and at a call.
    'import_module("separatrix.plots")': {"geometry.hyperplane"},
    # Tables and files are read piece by piece, and machine code stands before all rooms.
    "hashlib.": {"data.digests", "_compiled.compilation", "tables.table", "scale.files"},
}


@pytest.mark.parametrize("mark", HOMES)
def test_one_fact_has_one_home(mark: str) -> None:
    found = {module for module, path in FILES.items() if mark in path.read_text("utf-8")}
    assert found == HOMES[mark]

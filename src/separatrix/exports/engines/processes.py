"""Engines that are processes: compilers of C and C++, node, and this Python without the library."""

from __future__ import annotations

import json
import math
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from separatrix.exports.artefacts import Answers
from separatrix.exports.c import fields_of, pointers
from separatrix.exports.printing import filled
from separatrix.expressions.features import Program

Rows = Mapping[str, Sequence[object]]


def _ran(command: Sequence[str], folder: str | Path = ".", *, may_fail: bool = False) -> str:
    """The output of a command."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode and not may_fail:
        raise RuntimeError(f"{command[0]} failed: {(done.stderr or done.stdout)[-2000:]}")
    return done.stdout


class _Process(ABC):
    """An engine that reads rows from a file, and writes doubles into the file ``answers``."""

    command: str

    def version(self) -> str | None:
        """Its version; None where it is not installed."""
        if shutil.which(self.command) is None:
            return None
        # A compiler names its distribution in brackets before its own version.
        banner = re.sub(r"\(.*?\)", "", _ran([self.command, "--version"]))
        found = re.search(r"\d+(\.\d+)+", banner)
        return found[0] if found else banner.splitlines()[0]

    @abstractmethod
    def _prepared(self, folder: Path, text: str, program: Program, rows: Rows) -> list[str]:
        """The command that computes the answers, with its files in place."""

    @abstractmethod
    def _proving(self, folder: Path, text: str) -> list[str]:
        """The command that prints the share of the bound, with its files in place."""

    def run(self, text: str, program: Program, rows: Rows) -> Answers:
        """The answers of a text for some rows."""
        with tempfile.TemporaryDirectory() as name:
            _ran(self._prepared(Path(name), text, program, rows), name)
            numbers = np.fromfile(Path(name, "answers")).reshape(-1, 1 + _width(program))
        own = program.prediction
        labels, scores, shares = np.split(numbers, [1, 1 + own.scores.n_columns], axis=1)
        return Answers(
            scores,
            None if own.label is None else labels[:, 0].astype(int),
            None if own.probabilities is None else shares,
        )

    def own_proof(self, text: str) -> float:
        """The worst difference that a text's own proof finds, as a share of the bound."""
        with tempfile.TemporaryDirectory() as name:
            return float(_ran(self._proving(Path(name), text), name, may_fail=True).split()[0])


def _width(program: Program) -> int:
    """The number of scores and probabilities of a row."""
    own = program.prediction
    more = 0 if own.probabilities is None else own.probabilities.n_columns
    return int(own.scores.n_columns + more)


class Compiler(_Process):
    """A compiler of C or C++.

    Parameters
    ----------
    command : str
    flags : str
    needs : str
        The features that the processor needs, as Linux names them.
    """

    def __init__(self, command: str, flags: str, needs: str = ""):
        self.command, self._flags, self._needs = command, flags.split(), {*needs.split()}
        self.name = f"{command} {flags}"

    def version(self) -> str | None:
        """Its version; None where it is not installed, or the processor lacks something."""
        cpu = Path("/proc/cpuinfo")
        has = {*cpu.read_text("utf-8").split()} if self._needs and cpu.exists() else set()
        return super().version() if self._needs <= has else None

    def _compiled(self, folder: Path, text: str, source: str, *flags: str) -> list[str]:
        (folder / "model.h").write_text(text, "utf-8")
        language = "c++" if "+" in self.command else "c"
        order = [self.command, *self._flags, *flags, "-x", language, source, "-lm", "-o", "program"]
        _ran(order, folder)
        return [str(folder / "program")]

    def _prepared(self, folder: Path, text: str, program: Program, rows: Rows) -> list[str]:
        columns = [rows[cell.column] for cell in program.cells]
        reads = [
            f"        row.{field} = "
            + (f"text(in, &held[{k}]);" if cell.kind == "text" else f"({name}_number)number(in);")
            for name in [_name(text)]
            for k, (cell, field) in enumerate(
                zip(program.cells, fields_of(program).values(), strict=True)
            )
        ]
        driver = filled(
            "driver.c",
            m=_name(text),
            k=_width(program),
            cells=len(columns),
            rows=len(columns[0]),
            reads="\n".join(reads),
            pointers=pointers(program),
        )
        (folder / "driver").write_text(driver, "utf-8")
        cells = [_binary(cell) for row in zip(*columns, strict=True) for cell in row]
        (folder / "rows").write_bytes(b"".join(cells))
        return self._compiled(folder, text, "driver")

    def _proving(self, folder: Path, text: str) -> list[str]:
        return self._compiled(folder, text, "model.h", f"-D{_name(text).upper()}_PROOF")


def _name(text: str) -> str:
    """The name of the model in a header."""
    return re.findall(r"^} (\w+)_row;$", text, re.MULTILINE)[0]


def _binary(cell: object) -> bytes:
    """A number, or the length of a text and its bytes."""
    if not isinstance(cell, str):
        return struct.pack("d", -1.0 if cell is None else cell)
    # A NUL within a text would end it: it is written as Java writes it.
    data = cell.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
    return struct.pack("d", len(data)) + data


class _Interpreter(_Process):
    """An engine that reads rows as JSON, in which numbers that are not finite are texts."""

    suffix: str
    proof: str
    flags: tuple[str, ...] = ()

    def _prepared(self, folder: Path, text: str, program: Program, rows: Rows) -> list[str]:
        columns = [
            [cell.column, cell.kind, [*map(_spelled, rows[cell.column])]] for cell in program.cells
        ]
        # Whole numbers as texts where JavaScript has them as such: floats would round them.
        classes = [
            one
            if isinstance(one, float) or (isinstance(one, int) and abs(one) <= 2**53)
            else str(one)
            for one in program.prediction.classes
        ]
        (folder / "rows.json").write_text(json.dumps([columns, _width(program), classes]), "utf-8")
        return self._script(folder, text, filled(f"driver{self.suffix}"))

    def _proving(self, folder: Path, text: str) -> list[str]:
        return self._script(folder, text, self.proof)

    def _script(self, folder: Path, text: str, script: str) -> list[str]:
        (folder / f"model{self.suffix}").write_text(text, "utf-8")
        (folder / f"driver{self.suffix}").write_text(script, "utf-8")
        return [self.command, *self.flags, f"driver{self.suffix}"]


def _spelled(cell: object) -> object:
    if not isinstance(cell, float) or math.isfinite(cell):
        return cell
    return "NaN" if math.isnan(cell) else f"{'-' if cell < 0.0 else ''}Infinity"


class Node(_Interpreter):
    """JavaScript in node."""

    name = command = "node"
    suffix = ".mjs"
    proof = 'import { proof } from "./model.mjs"; console.log(proof());'


class Python(_Interpreter):
    """This Python, with NumPy alone."""

    name, command, flags = "python", sys.executable, ("-I",)
    suffix = ".py"
    proof = 'import sys; sys.path.insert(0, "."); import model; print(model.proof())'


ENGINES: dict[str, list[_Process]] = {
    "c": [
        Compiler("gcc", "-std=c99 -O2"),
        # Without a standard, gcc contracts a product and a sum into one operation.
        Compiler("gcc", "-O2 -march=haswell", needs="fma avx2"),
        Compiler("g++", "-std=c++11 -O2"),
    ],
    "js": [Node()],
    "python": [Python()],
}

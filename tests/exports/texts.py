"""Programs that are made of trees by hand, run by every engine of C, JavaScript and Python."""

from __future__ import annotations

import platform
from functools import cache

import numpy as np

from separatrix.data.design import as_design
from separatrix.exports import c, javascript, python
from separatrix.exports.artefacts import Answers, Heading, Sample
from separatrix.exports.engines import of_language
from separatrix.exports.engines.processes import Compiler
from separatrix.expressions import Prediction, evaluated
from separatrix.expressions.features import Cell, Program

PRINTERS = {"c": c.printed, "js": javascript.printed, "python": python.printed}
STRICT = "-Wall -Wextra -pedantic -Wconversion -Werror"


@cache
def engines(language):
    """The engines that are installed; compilers take warnings for errors."""
    found = [engine for engine in of_language(language) if engine.version() is not None]
    return [strict(e) if isinstance(e, Compiler) else e for e in found]


def strict(own: Compiler, more: str = "") -> Compiler:
    return Compiler(own.command, " ".join([*own._flags, STRICT, more]))


def made_by(text):
    """What the text of a Python file defines."""
    made = {"__name__": "model"}
    exec(compile(text, "model.py", "exec"), made)
    return made


class Here:
    """The interpreter of the tests: each text would start two others."""

    name = "python"

    def version(self):
        return platform.python_version()

    def run(self, text, program, rows):
        made = made_by(text)
        found = made["predict"](rows)
        places = {label: k for k, label in enumerate(made["CLASSES"])} | {None: -1}
        labels = found.get("label")
        return Answers(
            found["scores"],
            None if labels is None else np.array([places[label] for label in labels]),
            found.get("probabilities"),
        )

    def own_proof(self, text):
        return made_by(text)["proof"]()


@cache
def first_engine(language):
    """The first engine of a language, without optimisation where it is a compiler."""
    own = Here() if language == "python" else engines(language)[0]
    return strict(own, "-O0") if isinstance(own, Compiler) else own


def of_columns(prediction: Prediction, n_features: int) -> Program:
    """A program whose features are its cells, all of them numbers."""
    cells = tuple(Cell(f"x{j}") for j in range(n_features))
    return Program(cells, cells, tuple(cell.column for cell in cells), prediction)


def answers_of(prediction: Prediction, X: np.ndarray) -> Answers:
    """What the trees are evaluated to; rows that are not finite have no answer."""
    known = np.isfinite(X).all(axis=1)
    design = as_design(X[known])

    def of(node, missing):
        if node is None:
            return None
        values = evaluated(node, design)
        out = np.full((len(X), *values.shape[1:]), missing, dtype=type(missing))
        out[known] = values
        return out

    return Answers(
        of(prediction.scores, np.nan),
        of(prediction.label, -1),
        of(prediction.probabilities, np.nan),
    )


def sample_of(rows, expected: Answers, tolerance: float = 1e-12) -> Sample:
    """A sample with bounds that are relative to what is expected."""

    def bounds(values):
        return None if values is None else tolerance * (1.0 + np.abs(np.nan_to_num(values)))

    decided = np.ones(len(expected.scores), dtype=bool)
    own = bounds(expected.probabilities)
    return Sample(rows, expected, bounds(expected.scores), own, decided)


def holds(program: Program, sample: Sample, language: str, every: bool = False, **options) -> str:
    """Print a program, run it, compare what is computed with the sample, and return the text.

    The first engine runs it; with ``every`` all engines do, and the first one also its own proof.
    """
    text = PRINTERS[language](program, Heading("model", ("a model",)), sample, **options)
    assert engines(language)
    for engine in engines(language) if every else [first_engine(language)]:
        found, expected = engine.run(text, program, sample.rows), sample.expected
        pairs = [(found.scores, expected.scores, sample.score_bounds)]
        if expected.probabilities is not None:
            pairs.append((found.probabilities, expected.probabilities, sample.probability_bounds))
        else:
            assert found.probabilities is None
        for got, wanted, bound in pairs:
            assert got.shape == wanted.shape
            np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted), err_msg=engine.name)
            assert (np.isnan(wanted) | (np.abs(got - wanted) <= bound)).all(), engine.name
        if expected.labels is None:
            assert found.labels is None
        else:
            np.testing.assert_array_equal(found.labels, expected.labels, err_msg=engine.name)
    assert not every or first_engine(language).own_proof(text) <= 1.0
    return text

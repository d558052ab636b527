"""The input of printers of languages, and the answers of an engine that ran their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from separatrix.expressions.features import Program


class Unprintable(ValueError):
    """A language cannot compute a program to the same numbers; the text says why, and what can."""


@dataclass(frozen=True)
class Heading:
    """The heading of an artefact, in the comments of its language.

    Attributes
    ----------
    name : str
        A name for the model, made of letters, digits and underscores.
    lines : tuple of str
        The model, its fit and date, its objective and certificate, the digest of the model file
        and the version of the library, a sentence or a pair of words and values each.
    """

    name: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answers:
    """The answers for some rows, by ``predict`` or by an engine.

    Attributes
    ----------
    scores : ndarray of shape (n_rows, K)
        The scores; NaN for a row without an answer.
    labels : ndarray of int, shape (n_rows,) or None
        Places among the classes, -1 without an answer; None for a regression.
    probabilities : ndarray of shape (n_rows, n_classes) or None
    """

    scores: np.ndarray
    labels: np.ndarray | None = None
    probabilities: np.ndarray | None = None


@dataclass(frozen=True)
class Sample:
    """Rows, the answers of ``predict``, and bounds on how far another evaluation is from them.

    Attributes
    ----------
    rows : mapping of str to sequence
        The cells of each column of the program: floats (NaN where missing), texts (None where
        missing), or days since 1970-01-01 as floats.
    expected : Answers
    score_bounds : ndarray of shape (n_rows, K)
        The bounds on the difference of two scores; only labels whose scores are further from a tie
        are compared.
    probability_bounds : ndarray of shape (n_rows, n_classes) or None
    decided : ndarray of bool, shape (n_rows,)
        Whether the label is beyond the bounds, so that every evaluation has to have it.
    """

    rows: Mapping[str, Sequence[object]]
    expected: Answers
    score_bounds: np.ndarray
    probability_bounds: np.ndarray | None = None
    decided: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.expected.scores)

    def side_by_side(self) -> tuple[np.ndarray, np.ndarray]:
        """The scores and the probabilities of each row, and the bounds on them."""
        values, bounds = self.expected.scores, self.score_bounds
        if self.expected.probabilities is not None and self.probability_bounds is not None:
            values = np.hstack([values, self.expected.probabilities])
            bounds = np.hstack([bounds, self.probability_bounds])
        return values, bounds

    def cells(self, program: Program, row: int) -> list[object]:
        """The cells of a row in the order of the program."""
        return [self.rows[cell.column][row] for cell in program.cells]

"""What a model of another library answers itself, which its artefact is held to."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.data.design import as_design
from separatrix.exports.artefacts import Answers
from separatrix.exports.rounding import matrix_of
from separatrix.exports.sklearn_steps import input_names, taken_apart
from separatrix.exports.words import word_weights
from separatrix.expressions import evaluated
from separatrix.expressions.features import Program

__all__ = ["Foreign"]


@dataclass(frozen=True, eq=False)
class Foreign:
    """A fitted model or pipeline of scikit-learn.

    Attributes
    ----------
    model : estimator
    program : Program
        What is exported of it.
    """

    model: Any
    program: Program

    def answers(self, rows: Any) -> Answers:
        """Its own scores, classes and probabilities of rows.

        Raises
        ------
        ValueError
            For rows that it refuses.
        """
        X, trees = self._given(rows), self.program.prediction
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            predicted = np.asarray(self.model.predict(X))
            if trees.label is None:
                return Answers(predicted.reshape(len(predicted), -1).astype(float))
            shares = None
            if trees.probabilities is not None:
                shares = np.asarray(self.model.predict_proba(X), dtype=float)
            if trees.reported is not None:
                # It reports other numbers than those that decide.
                matrix = matrix_of(self.program, rows, word_weights).values
                scores = evaluated(trees.scores, as_design(matrix))
            elif hasattr(self.model, "decision_function"):
                scores = np.asarray(self.model.decision_function(X), dtype=float)
            else:
                scores = shares if shares is not None else predicted
        places = {label: place for place, label in enumerate(trees.classes)}
        labels = np.array([places[label] for label in predicted.tolist()])
        scores = scores.reshape(len(predicted), -1)
        if scores.shape[1] != trees.scores.n_columns:
            raise ValueError(
                f"The model answers with {scores.shape[1]} scores a row, and its program has "
                f"{trees.scores.n_columns}."
            )
        return Answers(scores, labels, shares)

    def _given(self, rows: Any) -> Any:
        """Rows as the model takes them: a frame, a matrix, or a list of texts."""
        n = len(rows[self.program.cells[0].column])
        steps, inner = taken_apart(self.model)
        names = input_names(steps, inner)
        cells = {cell.column: cell for cell in self.program.cells}
        if not hasattr(self.model, "feature_names_in_"):
            if len(names) == 1 and cells[names[0]].kind == "text":
                return ["" if text is None else text for text in rows[names[0]]]
            # Columns whose weights are all zero are not read, and may hold anything.
            return np.column_stack(
                [np.asarray(rows.get(name, np.zeros(n)), dtype=float) for name in names]
            )
        import pandas

        return pandas.DataFrame({name: rows.get(name, np.zeros(n)) for name in names})

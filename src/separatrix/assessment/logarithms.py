"""Whether the logarithm of a skewed column of amounts would predict better than the column does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._compiled import pool
from separatrix.data.class_scores import Ranked
from separatrix.data.design import dense
from separatrix.messages import Joined, Message, Setting
from separatrix.tables import Encoder, Table
from separatrix.tables.number_encoding import Number
from separatrix.tables.table import missing_mask, quote

# The most rows, features and columns that are examined, so that a fit hardly takes longer.
_ROWS, _FEATURES, _COLUMNS = 2000, 150, 5
_FEWEST_ROWS = 100
_FOLDS = 5
# A column is skewed from here on, where its logarithm is less so by half.
_SKEWED = 1.0
# The least gain that is worth a line.
_GAIN = 0.01


@dataclass(frozen=True)
class _Candidate:
    """A skewed column: the place of its feature, and the logarithms of its values."""

    name: str
    place: int
    values: np.ndarray


def logarithms_that_help(
    encoder: Encoder, table: Table, X: Any, y: np.ndarray, *, quantity: bool, seed: int = 0
) -> Message | None:
    """Compare the logarithms of skewed columns with these, by cross-validated least squares.

    Parameters
    ----------
    encoder : Encoder
    table : Table
        The rows to fit.
    X : matrix of shape (n_rows, n_features)
        The same rows, encoded.
    y : ndarray of shape (n_rows,)
        Labels, of two classes, or a quantity.
    quantity : bool
    seed : int
        The seed of the sample of the rows.

    Returns
    -------
    Message or None
        The columns and the gain; None where no gain is more than chance explains.
    """
    n, d = X.shape
    labels = np.unique(y)
    if n < _FEWEST_ROWS or d > _FEATURES or (not quantity and len(labels) != 2):
        return None
    rows = np.sort(np.random.default_rng(seed).choice(n, min(n, _ROWS), replace=False))
    candidates = _candidates(encoder, table, rows)
    if not candidates:
        return None
    target = y[rows].astype(np.float64) if quantity else np.where(y[rows] == labels[1], 1.0, -1.0)
    matrix = dense(X[rows])
    with pool.alone():  # The threads of BLAS would wait for one another longer than this takes.
        trial = _Trial.of(matrix, candidates, target, quantity)
        # Where the columns predict worse than chance, chance is what is to be beaten.
        before = np.maximum(trial.scores(()), 0.0 if quantity else 0.5)
        own = [trial.scores((k,)) - before for k in range(len(candidates))]
        chosen = tuple(k for k, gains in enumerate(own) if _is_gain(gains))
        after = trial.scores(chosen)
    if not chosen or not _is_gain(after - before):
        return None
    names = [candidates[k].name for k in chosen]
    return Message(
        "log_would_help",
        columns=("column " if len(names) == 1 else "columns ") + ", ".join(map(quote, names)),
        are="is" if len(names) == 1 else "are",
        options=Joined(tuple(Setting("log", name) for name in names), separator=" "),
        score="R^2" if quantity else "ROC AUC",
        before=float(before.mean()),
        after=float(after.mean()),
        folds=_FOLDS,
        rows=len(rows),
    )


def _is_gain(gains: np.ndarray) -> bool:
    """Whether the mean gain of folds is worth a line, and more than twice its standard error."""
    error = float(np.std(gains, ddof=1)) / len(gains) ** 0.5
    return float(gains.mean()) > max(_GAIN, 2.0 * error)


def _candidates(encoder: Encoder, table: Table, rows: np.ndarray) -> list[_Candidate]:
    """The most skewed columns of amounts, with the logarithms of their values in some rows."""
    found, place = [], 0
    kept = {j: k for k, j in enumerate(encoder.kept)}
    for one in encoder.encodings:
        first, place = place, place + one.n_features
        if type(one) is not Number or one.date or not one.with_value or first not in kept:
            continue
        column = table.columns[one.name][rows]
        values = np.ma.getdata(column)
        if values.dtype != np.float64:
            continue
        gone = missing_mask(column) | np.isin(values, one.placeholders)
        there = values[~gone]
        if len(there) < _FEWEST_ROWS or there.min() < 0.0 or len(np.unique(there)) < 20:
            continue
        logs = np.log1p(there) if there.min() == 0.0 else np.log(there)
        skewed, rest = _skewness(there), _skewness(logs)
        if not (skewed > _SKEWED and abs(rest) < skewed / 2.0):
            continue
        whole = np.full(len(values), logs.mean())
        whole[~gone] = logs
        found.append((skewed, _Candidate(one.name, kept[first], whole)))
    found.sort(key=lambda pair: -pair[0])
    return [candidate for _, candidate in found[:_COLUMNS]]


def _skewness(values: np.ndarray) -> float:
    """The third moment about the mean, in standard deviations; NaN for constant values."""
    with np.errstate(all="ignore"):
        unit = values / np.abs(values).max()
        z = unit - unit.mean()
        return float(np.mean(z**3) / np.mean(z * z) ** 1.5)


@dataclass(frozen=True)
class _Trial:
    """Least squares on the folds, with any of the candidates' logarithms in their places."""

    Z: np.ndarray  # the features, the logarithms behind them, and a column of ones
    y: np.ndarray
    folds: np.ndarray
    grams: np.ndarray
    sides: np.ndarray
    places: Sequence[int]
    quantity: bool

    @classmethod
    def of(
        cls, matrix: np.ndarray, candidates: Sequence[_Candidate], y: np.ndarray, quantity: bool
    ) -> _Trial:
        Z = np.column_stack([matrix, *(one.values for one in candidates)]).astype(np.float64)
        Z -= Z.mean(axis=0)
        scale = Z.std(axis=0)
        Z /= np.where(scale > 0.0, scale, 1.0)
        Z = np.column_stack([Z, np.ones(len(Z))])
        folds = np.arange(len(Z)) % _FOLDS
        parts = [Z[folds == k] for k in range(_FOLDS)]
        grams = np.array([part.T @ part for part in parts])
        sides = np.array([part.T @ y[folds == k] for k, part in enumerate(parts)])
        return cls(Z, y, folds, grams, sides, [one.place for one in candidates], quantity)

    def scores(self, chosen: Sequence[int]) -> np.ndarray:
        """The score of every fold, with these logarithms instead of their columns."""
        d = self.Z.shape[1] - len(self.places) - 1
        columns = [*range(d), self.Z.shape[1] - 1]
        for k in chosen:
            columns[self.places[k]] = d + k
        gram, side = self.grams.sum(axis=0), self.sides.sum(axis=0)
        out = []
        for k in range(_FOLDS):
            own = (gram - self.grams[k])[np.ix_(columns, columns)]
            # Levels add up to one another; a little of a penalty decides among them.
            own[np.diag_indices(len(own))] += 1e-3 * len(self.Z)
            weights = np.linalg.solve(own, (side - self.sides[k])[columns])
            held = self.folds == k
            out.append(self._score(self.Z[held][:, columns] @ weights, self.y[held]))
        return np.array(out)

    def _score(self, found: np.ndarray, y: np.ndarray) -> float:
        if self.quantity:
            spread = float(np.square(y - y.mean()).sum())
            return 1.0 - float(np.square(y - found).sum()) / spread if spread > 0.0 else 0.0
        area = Ranked.of(found, y > 0.0, np.ones(len(y))).area
        return 0.5 if area is None else area

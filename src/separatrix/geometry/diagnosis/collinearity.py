"""Columns that are combinations of other columns, and columns that nearly are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg

from separatrix._compiled.rounding import EPS
from separatrix._compiled.tuning import Tuned
from separatrix.data.columns import Columns
from separatrix.data.design import Design
from separatrix.messages import Record, Wording


@dataclass(frozen=True)
class Tuning:
    """The limit on the work of finding relations.

    Parameters
    ----------
    budget : float
        Multiplications that the Gram matrix may take; beyond them a sample of the rows is enough to
        find a relation, which is then checked on all of them.
    """

    budget: float = 2e10


tuned = Tuned(Tuning())

# Squared length left of a standardised column, once the others are taken out, below which it is
# a candidate for an exact relation; what decides is the relation itself, on the data.
_CANDIDATE = 1e-10
# Relative to the column's deviation, on top of what rounding explains.
_EXACT = 1e-9
# Standardised coefficients below this are no part of a relation.
_NO_PART = 1e-7
_MOST_RELATIONS = 50


@dataclass(frozen=True)
class Relation:
    """``sum_k coefficients[k] * x[columns[k]] = constant`` in every row, up to rounding."""

    columns: tuple[int, ...]
    coefficients: tuple[float, ...]
    constant: float

    def solved(self) -> tuple[int, list[tuple[float, int]], float]:
        """``column = sum coefficient * column + constant``.

        For the column whose sign is unlike all others, where there is one: ``a = b + c`` rather
        than ``c = a - b``.
        """
        signs = np.sign(self.coefficients)
        lone = 0
        for sign in (1.0, -1.0):
            if (signs == sign).sum() == 1:
                lone = int(np.flatnonzero(signs == sign)[0])
                break
        by = -self.coefficients[lone]
        terms = [
            (c / by, j)
            for k, (c, j) in enumerate(zip(self.coefficients, self.columns, strict=True))
            if k != lone
        ]
        return self.columns[lone], terms, -self.constant / by

    def equation(self, names: Sequence[Any], *, most: int = 8) -> Equation:
        """Solved for one column, with columns by these names."""
        column, terms, constant = self.solved()
        ordered = sorted(terms, key=lambda term: term[1])
        return Equation(names[column], tuple((c, names[j]) for c, j in ordered), constant, most)


@dataclass(frozen=True)
class Equation(Record):
    """A column that follows from others, as a part of a message."""

    left: Any
    terms: tuple[tuple[float, Any], ...]
    constant: float
    most: int

    def words(self, wording: Wording) -> str:
        terms = [(coefficient, wording(name)) for coefficient, name in self.terms]
        return equation(wording(self.left), terms, self.constant, most=self.most)


def equation(
    left: str, terms: Sequence[tuple[float, str]], constant: float, *, most: int = 8
) -> str:
    """``'a' = 'b' + 2 * 'c' - 3``: what is added comes first, and ``most`` terms are shown.

    Parameters
    ----------
    left : str
        The column that follows from the others, as it is to be shown.
    terms : sequence of (float, str)
        Coefficients, and columns as they are to be shown.
    constant : float
    most : int
    """
    parts = [
        (coefficient < 0, name if size == "1" else f"{size} * {name}")
        for coefficient, name in terms
        for size in [f"{abs(coefficient):.6g}"]
    ]
    if constant or not parts:
        parts.append((constant < 0, f"{abs(constant):.6g}"))
    parts.sort(key=lambda part: part[0])
    more = len(parts) - most
    text = "".join(f" {'-' if minus else '+'} {part}" for minus, part in parts[:most])
    text = f"-{text.removeprefix(' - ')}" if parts[0][0] else text.removeprefix(" + ")
    return f"{left} = {text}" + (f" + ... ({more} more)" if more > 0 else "")


@dataclass(frozen=True)
class Dependence:
    """The linear dependence of columns on one another.

    Attributes
    ----------
    relations : tuple of Relation
        The first 50 exact relations, each verified in every row.
    n_more : int
        The number of further columns that are combinations of the others, up to rounding.
    condition : float
        Condition number of the other columns, centred (if there is an intercept) and of unit
        length; 1 where they are orthogonal.
    worst : int
        The column that the others explain best.
    unexplained : float
        The share of the variance of ``worst`` that the others do not explain: ``1 - R^2``.
    partners : tuple of int
        The columns that explain ``worst``, from the largest standardised coefficient.
    rows_used : int
        The number of rows from which the Gram matrix was made.
    """

    relations: tuple[Relation, ...]
    n_more: int
    condition: float
    worst: int
    unexplained: float
    partners: tuple[int, ...]
    rows_used: int


def dependence(
    table: Columns,
    design: Design,
    columns: np.ndarray,
    *,
    centred: bool,
    families: Sequence[str] | None = None,
) -> Dependence | None:
    """Find relations among some columns, none of them constant.

    Pivoted Cholesky factorisation (Higham, 1990) of the Gram matrix of the standardised columns
    separates a basis from the columns that depend on it; their coefficients are refined on the
    data, and every relation is checked on all rows.

    Parameters
    ----------
    table : Columns
    design : Design
        The same matrix, for products.
    columns : ndarray of int
        The columns to relate, at most a few thousand.
    centred : bool
        Whether a constant may be part of a relation, as where there is an intercept.
    families : sequence of str, optional
        The family of every column of the table, such as the categorical column of which it is a
        level; empty for none. Among equivalent relations, one within a single family is preferred.

    Returns
    -------
    Dependence or None
        None for fewer than two columns.
    """
    if len(columns) < 2:
        return None
    sample = _Sample(table, columns, centred)
    used = sample.used
    if len(used) < 2:
        return None
    factor, pivots, rank, _ = scipy.linalg.lapack.dpstrf(sample.gram, tol=_CANDIDATE, lower=1)
    order = pivots - 1
    basis, rest = order[:rank], order[rank:]
    looked_at = rest[:_MOST_RELATIONS]
    lower = np.tril(factor)[:, :rank]
    found = _relations(table, design, sample, lower, basis, looked_at)

    # A candidate that is no exact relation is nearly one: it counts towards the condition number.
    kept = np.sort(np.r_[basis, [k for k in looked_at if k not in found]]).astype(np.int64)
    values, vectors = scipy.linalg.eigh(sample.gram[np.ix_(kept, kept)])
    values = np.maximum(values, EPS * len(kept))
    inflation = (vectors**2 / values).sum(axis=1)
    worst = int(np.argmax(inflation))
    weights = np.abs(vectors / values @ vectors[worst]) / inflation[worst]
    weights[worst] = 0.0
    strongest = np.argsort(-weights, kind="stable")
    partners = strongest[weights[strongest] >= 0.1 * weights.max()]
    return Dependence(
        relations=tuple(_shortened(table, design, list(found.values()), centred, families)),
        n_more=len(rest) - len(looked_at),
        condition=float(np.sqrt(values[-1] / values[0])),
        worst=int(used[kept[worst]]),
        unexplained=float(1.0 / inflation[worst]),
        partners=tuple(int(used[kept[k]]) for k in partners if k != worst),
        rows_used=sample.size,
    )


class _Sample:
    """Standardised columns on all rows, or on as many as the budget allows."""

    def __init__(self, table: Columns, columns: np.ndarray, centred: bool) -> None:
        moments = table.moments
        self.table, self.columns, self.centred = table, columns, centred
        self.size = min(table.n, max(int(tuned.now.budget / len(columns) ** 2), 4 * len(columns)))
        self.rows: np.ndarray | None = None
        if self.size < table.n:
            drawn = np.random.default_rng(0).choice(table.n, self.size, replace=False)
            self.rows = np.sort(drawn)
        scale = moments.deviation[columns] if centred else moments.largest[columns]
        self.shift = moments.mean[columns] if centred else np.zeros(len(columns))
        # Where only rounding is left of the deviation, so is nothing to find.
        self.scale = np.where(scale > 0, scale, np.inf)
        gram = np.zeros((len(columns), len(columns)))
        drift = np.zeros(len(columns))
        for block in self.blocks():
            gram += block.T @ block
            drift += block.sum(axis=0)
        if centred:
            gram -= np.outer(drift, drift / self.size)
        self.shift = self.shift + self.scale_of(drift / self.size) if centred else self.shift
        squares = np.diagonal(gram).copy()
        alive = np.flatnonzero(squares > 1e-12 * self.size)
        self.used = columns[alive]
        self.shift, self.scale = self.shift[alive], self.scale[alive]
        length = np.sqrt(squares[alive] / self.size)
        self.gram = gram[np.ix_(alive, alive)] / length[:, None] / length / self.size
        # Exactly, so that rounding does not decide which column comes first.
        np.fill_diagonal(self.gram, 1.0)
        self.scale = self.scale * length
        self.columns = self.used

    def scale_of(self, drift: np.ndarray) -> np.ndarray:
        return np.where(np.isfinite(self.scale), self.scale, 0.0) * drift

    def blocks(self) -> Iterator[np.ndarray]:
        """Rows of the columns, shifted and scaled."""
        step = self.table.block_rows()
        for start in range(0, self.size, step):
            part = slice(start, min(start + step, self.size))
            block = self.table.block(part if self.rows is None else self.rows[part], self.columns)
            # In halves, because a difference of the largest floats is out of range.
            block *= 0.5
            block -= 0.5 * self.shift
            block /= 0.5 * self.scale
            yield block


def _relations(
    table: Columns,
    design: Design,
    sample: _Sample,
    lower: np.ndarray,
    basis: np.ndarray,
    rest: np.ndarray,
) -> dict[int, Relation]:
    """Exact relations, by the place of the column that depends on the basis."""
    found: dict[int, Relation] = {}
    if not len(rest):
        return found
    rank = len(basis)
    head, tail = lower[:rank], lower[rank : rank + len(rest)]
    weights = scipy.linalg.solve_triangular(head, tail.T, lower=True, trans="T")
    for _ in range(3):
        for k, place in enumerate(rest.tolist()):
            if place not in found:
                relation = _relation(table, design, sample, basis, place, weights[:, k])
                if relation is not None:
                    found[place] = relation
        if len(found) == len(rest):
            break
        # Rounding errors of the factorisation show in the residual on the data.
        lacking = np.zeros_like(weights)
        for block in sample.blocks():
            lacking += block[:, basis].T @ (block[:, rest] - block[:, basis] @ weights)
        weights += scipy.linalg.cho_solve((head, True), lacking / sample.size)
    return found


def _relation(
    table: Columns,
    design: Design,
    sample: _Sample,
    basis: np.ndarray,
    column: int,
    weights: np.ndarray,
) -> Relation | None:
    """One column in terms of the basis, by weights of standardised columns."""
    terms = np.flatnonzero(np.abs(weights) >= _NO_PART)
    scale = sample.scale[column] / sample.scale[basis[terms]]
    columns = [int(sample.used[column]), *(int(j) for j in sample.used[basis[terms]])]
    rough = [1.0, *(-weights[terms] * scale).tolist()]
    simple = [_simple(c) for c in rough]
    return _held(table, design, columns, simple, sample.centred) or _held(
        table, design, columns, rough, sample.centred
    )


def _held(
    table: Columns,
    design: Design,
    columns: list[int],
    coefficients: list[float],
    centred: bool,
) -> Relation | None:
    """The relation, if every row of the data keeps it."""
    moments = table.moments
    weights = np.zeros(design.n_features)
    weights[columns] = coefficients
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = design.dot(weights)
        sizes = np.abs(coefficients) * moments.largest[columns]
        spread = np.abs(coefficients) * (moments.deviation if centred else moments.largest)[columns]
        allowed = _EXACT * float(spread.min()) + 16 * table.eps * float(sizes.sum())
    low, high = float(values.min()), float(values.max())
    constant = low / 2 + high / 2 if centred else 0.0
    if not max(high - constant, constant - low) <= allowed < np.inf:
        return None
    if abs(constant) <= allowed:
        constant = 0.0
    elif abs(_simple(constant) - constant) <= allowed:
        constant = _simple(constant)
    return Relation(tuple(columns), tuple(float(c) for c in coefficients), constant)


def _shortened(
    table: Columns,
    design: Design,
    relations: list[Relation],
    centred: bool,
    families: Sequence[str] | None,
) -> list[Relation]:
    """Replace relations by equivalent simpler ones where their combinations are simpler."""
    shorter = True
    while shorter:
        shorter = False
        for i, k in itertools.permutations(range(len(relations)), 2):
            mine = dict(zip(relations[i].columns, relations[i].coefficients, strict=True))
            other = dict(zip(relations[k].columns, relations[k].coefficients, strict=True))
            ratios = {mine[j] / other[j] for j in mine.keys() & other.keys()}
            for ratio in sorted(ratios, key=abs):
                made = {j: mine.get(j, 0.0) - ratio * other.get(j, 0.0) for j in mine | other}
                made = {j: c for j, c in made.items() if abs(c) > 1e-9 * abs(mine.get(j, c))}
                if not made or not _cost(made, families) < _cost(mine, families):
                    continue
                relation = _held(table, design, list(made), list(made.values()), centred)
                if relation is not None:
                    relations[i], shorter = relation, True
                    break
    return relations


def _cost(relation: dict[int, float], families: Sequence[str] | None) -> tuple[bool, int]:
    """The cost of a relation: a family that adds up is simplest, of any size; then few columns."""
    alike = len(set(relation.values())) == 1
    names = set() if families is None else {families[j] for j in relation}
    return not (alike and len(names) == 1 and "" not in names), len(relation)


def _simple(value: float) -> float:
    """A simple fraction in place of one that is as good as equal."""
    near = float(Fraction(value).limit_denominator(1000))
    return near if abs(near - value) <= 1e-6 * abs(value) else float(value)

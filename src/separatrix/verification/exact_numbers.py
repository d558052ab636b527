"""Numbers without rounding: float64 data as integers, and balls where integers do not reach.

A float64 number is an integer times a power of two, so that sums of products of such numbers are
computed exactly, in Python's integers.  A number that is no fraction is enclosed in balls (Arb;
Johansson, 2017), by python-flint, which the extra ``exact`` installs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from separatrix.data.design import Design
from separatrix.exceptions import imported
from separatrix.geometry.exact.deadline import Deadline

Item = TypeVar("Item")

# The number of entries that are made integers at a time.
BLOCK = 200_000
# How many numbers are made balls between two checks of the time.
_FEW = 1024
# Numbers below this power of two are not distinguished from zero, whatever their logarithm.
_LEAST_EXPONENT = 20_000


def require_balls() -> Any:
    """The module of python-flint.

    Raises
    ------
    ImportError
        Where it is not installed; the message gives the remedy.
    """
    return imported("flint", "rigorous=True", package="python-flint", extra="exact")


_watchers: ContextVar[tuple[Callable[[str, float], None], ...]] = ContextVar(
    "exact_watchers", default=()
)


@contextmanager
def watch_exact(callback: Callable[[str, float], None]) -> Iterator[None]:
    """Call ``callback`` with the name of a computation and the share that is done, from 0 to 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression, verify
    >>> from separatrix.verification.exact_numbers import watch_exact
    >>> X, y = load_iris(return_X_y=True)
    >>> model, seen = LogisticRegression().fit(X, y), []
    >>> with watch_exact(lambda what, share: seen.append(what)):
    ...     _ = verify(model, X, y, rigorous=True)
    >>> seen[0]
    'exact scores'
    """
    token = _watchers.set((*_watchers.get(), callback))
    try:
        yield
    finally:
        _watchers.reset(token)


class Pulse:
    """A callable for the time between steps: it reports progress, and raises at the deadline."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._what = ""

    def begin(self, what: str) -> None:
        self._what = what
        self(0.0)

    def __call__(self, share: float) -> None:
        self._deadline()
        for callback in _watchers.get():
            callback(self._what, share)

    def over(self, what: str, items: Sequence[Item]) -> Iterator[Item]:
        """The items, with a check of the time after every few of them."""
        self.begin(what)
        for i, item in enumerate(items):
            yield item
            if i % _FEW == 0:
                self(i / len(items))


# --- numbers without rounding ---------------------------------------------------------------


def _pieces(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Odd integers ``m`` and exponents ``e`` with ``x = m 2^e``; for zero, zero and zero."""
    fraction, exponent = np.frexp(np.asarray(x, dtype=np.float64))
    m = (fraction * 2.0**53).astype(np.int64)
    zeros = np.frexp((m & -m).astype(np.float64))[1] - 1
    zeros = np.where(m == 0, 0, zeros)
    return m >> zeros, np.where(m == 0, 0, exponent.astype(np.int64) - 53 + zeros)


def _shifted(m: np.ndarray, by: np.ndarray) -> np.ndarray:
    """``m 2^by`` as Python's integers; ``by`` >= 0 wherever ``m`` is not zero."""
    out = m.astype(object)
    where = (by > 0) & (m != 0)
    if where.any():
        out[where] = out[where] << by[where].astype(object)
    return out


@dataclass(frozen=True)
class Exact:
    """An array of fractions over one denominator: ``ints / den``."""

    ints: np.ndarray
    den: int

    @classmethod
    def of(cls, x: Any) -> Exact:
        """Convert floats without rounding."""
        m, e = _pieces(x)
        low = min(int(e[m != 0].min(initial=0)), 0)
        return cls(_shifted(m, e - low), 1 << -low)

    @classmethod
    def of_fractions(cls, values: list[Fraction]) -> Exact:
        den = math.lcm(*(value.denominator for value in values)) if values else 1
        ints = [value.numerator * (den // value.denominator) for value in values]
        return cls(objects(ints), den)

    def times(self, factor: Fraction) -> Exact:
        if factor == 1:
            return self
        return Exact(self.ints * factor.numerator, self.den * factor.denominator)

    def over(self, den: int) -> Exact:
        """The numbers over a multiple of the denominator."""
        return self if den == self.den else Exact(self.ints * (den // self.den), den)

    def sum(self, axis: int | None = None) -> Any:
        """A fraction; along an axis, an array of fractions over the denominator."""
        if axis is None:
            return Fraction(int(sum_of(self.ints.ravel())), self.den)
        return Exact(np.asarray(np.add.reduce(self.ints, axis=axis), dtype=object), self.den)

    def square(self) -> Fraction:
        """The sum of the squares."""
        return Fraction(int(sum_of((self.ints * self.ints).ravel())), self.den * self.den)

    def __getitem__(self, index: Any) -> Exact:
        return Exact(self.ints[index], self.den)


def objects(values: list[Any]) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def sum_of(values: np.ndarray) -> int:
    return int(np.add.reduce(values)) if len(values) else 0


def quotient(over: int, under: int) -> float:
    """The nearest float64 number to a quotient that is not negative; infinite beyond them all."""
    try:
        return over / under
    except OverflowError:
        return math.inf


def same(*arrays: Exact) -> list[Exact]:
    """Several arrays over one denominator."""
    den = math.lcm(*(a.den for a in arrays))
    return [a.over(den) for a in arrays]


class ExactRows(ABC):
    """A design in integers: entry ``(i, j)`` is ``a_ij 2^low_j``."""

    low: np.ndarray
    shape: tuple[int, int]

    @abstractmethod
    def dot(self, w: Exact, check_interrupt: Pulse) -> Exact:
        """``X w`` for ``w`` of shape (d,) or (d, K)."""

    @abstractmethod
    def columns(self, r: np.ndarray, check_interrupt: Pulse) -> np.ndarray:
        """``sum_i a_ij r_i`` for integers ``r`` of shape (n,) or (n, K)."""

    @abstractmethod
    def take(self, index: np.ndarray) -> np.ndarray:
        """The integers ``a_ij`` of some rows, dense."""

    @abstractmethod
    def floats(self, index: np.ndarray) -> np.ndarray:
        """The given rows as they are, dense, in float64."""

    def t_dot(self, r: Exact, check_interrupt: Pulse) -> Exact:
        """``X' r``."""
        return self._in_units(self.columns(r.ints, check_interrupt), r.den)

    def common(self, index: np.ndarray) -> tuple[np.ndarray, int]:
        """Return rows as integers over one denominator, and the denominator."""
        found = self._in_units(self.take(index).T, 1)
        return found.ints.T, found.den

    def _in_units(self, ints: np.ndarray, den: int) -> Exact:
        """Numbers over ``den``, one a column or a row of them, times the units of the columns."""
        base = min(int(self.low.min(initial=0)), 0)
        shift = (self.low - base).astype(object)
        out = ints << (shift if ints.ndim == 1 else shift[:, None]) if len(ints) else ints
        return Exact(out, den << -base)


class _DenseRows(ExactRows):
    def __init__(self, matrix: np.ndarray) -> None:
        self._x = matrix
        self.shape = matrix.shape
        self._size = max(1, BLOCK // max(1, self.shape[1]))
        none = np.iinfo(np.int64).max
        low = np.full(self.shape[1], none)
        for rows in self._slices():
            m, e = _pieces(self._x[rows])
            np.minimum(low, np.where(m == 0, none, e).min(axis=0, initial=none), out=low)
        self.low = np.where(low == none, 0, low)

    def _slices(self) -> Iterator[slice]:
        for start in range(0, self.shape[0], self._size):
            yield slice(start, min(start + self._size, self.shape[0]))

    def take(self, index: Any) -> np.ndarray:
        m, e = _pieces(self._x[index])
        return _shifted(m, e - self.low)

    def floats(self, index: np.ndarray) -> np.ndarray:
        return np.asarray(self._x[index], dtype=np.float64)

    def dot(self, w: Exact, check_interrupt: Pulse) -> Exact:
        factor = self._in_units(w.ints, w.den)
        out = np.zeros((self.shape[0], *w.ints.shape[1:]), dtype=object)
        for rows in self._slices():
            if self.shape[1]:
                out[rows] = self.take(rows) @ factor.ints
            check_interrupt(rows.stop / self.shape[0])
        return Exact(out, factor.den)

    def columns(self, r: np.ndarray, check_interrupt: Pulse) -> np.ndarray:
        out = np.zeros((self.shape[1], *r.shape[1:]), dtype=object)
        for rows in self._slices():
            if self.shape[1]:
                out += self.take(rows).T @ r[rows]
            check_interrupt(rows.stop / self.shape[0])
        return out


class _SparseRows(ExactRows):
    def __init__(self, matrix: Any) -> None:
        self._x = sp.csr_array(matrix)
        self.shape = self._x.shape
        none = np.iinfo(np.int64).max
        low = np.full(self.shape[1], none)
        for part in self._parts():
            m, e = _pieces(self._x.data[part])
            np.minimum.at(low, self._x.indices[part], np.where(m == 0, none, e))
        self.low = np.where(low == none, 0, low)

    def _parts(self) -> Iterator[slice]:
        for start in range(0, self._x.nnz, BLOCK):
            yield slice(start, min(start + BLOCK, self._x.nnz))

    def _entries(self, part: slice) -> tuple[np.ndarray, np.ndarray]:
        columns = self._x.indices[part]
        m, e = _pieces(self._x.data[part])
        return _shifted(m, e - self.low[columns]), columns

    def _row_numbers(self) -> np.ndarray:
        return np.repeat(np.arange(self.shape[0]), np.diff(self._x.indptr))

    def take(self, index: np.ndarray) -> np.ndarray:
        m, e = _pieces(self._x[index].toarray())
        return _shifted(m, e - self.low)

    def floats(self, index: np.ndarray) -> np.ndarray:
        return np.asarray(self._x[index].toarray(), dtype=np.float64)

    def _gathered(
        self, factor: np.ndarray, by: np.ndarray, of: Callable[[slice, np.ndarray], np.ndarray],
        size: int, check_interrupt: Pulse,
    ) -> np.ndarray:  # fmt: skip
        """The sums of entry times factor, over entries that share a number in ``by``."""
        out = np.zeros((size, *factor.shape[1:]), dtype=object)
        for part in self._parts():
            entries, columns = self._entries(part)
            picked = factor[of(part, columns)]
            terms = (entries if picked.ndim == 1 else entries[:, None]) * picked
            places = by[part]
            order = np.argsort(places, kind="stable")
            sorted_places = places[order]
            starts = np.flatnonzero(np.r_[True, sorted_places[1:] != sorted_places[:-1]])
            out[sorted_places[starts]] += np.add.reduceat(terms[order], starts, axis=0)
            check_interrupt(part.stop / self._x.nnz)
        return out

    def dot(self, w: Exact, check_interrupt: Pulse) -> Exact:
        factor, rows = self._in_units(w.ints, w.den), self._row_numbers()
        ints = self._gathered(
            factor.ints, rows, lambda part, columns: columns, self.shape[0], check_interrupt
        )
        return Exact(ints, factor.den)

    def columns(self, r: np.ndarray, check_interrupt: Pulse) -> np.ndarray:
        rows = self._row_numbers()
        return self._gathered(
            r, self._x.indices, lambda part, columns: rows[part], self.shape[1], check_interrupt
        )


def rows_of(design: Design) -> ExactRows:
    matrix = design.matrix
    return _SparseRows(matrix) if sp.issparse(matrix) else _DenseRows(np.asarray(matrix))


# --- numbers in balls -----------------------------------------------------------------------

# A number as a function of the precision, which is set when it is called.
Number = Callable[[], Any]


@contextmanager
def precision(bits: int) -> Iterator[None]:
    flint = require_balls()
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before


def ball(value: Fraction | int) -> Any:
    flint = require_balls()
    if isinstance(value, int):
        return flint.arb(value)
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def ends(ball: Any) -> tuple[Fraction | None, Fraction | None]:
    """Fractions below and above all of a ball; None where it is not finite, or too large."""
    if not ball.is_finite():
        return None, None
    return _dyadic(ball.lower(), up=False), _dyadic(ball.upper(), up=True)


def _dyadic(point: Any, up: bool) -> Fraction | None:
    m, e = (int(part) for part in point.man_exp())
    if e > _LEAST_EXPONENT:
        return None
    if e < -_LEAST_EXPONENT:
        # Away from zero only where that is outward: a number of 10^77 digits is of no use.
        if m == 0 or (m > 0) != up:
            return Fraction(0)
        least = Fraction(1, 1 << _LEAST_EXPONENT)
        if abs(m).bit_length() + e < -_LEAST_EXPONENT:
            return least if up else -least
        m = (m >> (-_LEAST_EXPONENT - e)) + (1 if up else 0)
        e = -_LEAST_EXPONENT
    return Fraction(m * (1 << e)) if e >= 0 else Fraction(m, 1 << -e)

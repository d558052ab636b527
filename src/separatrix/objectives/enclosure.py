r"""Enclosures of results of float64 arithmetic: numbers with a bound on their error.

An :class:`Enclosure` is an array of approximations and a bound on the error of each.  The bounds
are theorems, not estimates: with :math:`u = 2^{-53}` a sum of :math:`n` products, in whatever order
it was taken and with or without fused operations, is off by at most

.. math:: \gamma_n \sum_i |a_i b_i| + n\,2^{-1074}, \qquad \gamma_n = \frac{nu}{1 - nu}

(Higham, 2002, section 3.1; the second term is for what underflows).  The sum of the sizes is found
in three ways, each sharper and dearer than the one before, see :class:`Level`.  What is made of
them is in ``docs/certificate.md``.

References
----------
Higham (2002), Accuracy and Stability of Numerical Algorithms.  Rump, Ogita and Oishi (2008),
Accurate floating-point summation, part I.  Jansson (2004), Rigorous lower and upper bounds in
linear programming.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from separatrix._compiled import double_double, pulse
from separatrix._compiled.rounding import TINY, UNIT
from separatrix.data.design import CSRDesign, Design

#: Sizes below which a number may have lost more to underflow than to rounding.
FAINT = 2.0**-1000
#: The multiple of the smallest float that is more than a value below :data:`FAINT` has lost.
LOST = 8.0
#: The largest error of an elementary function, or of a combination of two of them, in units,
#: relative to the sizes of its terms.  Vectorised libraries promise four units in the last place.
FUNCTION_UNITS = 24.0
# Terms that are added up at a time.
_BLOCK = 8192
# The number of terms up to which they are added up exactly in less time than the call of a compiled
# loop takes.
_FEW = 32
# Rounds up a bound that was itself computed in a few operations.
_UP = 1.0 + 8.0 * UNIT
# The same for bounds of errors, which are small enough for many operations to be forgiven.
_SPARE = 1.0 + 2.0**-40
# The error of sums in two parts, see :mod:`separatrix._compiled.double_double`.
_TWICE = 8.0 * UNIT * UNIT


class Level(IntEnum):
    """The level at which the rounding of products with the data is bounded."""

    #: By the norms of the rows: no further look at the data.
    NORMS = 0
    #: By the sums of the sizes of all terms: one pass.
    SIZES = 1
    #: The products themselves are taken in twice float64's digits.
    DOUBLED = 2


def quotient_above(dividend: float, divisor: float) -> float:
    """An upper bound of a quotient of numbers that are not negative, also where it underflows.

    NaN where the dividend is: nothing is known then.
    """
    return 0.0 if dividend == 0.0 else dividend / divisor * (1.0 + 1e-9) + TINY


@dataclass(frozen=True)
class Enclosure:
    """Approximate numbers, with bounds on their distance from the true ones.

    Attributes
    ----------
    middle : ndarray
    radius : ndarray or float
        A bound on the error of each number.
    length : float
        A bound on the Euclidean norm of all errors together.
    """

    middle: np.ndarray
    radius: Any
    length: float

    @classmethod
    def of(cls, middle: np.ndarray, radius: Any) -> Enclosure:
        return cls(middle, radius, length_above(np.broadcast_to(radius, middle.shape)))

    def above(self, *, signed: bool = False) -> np.ndarray:
        """Upper bounds of the absolute values, or of the numbers where these are above zero."""
        out: np.ndarray = self.middle.copy() if signed else np.abs(self.middle)
        out += self.radius
        out *= _UP
        return out

    def mirrored(self) -> Enclosure:
        """The numbers of the other sign."""
        return Enclosure(-self.middle, self.radius, self.length)


def gamma(n: float) -> float:
    """Bound on the relative rounding of a sum of ``n`` products, some operations to spare."""
    units = (n + 4.0) * UNIT
    return units / (1.0 - units) * _SPARE if units < 0.5 else math.inf


class Total:
    """A sum to about a unit in its last place, with a bound on its error, of terms in blocks.

    What the terms have in common with a large power of two adds up without rounding; only the
    rest, a fraction of ``2 n u`` of the largest term, is subject to it (Rump, Ogita and Oishi).
    """

    def __init__(self) -> None:
        self._parts: list[float] = []
        self._error = 0.0
        # The plain sum of terms that are too large or not a number.
        self._wild = 0.0

    def add(self, terms: np.ndarray) -> None:
        """Add an array's terms."""
        # Their order makes no difference: as they lie, which costs no copy.
        p = np.asarray(terms, dtype=np.float64).ravel(order="K")
        if len(p) <= _FEW and self._add_exactly(p):
            return
        if not p.flags.writeable:
            # The loop is compiled for one kind of arrays, and a copy is as fast as a view.
            p = p.copy()
        for start in range(0, len(p), _BLOCK):
            block = p[start : start + _BLOCK]
            high, rest, power, exact = double_double.split_sum(block)
            if power == math.inf:
                if self._add_exactly(block):
                    continue
                self._wild += high
                self._error = math.inf
                continue
            self._parts.append(high)
            if not exact:
                n = len(block)
                self._parts.append(rest)
                self._error += gamma(n) * n * UNIT * power

    def _add_exactly(self, terms: np.ndarray) -> bool:
        """Keep the terms themselves, where float64 can hold their sum; return whether it can."""
        parts = terms.tolist()
        try:
            if not math.isfinite(math.fsum(parts)):
                return False
        except (OverflowError, ValueError):
            return False
        self._parts += parts
        return True

    def value(self) -> tuple[float, float]:
        """The sum and the bound on its error."""
        if self._error == math.inf:
            return self._wild + sum(self._parts), math.inf
        try:
            value = math.fsum(self._parts)
        except OverflowError:
            return sum(self._parts), math.inf
        # Sums of whole numbers, and the like, are exact.
        return value, (self._error + abs(math.fsum([*self._parts, -value]))) * _SPARE

    def above(self) -> float:
        """An upper bound of the sum, of terms that are not negative."""
        value, error = self.value()
        if error == 0.0:
            return value
        return (value + error) * _UP if error < math.inf else math.inf


def total(terms: np.ndarray) -> tuple[float, float]:
    """The sum of an array, to about a unit in its last place, and a bound on its error."""
    out = Total()
    out.add(terms)
    return out.value()


def total_above(terms: np.ndarray) -> float:
    """An upper bound of the sum of terms that are not negative."""
    out = Total()
    out.add(terms)
    return out.above()


def length_above(values: Any) -> float:
    """An upper bound of the Euclidean norm, without over- or underflow on the way."""
    v = np.asarray(values, dtype=np.float64).ravel()
    if len(v) <= _FEW:
        return _length_of_few(v.tolist())
    largest = float(np.maximum(v.max(initial=0.0), -v.min(initial=0.0)))
    if not 0.0 < largest < math.inf:
        return largest if largest == 0.0 else math.inf
    scale = math.ldexp(1.0, min(-math.frexp(largest)[1], 1000))
    squares = Total()
    for start in range(0, len(v), _BLOCK):
        # A power of two: nothing is rounded but what underflows.
        squares.add(np.square(v[start : start + _BLOCK] * scale))
    return math.sqrt(squares.above() + 2.0 * len(v) * TINY) * _UP / scale


def _length_of_few(values: list[float]) -> float:
    largest = max(map(abs, values), default=0.0)
    if not 0.0 < largest < math.inf:
        return largest if largest == 0.0 and not any(map(math.isnan, values)) else math.inf
    scale = math.ldexp(1.0, min(-math.frexp(largest)[1], 1000))
    squares = [(value * scale) * (value * scale) for value in values]
    square = math.fsum(squares)
    error = abs(math.fsum([*squares, -square])) * _SPARE
    above = square if error == 0.0 else (square + error) * _UP
    length = math.sqrt(above + 2.0 * len(values) * TINY) * _UP / scale
    return math.inf if math.isnan(length) else length


def half_square_above(values: Any, root: float) -> float:
    """An upper bound of half the sum of the squares of ``root`` times the values.

    ``root`` may be off by two units.  Squares underflow where ``root`` would have kept them large.
    """
    length = length_above(values)
    if length == 0.0 or root == 0.0:
        return 0.0
    length *= root * _UP
    return 0.5 * length * length * _UP + TINY


def longest_row(design: Design) -> int:
    """The largest number of terms that the score of a row can have."""
    if isinstance(design, CSRDesign):
        return int(np.diff(design.rows[2]).max(initial=0))
    return design.n_features


def _terms_of_columns(design: Design) -> int:
    """The largest number of terms that a sum over a column can have."""
    if isinstance(design, CSRDesign) and design.repeats:
        return max(design.n_stored, design.n_samples)
    return design.n_samples


def row_squares_above(design: Design) -> tuple[np.ndarray | None, float]:
    """Squared norms of the rows, None where entries may be in parts, and a factor.

    With ``longest_row(design) 2**-1020`` added for what underflows, and the root times the factor,
    they are upper bounds of the norms.
    """
    if isinstance(design, CSRDesign) and design.repeats:
        return None, 1.0
    return design.row_squares(), (1.0 + gamma(longest_row(design))) * _SPARE


def row_norms_above(design: Design) -> np.ndarray | None:
    """Upper bounds of the norms of the rows, None where entries may be in parts."""
    squares, factor = row_squares_above(design)
    if squares is None:
        return None
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return np.sqrt(squares + longest_row(design) * 2.0**-1020) * factor


def score_rounding(design: Design, w: np.ndarray, b: float) -> tuple[float, float]:
    """Two numbers by which the rounding of one score a row is bounded.

    Returns
    -------
    wide, shift : float
        The score of row ``i`` is off by at most ``wide sqrt(q_i) + shift``, where ``q_i`` is the
        row's squared norm as :func:`row_squares_above` has it.
    """
    width = longest_row(design)
    spare = (1.0 + gamma(width)) * _SPARE
    wide = gamma(width + 1) * length_above(w) * spare
    shift = (gamma(width + 1) * abs(float(b)) + (width + 2) * TINY) * spare
    # The underflow in the squares of the norms.
    shift += wide * math.sqrt(width) * 2.0**-510
    return wide, shift


def enclosed_scores(
    design: Design,
    w: np.ndarray,
    b: Any,
    level: Level,
    *,
    scores: np.ndarray | None = None,
    off: float = 0.0,
) -> Enclosure:
    """``X w + b``.

    Parameters
    ----------
    design : Design
    w : ndarray of shape (n_features,) or (n_features, K)
    b : float or ndarray of shape (K,)
    level : Level
    scores : ndarray, optional
        The product where it is at hand, freshly computed from ``w`` and ``b``.
    off : float
        A bound on the distance of the weights from those that are meant, in norm.
    """
    flat = w.reshape(len(w), -1)
    shape = (design.n_samples, *w.shape[1:])
    intercepts = np.broadcast_to(np.asarray(b, dtype=np.float64), flat.shape[1:])
    width = longest_row(design)
    norms = row_norms_above(design) if off > 0.0 or level is Level.NORMS else None
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if level is Level.DOUBLED:
            middle, rest, sizes = _doubled_scores(design, flat, intercepts)
            radius = np.abs(rest) + (width + 4) * (_TWICE * sizes + 16.0 * TINY)
        else:
            middle = design.dot(w) + b if scores is None else scores
            middle = middle.reshape(len(middle), -1)
            if level is Level.SIZES:
                sizes = np.stack([design.absolute_dot(column) for column in flat.T], axis=1)
                sizes *= 1.0 + gamma(width)
            elif norms is not None:
                sizes = norms[:, None] * np.array([length_above(column) for column in flat.T])
            else:
                sizes = np.full((1, 1), np.inf)
            # In place, because fresh memory of the length of the data costs more than arithmetic.
            radius = sizes + np.abs(intercepts)
            radius *= gamma(width + 1)
            radius += (width + 2) * TINY
        # Weights that are all zero leave nothing to round.
        still = ~flat.any(axis=0)
        if still.any():
            radius = np.where(still, 0.0, radius)
        if off > 0.0:
            radius = radius + (np.inf if norms is None else off * norms[:, None])
        radius *= _SPARE
        radius[np.isnan(radius)] = np.inf
    return Enclosure(
        middle.reshape(shape), np.broadcast_to(radius, middle.shape).reshape(shape), np.inf
    )


def _doubled_scores(
    design: Design, w: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, k = design.n_samples, w.shape[1]
    out, rest, sizes = np.empty((3, k, n))
    zero = np.zeros(len(w))
    columns = [
        (np.ascontiguousarray(w[:, c]), zero, float(b[c]), out[c], rest[c], sizes[c])
        for c in range(k)
    ]
    if isinstance(design, CSRDesign):
        for column in columns:
            double_double.csr_dot_parts(*design.rows, *column)
        return out.T, rest.T, sizes.T
    beat = pulse.current()
    for rows, block in design.blocks(owned=True):
        beat()
        for column in columns:
            double_double.dense_dot_parts(block, *column, rows.start)
    return out.T, rest.T, sizes.T


def enclosed_adjoint(
    design: Design,
    r: np.ndarray,
    level: Level,
    *,
    adjoint: np.ndarray | None = None,
    share: float = 0.0,
    spread: float = 0.0,
    upper: np.ndarray | None = None,
    centred: bool = False,
) -> Enclosure:
    """``X' r'`` for some ``r'`` near ``r``.

    ``r'`` may differ from ``r`` by ``share |r_i| + spread upper_i`` in every entry.

    Parameters
    ----------
    design : Design
    r : ndarray of shape (n_samples,) or (n_samples, K)
    level : Level
    adjoint : ndarray, optional
        ``X' r`` where it is at hand, freshly computed from ``r``.
    share, spread : float
    upper : ndarray of shape (n_samples,), optional
        The sizes that ``spread`` multiplies, needed where it is given.
    centred : bool
        Whether the columns of ``r'`` sum to exactly zero, so that the rows may be moved.
    """
    flat = r.reshape(len(r), -1)
    shape = (design.n_features, *r.shape[1:])
    n = _terms_of_columns(design)
    middle: np.ndarray
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if level is Level.DOUBLED:
            middle, rest, sizes, others = _doubled_adjoint(
                design, flat, upper if spread > 0.0 else None, centred
            )
            radius = np.abs(rest) + (n + 4) * (_TWICE * sizes + 16.0 * TINY)
            radius = (radius + share * sizes + spread * others) * _SPARE
            radius = np.where(np.isnan(radius), np.inf, radius).reshape(shape)
            return Enclosure.of(middle.reshape(shape), radius)
        middle = design.t_dot(r) if adjoint is None else adjoint
        factor = gamma(n) + share
        if level is Level.SIZES:
            sizes = np.stack([design.absolute_t_dot(column) for column in flat.T], axis=1)
            radius = factor * sizes
            if spread > 0.0:
                assert upper is not None
                radius = radius + spread * design.absolute_t_dot(upper)[:, None]
            radius = ((1.0 + gamma(n)) * radius + (n + 2) * TINY) * _SPARE
            radius = np.where(np.isnan(radius), np.inf, radius).reshape(shape)
            return Enclosure.of(middle, radius)
        norms = row_norms_above(design)
        if norms is None:
            return Enclosure(middle, np.inf, np.inf)
        # || |X|'|r| || <= sum_i |r_i| |x_i|, and that for the errors of all columns of r.
        lengths = np.abs(flat).sum(axis=1)
        length = factor * total_above(lengths * norms)
        if spread > 0.0:
            assert upper is not None
            length += 2.0 * flat.shape[1] * spread * total_above(upper * norms)
        length = (length + (n + 2) * math.sqrt(middle.size) * TINY) * _SPARE
        length = math.inf if math.isnan(length) else length
    return Enclosure(middle, length, length)


def _doubled_adjoint(
    design: Design, r: np.ndarray, upper: np.ndarray | None, centred: bool
) -> tuple[np.ndarray, ...]:
    d, k = design.n_features, r.shape[1]
    out, rest, sizes = np.zeros((3, k, d))
    others = np.zeros((3, d))
    columns = [(np.ascontiguousarray(r[:, c]), out[c], rest[c], sizes[c]) for c in range(k)]
    if upper is not None:
        columns.append((np.ascontiguousarray(upper), *others))
    if isinstance(design, CSRDesign):
        for column in columns:
            double_double.csr_t_dot_parts(*design.rows, *column)
    else:
        centre = _middle_of(design) if centred else np.zeros(d)
        beat = pulse.current()
        for rows, block in design.blocks(owned=True):
            beat()
            for column in columns:
                double_double.dense_t_dot_parts(block, centre, *column, rows.start)
    return out.T, rest.T, sizes.T, others[2][:, None]


def _middle_of(design: Design) -> np.ndarray:
    """A point amid the rows, where no outlier draws it: medians of some of them."""
    index = np.unique(np.linspace(0, design.n_samples - 1, 101).astype(np.intp))
    rows = next(iter(design.take(index).blocks(size=len(index))))[1]
    return np.ascontiguousarray(np.median(rows, axis=0))
